#!/usr/bin/env python3
"""turns.py: this build of Varve against one from before, both measured in turns.

A row says how much a change costs elsewhere: CPU seconds of the server, or of the command, decide, since other work on
the machine changes wall time more than most changes do. Each round measures both builds, the second one first in
every other round. Ratios above 1 mean that this build uses less.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import clones
import databases
import measure
import rows
import views

sys.path.insert(0, os.path.join(measure.HERE, "corpus"))
import make_docs  # noqa: E402

NOW, BEFORE = "varve", "before"
# A row may cost 3 % more.
TARGET = 0.97
REPEATS = 5


class Documents(databases.Round):
    """Rows of one database, by CPU seconds of the server for a fixed amount of work."""

    def __init__(self, binary, note, count):
        super().__init__(argparse.Namespace(varve=binary, count=count), {})
        self.noted = note

    def measured(self, work, run):
        before = self.server.cpu()
        run()
        self.noted(work, "CPU seconds", self.server.cpu() - before)

    def per_request(self, work, script, query=""):
        """CPU microseconds of one request among those of some seconds."""
        before = self.server.cpu()
        self.requests(work, script, query)
        requests = self.figures[work][-1] * databases.SECONDS
        self.noted(work, "CPU microseconds", (self.server.cpu() - before) / requests * 1e6)

    def all(self, bodies):
        self.load(bodies, 1000, 4, "bench")
        self.noted("load", "CPU microseconds", self.figures["load/4x1000/cpu"][-1])
        self.per_request("get", "get")
        self.per_request("all_docs/20 with documents", "query", "_all_docs?limit=20&include_docs=true")
        self.per_request("changes/100", "query", "_changes?limit=100")
        self.per_request("put", "put")
        self.measured("all_docs with documents",
                      lambda: [self.fetch("/bench/_all_docs?include_docs=true") for _ in range(REPEATS)])
        for name in ("compiled", "engine", "words"):
            self.measured(f"view/{name}", lambda name=name: self.view(name))
        self.per_request("view/limit=1", "query", "_design/compiled/_view/v?limit=1")
        self.measured("compaction", self.compact)

    def view(self, name):
        design = f'{{"views": {{"v": {{"map": {databases.json.dumps(views.FUNCTIONS[name])}}}}}}}'
        self.server.request("PUT", f"/bench/_design/{name}", design.encode())
        self.fetch(f"/bench/_design/{name}/_view/v?limit=1")


def repository(binary, note, directory, hg):
    """Stream clones and pulls: CPU seconds of the server."""
    with tempfile.TemporaryDirectory() as temp:
        target = os.path.join(temp, "served", "repos", "corpus")
        shutil.copytree(directory, target, symlinks=True)
        clones.small_files(hg, os.path.join(temp, "served", "repos", "small"))
        server = measure.varve(os.path.join(temp, "served"), binary)
        for name in ("corpus", "small"):
            url = f"{server.url}/hg/{name}"
            tip = clones.hg(hg, "-R", os.path.join(temp, "served", "repos", name), "log", "-r", "tip",
                            "-T", "{node}").stdout
            for work, fetch in {
                "stream_out": lambda: clones.curl(url + "?cmd=stream_out"),
                "stream v2": lambda: clones.getbundle(url, tip, stream="1", cg="0", bookmarks="1"),
                "getbundle": lambda: clones.getbundle(url, tip, cg="1", bookmarks="1", phases="1"),
            }.items():
                cpu, _, _ = measure.sample(server, fetch)
                note(f"{work}/{name}", "CPU seconds", cpu)
        server.stop()


def commands(binary, note, directory, work, starter):
    """Commands called as `hg`: CPU seconds of so many calls that they are many ticks long."""
    link = os.path.join(work, "hg")
    if os.path.lexists(link):
        os.remove(link)
    os.symlink(os.path.abspath(binary), link)
    program = rows.Program(NOW, link, starter)
    for name, words, calls in [
        ("log -l 10", ["log", "-l", "10"], 40),
        ("log", ["log"], 3),
        ("status", ["status"], 40),
        ("diff -c tip", ["diff", "-c", "tip"], 20),
        ("log -r tip", ["log", "-r", "tip"], 40),
        ("verify", ["verify"], 1),
    ]:
        measured = [program.run(words, directory) for _ in range(calls)]
        note(name, "CPU seconds", sum(cpu for _, cpu, _ in measured))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--before", required=True, help="the build from before")
    parser.add_argument("--before-commit", required=True, help="the commit that it was made of")
    parser.add_argument("--hg", default=os.environ.get("HG", "hg"))
    parser.add_argument("--repo", required=True, help="a repository made by corpus/make_repo.py")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    builds = [(NOW, options.varve), (BEFORE, options.before)]
    results, figures = measure.Results("turns"), {}
    bodies = list(make_docs.bodies(options.count, 1000))
    with tempfile.TemporaryDirectory() as work:
        copy = os.path.join(work, "repository")
        rows.bare(options.repo, copy)
        subprocess.run([options.hg, "update", "-q", "-C", "tip"], cwd=copy, check=True)
        starter = rows.Starter(work)
        for number in range(options.rounds):
            for subject, binary in builds if number % 2 == 0 else reversed(builds):
                def note(name, unit, value, subject=subject):
                    figures.setdefault((name, unit), {}).setdefault(subject, []).append(value)
                commands(binary, note, copy, work, starter)
                repository(binary, note, options.repo, options.hg)
                documents = Documents(binary, note, options.count)
                documents.all(bodies)
                documents.end()
    for (name, unit), values in figures.items():
        results.add(name, NOW, unit, values[NOW])
        results.add(name, f"{BEFORE} ({options.before_commit})", unit, values[BEFORE])
        results.medians[name, BEFORE] = results.medians[name, f"{BEFORE} ({options.before_commit})"]
        results.ratio(name, NOW, BEFORE, TARGET, higher_is_better=False)


if __name__ == "__main__":
    main()
