#!/usr/bin/env python3
"""clones.py: what a clone costs the server, `varve serve` against `hg serve` in the same run.

Repositories: few big files, 10,000 small files, and the corpus given with --repo (made by
corpus/make_repo.py). Stream clones are fetched with curl; `hg clone -U --pull` is run with stock
hg, and the same answer is fetched with curl to count its bytes.
"""

import argparse
import os
import random
import shutil
import subprocess
import tempfile
import urllib.parse

import measure

BUNDLE_CAPS = "HG20,bundle2=" + urllib.parse.quote(
    "HG20\nbookmarks\nchangegroup=01,02,03\ndigests=md5,sha1,sha512\n"
    "error=abort,unsupportedcontent,pushraced,pushkey\nlistkeys\nphases=heads\n"
    "pushkey\nremote-changegroup=http,https\nstream=v2")


def hg(command, *words):
    env = dict(os.environ, HGRCPATH="", HGPLAIN="1", HGUSER="bench")
    return subprocess.run([command, *words], check=True, env=env, capture_output=True, text=True)


def big_files(command, directory):
    """Four files of 24 MB that do not compress."""
    rng = random.Random(4)
    hg(command, "init", directory)
    for n in range(4):
        with open(os.path.join(directory, f"big{n}.bin"), "wb") as out:
            out.write(rng.randbytes(24_000_000))
    hg(command, "-R", directory, "commit", "-qAm", "big files", "-d", "0 0")


def small_files(command, directory, count=10_000):
    """Many files of a few hundred bytes."""
    rng = random.Random(5)
    hg(command, "init", directory)
    for n in range(count):
        path = os.path.join(directory, f"part{n % 100:02}", f"small{n}.txt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(" ".join(str(rng.random()) for _ in range(rng.randrange(5, 40))))
    hg(command, "-R", directory, "commit", "-qAm", "small files", "-d", "0 0")


def curl(url, *headers):
    """Fetches and gives the number of bytes of the body."""
    words = [word for header in headers for word in ("-H", header)]
    out = subprocess.run(["curl", "-sS", "-f", "-o", "/dev/null", "-w", "%{size_download}",
                          *words, url], check=True, capture_output=True, text=True)
    return int(out.stdout)


def getbundle(url, tip, **arguments):
    arguments = {"bundlecaps": BUNDLE_CAPS, "common": "0" * 40, "heads": tip, **arguments}
    encoded = urllib.parse.urlencode(sorted(arguments.items()))
    lines = [f"X-HgArg-{n}: {encoded[at:at + 1000]}"
             for n, at in enumerate(range(0, len(encoded), 1000), 1)]
    protocol = "X-HgProto-1: 0.1 0.2 comp=zstd,zlib,none,bzip2 partial-pull"
    size = curl(url + "?cmd=getbundle", *lines, protocol)
    if size < 10_000:
        raise SystemExit(f"{url} answered {size} bytes: a refusal, not a bundle")
    return size


def compare_streams(results, name, servers, tip):
    work = {
        "stream_out": lambda url: curl(url + "?cmd=stream_out"),
        "stream v2": lambda url: getbundle(url, tip, stream="1", cg="0", bookmarks="1"),
    }
    for kind, fetch in work.items():
        rates = {subject: [] for subject in servers}
        for _ in range(3):
            for subject, (server, url) in servers.items():
                cpu, _, size = measure.sample(server, lambda: fetch(url))
                rates[subject].append(size / 1e6 / cpu)
        title = f"{kind}/{name}"
        for subject, values in rates.items():
            results.add(title, subject, "MB per CPU second", values)
        results.ratio(title, "varve", [s for s in servers if s != "varve"][0], target=3)


def compare_pulls(results, name, servers, tip, command, temp):
    peer = [subject for subject in servers if subject != "varve"][0]
    cpus, sizes = {s: [] for s in servers}, {s: [] for s in servers}
    for _ in range(3):
        for subject, (server, url) in servers.items():
            target = os.path.join(temp, "clone")
            before = server.cpu()
            hg(command, "clone", "-q", "-U", "--pull", url, target)
            cpus[subject].append(server.cpu() - before)
            shutil.rmtree(target)
            sizes[subject].append(getbundle(
                url, tip, cg="1", bookmarks="1", phases="1", listkeys="bookmarks"))
    for subject in servers:
        results.add(f"clone --pull/{name}", subject, "server CPU seconds", cpus[subject])
        results.add(f"getbundle bytes/{name}", subject, "bytes", sizes[subject])
    results.ratio(f"clone --pull/{name}", "varve", peer, target=4, higher_is_better=False)
    results.ratio(f"getbundle bytes/{name}", "varve", peer, target=1, higher_is_better=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--hg", default=os.environ.get("HG", "hg"))
    parser.add_argument("--repo", action="append", default=[], metavar="NAME=DIRECTORY")
    options = parser.parse_args()
    results = measure.Results("clones")
    peer = measure.hg_version(options.hg)
    with tempfile.TemporaryDirectory() as temp:
        repos = os.path.join(temp, "served", "repos")
        os.makedirs(repos)
        big_files(options.hg, os.path.join(repos, "big"))
        small_files(options.hg, os.path.join(repos, "small"))
        names = ["big", "small"]
        for given in options.repo:
            name, _, directory = given.partition("=")
            shutil.copytree(directory, os.path.join(repos, name), symlinks=True)
            names.append(name)
        ours = measure.varve(os.path.join(temp, "served"), options.varve)
        for name in names:
            directory = os.path.join(repos, name)
            theirs = measure.hg_serve(options.hg, directory)
            servers = {"varve": (ours, f"{ours.url}/hg/{name}"), peer: (theirs, theirs.url)}
            tip = hg(options.hg, "-R", directory, "log", "-r", "tip", "-T", "{node}").stdout
            compare_streams(results, name, servers, tip)
            if name not in ("big", "small"):
                compare_pulls(results, name, servers, tip, options.hg, temp)
            theirs.stop()
        ours.stop()


if __name__ == "__main__":
    main()
