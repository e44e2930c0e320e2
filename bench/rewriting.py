#!/usr/bin/env python3
"""rewriting.py: what merging and rewriting history cost, Varve called as `hg` against stock `hg` in the same run.

All repositories are made here. See rows.py for how they are measured.
"""

import os
import shutil

import rows
from rows import Failed

SAMPLES = 3
QUIET = ["-q", "--config", "ui.merge=:merge"]
NOW = ["-q", "-d", "1700000000 0", "-u", "bench"]
# Changesets of the main line, of the line that is rebased, and of those how many are grafted.
MAIN, SIDE, GRAFTED = 5000, 200, 50
# Files of the merge, those that one side changes, and those of them that both sides change.
FILES, DIFFERENT, BOTH = 8000, 2000, 500
REVISIONS = 2000


class Places:
    """A new copy of a repository for each sample."""

    def __init__(self, bench, name, source):
        self.bench, self.source, self.count, self.current = bench, source, 0, {}
        self.path = os.path.join(bench.work, name)

    def fresh(self, program, _directory):
        if program in self.current:
            shutil.rmtree(self.current[program])
        self.count += 1
        self.current[program] = f"{self.path}-{self.count}"
        shutil.copytree(self.source, self.current[program], symlinks=True)
        # The copies have other times.
        self.bench.hg("status", cwd=self.current[program])

    def row(self, name, target, words, shown):
        """`words` on new copies; afterwards `shown` must print the same in both."""
        printed = []

        def check(program, _directory):
            directory = self.current[program]
            self.bench.hg("verify", "-q", cwd=directory)
            printed.append(self.bench.hg(*shown, cwd=directory))
            if len(printed) == 2 and printed[0] != printed[1]:
                raise Failed("the results differ")

        def placed(program):
            return ["-R", self.current[program], *words]

        self.bench.row(name, target, SAMPLES, placed, self.bench.work, self.fresh, check)


def lines_of_development(bench):
    """A main line, and beside it a line that begins at its beginning."""
    directory = os.path.join(bench.work, "lines")
    bench.hg("init", directory)
    bench.hg("debugbuilddag", "--new-file", f"+100:base+{MAIN - 100}@side<base+{SIDE}", cwd=directory)
    bench.hg("update", "-q", str(MAIN - 1), cwd=directory)
    return directory


def two_heads(bench):
    directory = os.path.join(bench.work, "heads")
    bench.hg("init", directory)

    def write(numbers, first, last):
        for number in numbers:
            with open(os.path.join(directory, f"d{number % 40}", f"f{number}"), "w") as out:
                out.write(first + "".join(f"line {line}\n" for line in range(40)) + last)

    for number in range(40):
        os.mkdir(os.path.join(directory, f"d{number}"))
    write(range(FILES), "first\n", "last\n")
    bench.hg("commit", "-A", "-m", "base", *NOW, cwd=directory)
    write(range(DIFFERENT), "other\n", "last\n")
    bench.hg("commit", "-m", "theirs", *NOW, cwd=directory)
    bench.hg("update", "-q", "0", cwd=directory)
    write(range(DIFFERENT - BOTH, DIFFERENT), "first\n", "mine\n")
    bench.hg("commit", "-m", "ours", *NOW, cwd=directory)
    return directory


def one_file(bench):
    directory = os.path.join(bench.work, "file")
    bench.hg("init", directory)
    bench.hg("debugbuilddag", "--mergeable-file", f"+{REVISIONS}", cwd=directory)
    bench.hg("update", "-q", "tip", cwd=directory)
    return directory


def main():
    with rows.prepared("rewriting", __doc__, needs_repos=False) as (bench, _):
        source = lines_of_development(bench)
        log = ["log", "-r", f"{MAIN}:", "-T", "{node}\n"]
        extension = ["--config", "extensions.rebase="]
        rebase = ["rebase", *QUIET, *extension, "-s", str(MAIN), "-d", str(MAIN - 1)]
        places = Places(bench, "rebase", source)
        places.row(f"rebase {SIDE} over {MAIN}", 15, rebase, ["log", "-T", "{node}\n"])
        graft = ["graft", *QUIET, "-r", f"{MAIN}:{MAIN + GRAFTED - 1}"]
        Places(bench, "graft", source).row(f"graft {GRAFTED}", 15, graft, log)
        merge = ["merge", *QUIET, "-r", "1"]
        places = Places(bench, "merge", two_heads(bench))
        places.row(f"merge with {DIFFERENT} different files", 8, merge, ["diff", "--git"])
        words = ["annotate", "mf"]
        bench.row(f"annotate a file of {REVISIONS} revisions", 10, SAMPLES, words, one_file(bench))


if __name__ == "__main__":
    main()
