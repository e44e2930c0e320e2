#!/usr/bin/env python3
"""commands.py: what commands cost, Varve called as `hg` against stock `hg` in the same run.

Repositories: those given with --repo (made by corpus/make_repo.py), and a wide one of 10,000 and
more files, made of two copies of the first one's newest tree. See rows.py for how they are measured.
"""

import os
import time

import rows
from rows import Failed, bare, size

FAST, SLOW = 9, 3
NOW = ["-d", "1700000000 0", "-u", "bench"]
REDELTA = ["--config", "storage.revlog.reuse-external-delta=no",
           "--config", "storage.revlog.reuse-external-delta-parent=no"]


def reading(bench, name, directory):
    """Rows of one repository with a working copy."""
    middle = int(bench.hg("log", "-r", "tip", "-T", "{rev}", cwd=directory)) // 2
    files = bench.hg("files", "-r", str(middle), cwd=directory).splitlines()
    for title, words in [
        ("log -r tip", ["log", "-r", "tip"]),
        ("log -l 10", ["log", "-l", "10"]),
        ("cat -r REV FILE", ["cat", "-r", str(middle), files[len(files) // 2]]),
        ("status", ["status"]),
        ("diff -c tip", ["diff", "-c", "tip"]),
    ]:
        bench.row(f"{title}/{name}", 10, FAST, words, directory)


def commit(bench, name, directory):
    if not bench.wants(f"commit/{name}"):
        return
    copies = bench.copies(f"commit-{name}", directory, files=True)
    changed = bench.hg("files", "-r", "tip", cwd=directory).splitlines()[0]
    count = 0

    def change(_program, copy):
        nonlocal count
        count += 1
        with open(os.path.join(copy, changed), "a") as out:
            out.write(f"line {count // 2}\n")

    def check(_program, copy):
        bench.hg("verify", "-q", cwd=copy)
        if bench.hg("status", cwd=copy):
            raise Failed("the committed file is still modified")

    words = ["commit", "-m", "one line more", *NOW]
    bench.row(f"commit/{name}", 10, FAST, words, copies, change, check)


def update(bench, name, directory):
    """Into a new copy each time: a file system that has just lost as many files makes new ones
    several times slower."""
    if not bench.wants(f"update -C from null/{name}"):
        return
    count, current = 0, {}

    def fresh(program, _directory):
        nonlocal count
        count += 1
        current[program] = os.path.join(bench.work, f"update-{count}")
        bare(directory, current[program])

    def check(program, _directory):
        if bench.hg("status", cwd=current[program]):
            raise Failed("the working copy is not clean")

    def words(program):
        return ["-R", current[program], "update", "-C", "tip"]

    bench.row(f"update -C from null/{name}", 3, SLOW, words, bench.work, fresh, check)


def recompress(bench, name, directory):
    """Into new directories each time, as in `update`. What was copied is on the disk before, as a
    repository is that has been there for a while."""
    if not bench.wants(f"recompress --redelta/{name}"):
        return
    count, current = 0, {}

    def fresh(program, _directory):
        nonlocal count
        count += 1
        current[program] = os.path.join(bench.work, f"recompress-{name}-{count}")
        if program is bench.ours:
            bare(directory, current[program])
        os.sync()

    def check(program, _directory):
        bench.hg("verify", "-q", cwd=current[program])

    def words(program):
        if program is bench.ours:
            return ["recompress", current[program], "--redelta"]
        return ["clone", "-q", "--pull", "-U", *REDELTA, directory, current[program]]

    bench.row(f"recompress --redelta/{name}", 6, SLOW, words, bench.work, fresh, check)
    if os.path.exists(current.get(bench.theirs, "")):
        ours, theirs = (size(os.path.join(current[program], ".hg", "store"))
                        for program in (bench.ours, bench.theirs))
        bench.results.write(name=f"recompress --redelta/{name}", subject="sizes", unit="bytes",
                            ours=ours, theirs=theirs, met=ours <= theirs)


def widen(bench, source):
    """A repository of 10,000 and more files."""
    wide = os.path.join(bench.work, "wide")
    bench.hg("init", wide)
    for half in "ab":
        bench.hg("-R", source, "archive", "-r", "tip", os.path.join(wide, half))
        os.remove(os.path.join(wide, half, ".hg_archival.txt"))
    bench.hg("commit", "-qAm", "wide", *NOW, cwd=wide)
    return wide


def main():
    with rows.prepared("commands", __doc__) as (bench, repos):
        for directory in repos.values():
            bench.hg("update", "-q", "-C", "tip", cwd=directory)
        repos["wide"] = widen(bench, next(iter(repos.values())))
        time.sleep(2)  # files changed in this second have to be read by every `status`
        for name, directory in repos.items():
            bench.hg("status", cwd=directory)
            reading(bench, name, directory)
            commit(bench, name, directory)
        update(bench, "wide", repos.pop("wide"))
        for name, directory in repos.items():
            bench.row(f"log/{name}", 10, SLOW, ["log"], directory)
            bench.row(f"verify/{name}", 6, SLOW, ["verify"], directory)
            recompress(bench, name, directory)


if __name__ == "__main__":
    main()
