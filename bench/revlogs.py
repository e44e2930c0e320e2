#!/usr/bin/env python3
"""revlogs.py: reading and writing revlogs, against Mercurial's own library.

`varve bench revlog` measures Varve; the same work is then done by the `mercurial` package that the
given `hg` uses, in a process of its own, with that package's C extensions. Reading drops the
caches of the library before each run. Writing appends to a copy of the manifest in a repository of
its own, which is cut before the revisions that are written.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import measure

READ = ("manifests in order", "manifests in reverse", "every 50th manifest", "changesets")
WRITE = "write manifests"
CHUNKS = "all chunks"
TARGETS = {1: 3, 2: 5}
WRITE_TARGET = 6
CHUNKS_TARGET = 1.15


def peer(arguments):
    """Runs inside of Mercurial's own interpreter; prints one JSON object."""
    from mercurial import hg, ui as uimod

    path, last, writes, runs = arguments[0], *map(int, arguments[1:])
    repo = hg.repository(uimod.ui.load(), os.fsencode(path)).unfiltered()
    manifest = repo.manifestlog.getstorage(b"")._revlog
    revs = range(len(manifest))
    newest = revs[max(0, len(revs) - last):]
    works = {
        READ[0]: (manifest, newest),
        READ[1]: (manifest, newest[::-1]),
        READ[2]: (manifest, revs[::50]),
        READ[3]: (repo.changelog, range(len(repo.changelog))),
    }
    times = {name: [] for name in (*works, WRITE)}
    for _ in range(runs):
        for name, (revlog, wanted) in works.items():
            revlog.clearcaches()
            start = time.perf_counter()
            for rev in wanted:
                revlog.revision(rev)
            times[name].append(time.perf_counter() - start)
        seconds, size = peer_writes(repo, manifest, max(0, len(revs) - writes))
        times[WRITE].append(seconds)
    print(json.dumps({"times": times, "bytes": size}))


def peer_writes(repo, manifest, first):
    """Seconds for appending the revisions from `first` on from full texts, and stored bytes."""
    from mercurial import hg

    with tempfile.TemporaryDirectory() as directory:
        store = os.path.join(directory, "r", ".hg", "store")
        os.makedirs(store)
        source = os.path.join(os.fsdecode(repo.root), ".hg")
        for name in ("requires", "store/requires"):
            shutil.copy(os.path.join(source, name), os.path.join(directory, "r", ".hg", name))
        cut = manifest.start(first)
        for name, length in (("00manifest.i", 64 * first), ("00manifest.d", cut)):
            target = os.path.join(store, name)
            shutil.copy(os.path.join(source, "store", name), target)
            os.truncate(target, length)
        copy = hg.repository(repo.ui, os.fsencode(os.path.join(directory, "r"))).unfiltered()
        target = copy.manifestlog.getstorage(b"")._revlog
        seconds = 0
        with copy.lock(), copy.transaction(b"bench") as transaction:
            for rev in range(first, len(manifest)):
                text, node = manifest.revision(rev), manifest.node(rev)
                p1, p2 = map(manifest.node, manifest.parentrevs(rev))
                link, flags = manifest.linkrev(rev), manifest.flags(rev)
                start = time.perf_counter()
                target.addrawrevision(text, transaction, link, p1, p2, node, flags)
                seconds += time.perf_counter() - start
            size = target.end(len(target) - 1) - cut
    return seconds, size


def interpreter_of(hg):
    """The Python that an installed `hg` script names in its first line."""
    with open(shutil.which(hg) or hg, "rb") as script:
        first = script.readline()
    return first[2:].decode().split()[0] if first.startswith(b"#!") else sys.executable


def compare(args, repository):
    results = measure.Results("revlogs")
    name = os.path.basename(os.path.normpath(repository))
    env = dict(os.environ, HGRCPATH="", HGPLAIN="1")
    numbers = [str(args.last), str(args.writes), str(args.runs)]
    peer_command = [interpreter_of(args.hg), os.path.abspath(__file__), "--peer", repository]
    out = subprocess.run(peer_command + numbers, check=True, capture_output=True, env=env).stdout
    theirs = json.loads(out)
    command = [args.varve, "bench", "revlog", repository, "--json", "--last", str(args.last),
               "--writes", str(args.writes), "--runs", str(args.runs)]
    ours = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    hg = measure.hg_version(args.hg)
    for work, values in theirs["times"].items():
        results.write(name=f"{work}/{name}", subject=hg, unit="s",
                      median=round(statistics.median(values), 6),
                      range=[round(min(values), 6), round(max(values), 6)], samples=len(values))
    medians = {}
    for row in ours["tables"]["work"]["rows"]:
        threads, seconds = int(row["threads"]), row["seconds"]
        medians[row["work"], threads] = seconds["median"]
        results.write(name=f"{row['work']}/{name}", subject=f"varve, {threads} threads", unit="s",
                      median=round(seconds["median"], 6), samples=len(seconds["runs"]),
                      range=[round(seconds["low"], 6), round(seconds["high"], 6)])
    for (work, threads), value in medians.items():
        if work not in theirs["times"]:
            continue
        ratio = statistics.median(theirs["times"][work]) / max(value, 1e-9)
        target = WRITE_TARGET if work == WRITE else TARGETS[threads]
        results.write(name=f"{work}/{name}", subject=f"varve, {threads} threads, against {hg}",
                      unit="ratio", median=round(ratio, 2), target=target, met=ratio >= target)
    part = medians[CHUNKS, 1] / max(medians[CHUNKS + ", codec alone", 1], 1e-9)
    results.write(name=f"{CHUNKS}/{name}", subject="varve against the codec alone", unit="ratio",
                  median=round(part, 3), target=CHUNKS_TARGET, met=part <= CHUNKS_TARGET)
    size = next(row["size"] for row in ours["tables"]["written"]["rows"] if row["of"] == "written")
    results.write(name=f"{WRITE}, stored/{name}", subject=f"varve against {hg}", unit="bytes",
                  median=size, target=theirs["bytes"], met=size <= theirs["bytes"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hg", default="hg")
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--last", type=int, default=3000,
                        help="newest manifests to read in order and in reverse")
    parser.add_argument("--writes", type=int, default=5000, help="newest manifests to write")
    parser.add_argument("repositories", nargs="+")
    args = parser.parse_args()
    for repository in args.repositories:
        compare(args, repository)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(sys.argv[2:])
    else:
        main()
