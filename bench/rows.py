"""Rows of commands that Varve, called as `hg`, and stock `hg` run in turns, in the same run.

Wall seconds decide; CPU seconds and the peak memory of the process are kept beside them. Where both
print something, it must be the same, else the row is reported as wrong. A row whose command Varve
does not have is reported as missing.
"""

import argparse
import ast
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

import measure

# Starts the programs. A process inherits the peak memory of the one that it is forked from, which
# is why this one imports next to nothing.
STARTER = """
import os, sys, time
for line in sys.stdin:
    words, directory, env, errors = eval(line)
    start = time.monotonic()
    child = os.fork()
    if not child:
        os.chdir(directory)
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

    def __init__(self, table, options, ours, theirs, work):
        self.options, self.ours, self.theirs, self.work = options, ours, theirs, work
        self.results = measure.Results(table)
        self.table = []

    def hg(self, *words, cwd=None):
        """Stock hg, unmeasured; gives what it prints."""
        done = subprocess.run([self.theirs.path, *words], cwd=cwd, env=self.theirs.env,
                              check=True, capture_output=True, text=True)
        return done.stdout

    def wants(self, name):
        """Whether a row is asked for."""
        return not self.options.only or any(only in name for only in self.options.only)

    def row(self, name, target, samples, words, cwd, prepare=None, check=None, rival=None):
        """Measures one row, against stock hg or against another rival.

        `words` and `cwd` are the same for both, or a function of the program. `prepare` runs
        before each sample and `check` after all, with the program and its directory.
        """
        if not self.wants(name):
            return
        given = lambda value, program: value(program) if callable(value) else value
        taken = {program: [] for program in (self.ours, rival or self.theirs)}
        try:
            if prepare is None:
                found = [p.output(given(words, p), given(cwd, p)) for p in taken]
                if found[0] != found[1]:
                    self.ours.run(given(words, self.ours), given(cwd, self.ours))
                    raise Failed(f"prints {found[0][0]} bytes that are not hg's {found[1][0]}")
            for _ in range(samples):
                for program, values in taken.items():
                    directory = given(cwd, program)
                    if prepare:
                        prepare(program, directory)
                    values.append(program.run(given(words, program), directory))
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
        ours, theirs = (program.subject for program in taken)
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
        gives its directory by program."""
        directories = {}
        for program in (self.ours, self.theirs):
            directory = os.path.join(self.work, f"{name}-{program.subject.split()[0]}")
            bare(source, directory)
            if files:
                self.hg("update", "-q", "-C", "tip", cwd=directory)
            directories[program] = directory
        if files:
            time.sleep(2)
            for directory in directories.values():
                self.hg("status", cwd=directory)
        return directories.__getitem__


def bare(source, directory):
    """Copies a repository without a working copy."""
    shutil.copytree(os.path.join(source, ".hg"), os.path.join(directory, ".hg"), symlinks=True)
    for name in os.listdir(os.path.join(directory, ".hg")):
        if name.startswith("dirstate"):
            os.remove(os.path.join(directory, ".hg", name))


def size(store):
    """Bytes of all revlogs below a store."""
    found = 0
    for directory, _, names in os.walk(store):
        paths = [os.path.join(directory, name) for name in names if name.endswith((".i", ".d"))]
        found += sum(os.path.getsize(path) for path in paths)
    return found


@contextlib.contextmanager
def prepared(table, about, needs_repos=True):
    """A bench for a table as the command line asks for it, and copies of the repositories given with
    --repo, by name; prints the table in the end."""
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--hg", default=os.environ.get("HG", "hg"))
    parser.add_argument("--repo", action="append", required=needs_repos, default=[],
                        metavar="NAME=DIRECTORY")
    parser.add_argument("--only", action="append", metavar="WORDS", help="rows with these words")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        # The name that the program is called by is what makes it speak as hg.
        link = os.path.join(work, "hg")
        os.symlink(os.path.abspath(options.varve), link)
        starter = Starter(work)
        theirs = Program(measure.hg_version(options.hg), options.hg, starter)
        bench = Bench(table, options, Program("varve", link, starter), theirs, work)
        repos = {}
        for given in options.repo:
            name, _, source = given.partition("=")
            repos[name] = os.path.join(work, name)
            bare(source, repos[name])
        yield bench, repos
        print("\n".join(bench.table))
