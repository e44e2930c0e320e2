#!/usr/bin/env python3
"""commands.py: what commands cost, Varve called as `hg` against stock `hg` in the same run.

Repositories: those given with --repo (made by corpus/make_repo.py), and a wide one of 10,000 and
more files, made of two copies of the first one's newest tree. Each row is run by both in turns.
Wall seconds decide; CPU seconds and the peak memory of the process are kept beside them. Where both
print something, it must be the same, else the row is reported as wrong. A row whose command Varve
does not have is reported as missing.
"""

import argparse
import ast
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

import measure

FAST, SLOW = 9, 3
NOW = ["-d", "1700000000 0", "-u", "bench"]
REDELTA = ["--config", "storage.revlog.reuse-external-delta=no",
           "--config", "storage.revlog.reuse-external-delta-parent=no"]


# Starts the programs. A process inherits the peak memory of the one that it is forked from, which
# is why this one imports next to nothing.
STARTER = """
import os, sys, time
for line in sys.stdin:
    words, folder, env, errors = eval(line)
    start = time.monotonic()
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(0, 1)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.execvpe(words[0], words, env)
    _, status, usage = os.wait4(child, 0)
    print((time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024,
           os.waitstatus_to_exitcode(status)), flush=True)
"""


class Starter:
    """A small process that starts the programs and measures them."""

    def __init__(self, work):
        self.errors = os.path.join(work, "errors")
        self.process = subprocess.Popen([sys.executable, "-I", "-S", "-c", STARTER], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, words, cwd, env):
        """Runs a command; gives (wall seconds, CPU seconds, peak bytes)."""
        print((words, cwd, env, self.errors), file=self.process.stdin, flush=True)
        *measured, code = ast.literal_eval(self.process.stdout.readline())
        if code != 0:
            with open(self.errors, errors="replace") as errors:
                raise Failed(f"exit code {code}: {errors.read().strip()[:300]}")
        return measured


class Program:
    """One of the two that are compared."""

    def __init__(self, subject, path, starter):
        self.subject, self.path, self.starter = subject, path, starter
        self.env = dict(os.environ, HGRCPATH="", HGPLAIN="1")

    def run(self, words, cwd):
        """Runs once; gives (wall seconds, CPU seconds, peak bytes)."""
        return self.starter.run([self.path, *words], cwd, self.env)

    def output(self, words, cwd):
        """Length and digest of what the command prints."""
        done = subprocess.run([self.path, *words], cwd=cwd, env=self.env, capture_output=True)
        return len(done.stdout), hashlib.sha256(done.stdout).hexdigest()


class Failed(Exception):
    """A command did not do what it should."""


class Bench:
    """Runs rows and keeps their results."""

    def __init__(self, options, ours, theirs, work):
        self.options, self.ours, self.theirs, self.work = options, ours, theirs, work
        self.results = measure.Results("commands")
        self.table = []

    def hg(self, *words, cwd=None):
        """Stock hg, unmeasured; gives what it prints."""
        done = subprocess.run([self.theirs.path, *words], cwd=cwd, env=self.theirs.env,
                              check=True, capture_output=True, text=True)
        return done.stdout

    def wants(self, name):
        """Whether a row is asked for."""
        return not self.options.only or any(only in name for only in self.options.only)

    def row(self, name, target, samples, words, cwd, prepare=None, check=None):
        """Measures one row.

        `words` and `cwd` are the same for both, or a function of the program. `prepare` runs
        before each sample and `check` after all, with the program and its folder.
        """
        if not self.wants(name):
            return
        given = lambda value, program: value(program) if callable(value) else value
        taken = {program: [] for program in (self.ours, self.theirs)}
        try:
            if prepare is None:
                found = [p.output(given(words, p), given(cwd, p)) for p in taken]
                if found[0] != found[1]:
                    self.ours.run(given(words, self.ours), given(cwd, self.ours))
                    raise Failed(f"prints {found[0][0]} bytes that are not hg's {found[1][0]}")
            for _ in range(samples):
                for program, values in taken.items():
                    folder = given(cwd, program)
                    if prepare:
                        prepare(program, folder)
                    values.append(program.run(given(words, program), folder))
            if check:
                for program in taken:
                    check(program, given(cwd, program))
        except Failed as reason:
            self.results.write(name=name, subject=self.ours.subject, unit="missing",
                               reason=str(reason), target=target, met=False)
            self.table.append(f"{name:36} " + str(reason).partition("\n")[0])
            return
        self.keep(name, target, taken)

    def keep(self, name, target, taken):
        ours, theirs = self.ours.subject, self.theirs.subject
        units = [("", "wall seconds", target), ("/cpu", "CPU seconds", None),
                 ("/memory", "peak bytes", 1)]
        for column, (suffix, unit, aim) in enumerate(units):
            for program, values in taken.items():
                self.results.add(name + suffix, program.subject, unit,
                                 [value[column] for value in values])
            if aim:
                self.results.ratio(name + suffix, ours, theirs, aim, higher_is_better=False)
        both = [(self.results.medians[name + suffix, ours],
                 self.results.medians[name + suffix, theirs]) for suffix, _, _ in units]
        wall, cpu, memory = both
        self.table.append(f"{name:36} {wall[0]:8.3f} s {wall[1]:8.3f} s {wall[1] / wall[0]:6.1f} x"
                          f"  cpu {cpu[1] / cpu[0]:6.1f} x  memory {memory[0] / 1e6:5.0f}"
                          f" of {memory[1] / 1e6:5.0f} MB  target {target}")

    def copies(self, name, source, files=False):
        """A copy of a repository for each program, with or without the files of its working copy;
        gives its folder by program."""
        folders = {}
        for program in (self.ours, self.theirs):
            folder = os.path.join(self.work, f"{name}-{program.subject.split()[0]}")
            bare(source, folder)
            if files:
                self.hg("update", "-q", "-C", "tip", cwd=folder)
            folders[program] = folder
        if files:
            time.sleep(2)
            for folder in folders.values():
                self.hg("status", cwd=folder)
        return folders.__getitem__


def bare(source, folder):
    """Copies a repository without a working copy."""
    shutil.copytree(os.path.join(source, ".hg"), os.path.join(folder, ".hg"), symlinks=True)
    for name in os.listdir(os.path.join(folder, ".hg")):
        if name.startswith("dirstate"):
            os.remove(os.path.join(folder, ".hg", name))


def reading(bench, name, folder):
    """Rows of one repository with a working copy."""
    middle = int(bench.hg("log", "-r", "tip", "-T", "{rev}", cwd=folder)) // 2
    files = bench.hg("files", "-r", str(middle), cwd=folder).splitlines()
    for title, words in [
        ("log -r tip", ["log", "-r", "tip"]),
        ("log -l 10", ["log", "-l", "10"]),
        ("cat -r REV FILE", ["cat", "-r", str(middle), files[len(files) // 2]]),
        ("status", ["status"]),
        ("diff -c tip", ["diff", "-c", "tip"]),
    ]:
        bench.row(f"{title}/{name}", 10, FAST, words, folder)


def commit(bench, name, folder):
    if not bench.wants(f"commit/{name}"):
        return
    copies = bench.copies(f"commit-{name}", folder, files=True)
    changed = bench.hg("files", "-r", "tip", cwd=folder).splitlines()[0]
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


def update(bench, name, folder):
    """Into a new copy each time: a file system that has just lost as many files makes new ones
    several times slower."""
    if not bench.wants(f"update -C from null/{name}"):
        return
    count, current = 0, {}

    def fresh(program, _folder):
        nonlocal count
        count += 1
        current[program] = os.path.join(bench.work, f"update-{count}")
        bare(folder, current[program])

    def check(program, _folder):
        if bench.hg("status", cwd=current[program]):
            raise Failed("the working copy is not clean")

    def words(program):
        return ["-R", current[program], "update", "-C", "tip"]

    bench.row(f"update -C from null/{name}", 3, SLOW, words, bench.work, fresh, check)


def recompress(bench, name, folder):
    """Into new folders each time, as in `update`. What was copied is on the disk before, as a
    repository is that has been there for a while."""
    if not bench.wants(f"recompress --redelta/{name}"):
        return
    count, current = 0, {}

    def fresh(program, _folder):
        nonlocal count
        count += 1
        current[program] = os.path.join(bench.work, f"recompress-{name}-{count}")
        if program is bench.ours:
            bare(folder, current[program])
        os.sync()

    def check(program, _folder):
        bench.hg("verify", "-q", cwd=current[program])

    def words(program):
        if program is bench.ours:
            return ["recompress", current[program], "--redelta"]
        return ["clone", "-q", "--pull", "-U", *REDELTA, folder, current[program]]

    bench.row(f"recompress --redelta/{name}", 6, SLOW, words, bench.work, fresh, check)
    if os.path.exists(current.get(bench.theirs, "")):
        ours, theirs = (size(os.path.join(current[program], ".hg", "store"))
                        for program in (bench.ours, bench.theirs))
        bench.results.write(name=f"recompress --redelta/{name}", subject="sizes", unit="bytes",
                            ours=ours, theirs=theirs, met=ours <= theirs)


def size(store):
    """Bytes of all revlogs below a store."""
    found = 0
    for folder, _, names in os.walk(store):
        paths = [os.path.join(folder, name) for name in names if name.endswith((".i", ".d"))]
        found += sum(os.path.getsize(path) for path in paths)
    return found


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
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--hg", default=os.environ.get("HG", "hg"))
    parser.add_argument("--repo", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--only", action="append", metavar="WORDS", help="rows with these words")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        # The name that the program is called by is what makes it speak as hg.
        link = os.path.join(work, "hg")
        os.symlink(os.path.abspath(options.varve), link)
        starter = Starter(work)
        theirs = Program(measure.hg_version(options.hg), options.hg, starter)
        bench = Bench(options, Program("varve", link, starter), theirs, work)
        repos = {}
        for given in options.repo:
            name, _, source = given.partition("=")
            repos[name] = os.path.join(work, name)
            bare(source, repos[name])
            bench.hg("update", "-q", "-C", "tip", cwd=repos[name])
        repos["wide"] = widen(bench, next(iter(repos.values())))
        time.sleep(2)  # files changed in this second have to be read by every `status`
        for name, folder in repos.items():
            bench.hg("status", cwd=folder)
            reading(bench, name, folder)
            commit(bench, name, folder)
        update(bench, "wide", repos.pop("wide"))
        for name, folder in repos.items():
            bench.row(f"log/{name}", 10, SLOW, ["log"], folder)
            bench.row(f"verify/{name}", 6, SLOW, ["verify"], folder)
            recompress(bench, name, folder)
    print("\n".join(bench.table))


if __name__ == "__main__":
    main()
