#!/usr/bin/env python3
"""exchange.py: what bundles, clones and pulls cost, Varve against stock `hg` in the same run.

Repositories: those given with --repo (made by corpus/make_repo.py). Clones have the same program at
both ends. See rows.py for how commands are measured.
"""

import concurrent.futures
import os
import subprocess

import clones
import measure
import rows
from rows import Failed, size

SAMPLES = 3
CLIENTS = 16


class Fresh:
    """A new name below the work directory for each run: a file system that has just lost many files
    makes new ones several times slower."""

    def __init__(self, bench, name):
        self.bench, self.name, self.count, self.current = bench, name, 0, {}

    def __call__(self, program, _directory=None):
        self.count += 1
        name = f"{self.name}-{self.count}".replace(" ", "-").replace("/", "-")
        self.current[program] = os.path.join(self.bench.work, name)
        os.sync()

    def of(self, program):
        return self.current[program]


class Zstd(rows.Program):
    """The compressor alone."""

    def __init__(self, starter):
        super().__init__("zstd", "zstd", starter)


def bundles(bench, name, directory):
    """Rows of writing bundles; gives the last one of Varve's."""
    def row(title, target, ours, theirs):
        fresh = Fresh(bench, title)

        def words(program):
            how = ours if program is bench.ours else theirs
            return ["bundle", "-q", "-a", *how, fresh.of(program)]

        bench.row(f"{title}/{name}", target, SAMPLES, words, directory, fresh)

    row("bundle none-v2", 6, ["-t", "none-v2"], ["-t", "none-v2"])
    if ("bundle none-v2/" + name + "/cpu", "varve") in bench.results.medians:
        bench.results.ratio(f"bundle none-v2/{name}/cpu", "varve", bench.theirs.subject, 6,
                            higher_is_better=False)
    level = ["--config", "experimental.bundlecomplevel=3"]
    row("bundle zstd-v2 level 3", 5, ["-t", "zstd-v2;compressionlevel=3"], ["-t", "zstd-v2", *level])

    plain = os.path.join(bench.work, f"plain-{name}")
    bench.hg("bundle", "-q", "-a", "-t", "none-v2", plain, cwd=directory)
    fresh = Fresh(bench, "bundle zstd-v2 level 15")

    def words(program):
        if program is bench.ours:
            spec = "zstd-v2;compressionlevel=15;compressionthreads=2"
            return ["bundle", "-q", "-a", "-t", spec, fresh.of(program)]
        return ["-q", "-15", "-T2", plain, "-o", fresh.of(program)]

    # Within a tenth of what the compressor alone takes.
    bench.row(f"bundle zstd-v2 level 15 two threads/{name}", 0.9, SAMPLES, words, directory, fresh,
              rival=Zstd(bench.ours.starter))


def unbundle(bench, name, directory):
    title = f"unbundle/{name}"
    if not bench.wants(title):
        return
    bundle = os.path.join(bench.work, f"level15-{name}.hg")
    level = ["--config", "experimental.bundlecomplevel=15"]
    bench.hg("bundle", "-q", "-a", "-t", "zstd-v2", *level, bundle, cwd=directory)
    fresh = Fresh(bench, "unbundle")

    def empty(program, _directory):
        fresh(program)
        bench.hg("init", fresh.of(program))

    def words(program):
        return ["-R", fresh.of(program), "unbundle", "-q", bundle]

    def check(program, _directory):
        bench.hg("verify", "-q", cwd=fresh.of(program))

    bench.row(title, 5, SAMPLES, words, directory, empty, check)
    compare_sizes(bench, title, fresh)


def compare_sizes(bench, title, fresh):
    programs = (bench.ours, bench.theirs)
    ours, theirs = (size(os.path.join(fresh.of(program), ".hg", "store")) for program in programs)
    bench.results.write(name=title, subject="sizes", unit="bytes", ours=ours, theirs=theirs,
                        met=ours <= theirs)


def whole_clones(bench, name, servers):
    """Clones with the same program at both ends."""
    by_program = dict(zip((bench.ours, bench.theirs), servers.values()))
    for kind in ("--stream", "--pull"):
        fresh = Fresh(bench, "clone" + kind)

        def words(program):
            url = by_program[program][1]
            return ["clone", "-q", "-U", kind, url, fresh.of(program)]

        def check(program, _directory):
            bench.hg("verify", "-q", cwd=fresh.of(program))

        bench.row(f"clone -U {kind} both ends/{name}", 5, SAMPLES, words, bench.work, fresh, check)


def pulls_of_nothing(bench, name, servers):
    title = f"pull of nothing new/{name}"
    if not bench.wants(title):
        return
    clone = os.path.join(bench.work, f"pulled-{name}")
    bench.hg("clone", "-q", "-U", "--stream", servers["varve"][1], clone)

    def pull(url):
        done = subprocess.run([bench.theirs.path, "-R", clone, "pull", "-q", url],
                              env=bench.theirs.env, capture_output=True, text=True)
        if done.returncode:
            raise Failed(done.stderr)

    for subject, (server, url) in servers.items():
        taken = [measure.sample(server, lambda: pull(url), at_least=0.1)[0] for _ in range(SAMPLES)]
        bench.results.add(title, subject, "server CPU seconds", taken)
    bench.results.absolute(title, "varve", 0.003)


def many_at_once(bench, name, servers, tip):
    """As many answers of clones as clients would ask for at once, fetched with curl."""
    title = f"{CLIENTS} clones at once/{name}"
    if not bench.wants(title):
        return
    asked = dict(cg="1", bookmarks="1", phases="1", listkeys="bookmarks")
    for subject, (server, url) in servers.items():
        idle, taken = server.peak_memory(), []
        for _ in range(SAMPLES):
            before = server.cpu()
            with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
                answers = [pool.submit(clones.getbundle, url, tip, **asked)
                           for _ in range(CLIENTS)]
            for answer in answers:
                answer.result()
            taken.append((server.cpu() - before) / CLIENTS)
        bench.results.add(title, subject, "server CPU seconds per clone", taken)
        above = server.peak_memory() - idle
        bench.results.write(name=title + "/memory", subject=subject, unit="bytes above idle",
                            median=above, target=200e6, met=above <= 200e6)
    bench.results.ratio(title, "varve", bench.theirs.subject, 6, higher_is_better=False)


def main():
    with rows.prepared("exchange", __doc__) as (bench, repos):
        served = os.path.join(bench.work, "served")
        for name, directory in repos.items():
            bundles(bench, name, directory)
            unbundle(bench, name, directory)
            target = os.path.join(served, "repos", name)
            rows.bare(directory, target)
            tip = bench.hg("log", "-r", "tip", "-T", "{node}", cwd=directory)
            servers = {"varve": measure.varve(served, bench.options.varve),
                       bench.theirs.subject: measure.hg_serve(bench.options.hg, target)}
            urls = [f"{servers['varve'].url}/hg/{name}", servers[bench.theirs.subject].url]
            servers = {subject: (server, url)
                       for (subject, server), url in zip(servers.items(), urls)}
            try:
                whole_clones(bench, name, servers)
                pulls_of_nothing(bench, name, servers)
                many_at_once(bench, name, servers, tip)
            finally:
                for server, _ in servers.values():
                    server.stop()


if __name__ == "__main__":
    main()
