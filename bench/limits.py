#!/usr/bin/env python3
"""limits.py: 10 million documents in one database, and 10,000 databases opened in turn.

There is no peer in these runs, and each is done once: they show that the size is possible, and what
it costs. The documents are short (some 110 bytes); the file needs about 2 GB, twice as much while it
is compacted.
"""

import argparse
import http.client
import json
import os
import random
import shutil
import statistics
import tempfile
import time
import urllib.parse

import databases
import measure

BATCH = 2000
GETS = 5000
DESCRIPTORS = 512
KINDS = ["station", "sensor", "reading", "alert", "route", "vehicle", "stop"]


class Run:
    """One server, and what is kept of it."""

    def __init__(self, options, results, settings=""):
        self.options, self.results = options, results
        self.directory = tempfile.mkdtemp()
        name, password = measure.ADMIN
        with open(os.path.join(self.directory, "varve.ini"), "w") as out:
            out.write(f"[admins]\n{name} = {password}\n{settings}")
        self.start()

    def start(self):
        self.server = measure.varve(self.directory, self.options.varve)
        address = urllib.parse.urlparse(self.server.url)
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=3600)

    def restart(self):
        self.server.stop()
        self.start()

    def end(self):
        self.server.stop()
        shutil.rmtree(self.directory)

    def request(self, method, path, body=None):
        self.connection.request(method, path, body, databases.HEADERS)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:200]}")
        return text

    def info(self, database):
        return json.loads(self.request("GET", f"/{database}"))

    def keep(self, name, unit, value):
        self.results.write(name=f"limits/{name}", subject="varve", unit=unit,
                           median=round(value, 6), samples=1)

    def times(self, name, paths):
        """Keeps how long single requests take, one after the other."""
        taken = []
        for path in paths:
            start = time.monotonic()
            self.request("GET", path)
            taken.append((time.monotonic() - start) * 1000)
        taken.sort()
        self.keep(f"{name}/median", "ms", statistics.median(taken))
        self.keep(f"{name}/p99", "ms", taken[len(taken) * 99 // 100])
        self.keep(f"{name}/slowest", "ms", taken[-1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))


def document(k):
    mixed = k * 2654435761 % (1 << 32)
    return (f'{{"_id":"doc{k:09d}","number":{mixed},"kind":"{KINDS[mixed % 7]}",'
            f'"at":{1_300_000_000 + k * 7},"note":"reading {mixed % 1000} of core {mixed >> 22}"}}')


def many_documents(options, results):
    """Loads them by one client, then opens, reads and compacts the database."""
    run, count = Run(options, results), options.documents
    run.request("PUT", "/bench")
    before, spent, name = run.server.cpu(), 0.0, f"{count} documents"
    for first in range(0, count, BATCH):
        docs = ",".join(map(document, range(first, min(first + BATCH, count))))
        body = f'{{"docs":[{docs}]}}'.encode()
        start = time.monotonic()
        text = run.request("POST", "/bench/_bulk_docs", body)
        spent += time.monotonic() - start
        if b'"error"' in text:
            raise SystemExit(f"not stored: {text[:300]}")
    run.keep(f"{name}/load", "documents/s", count / spent)
    run.keep(f"{name}/load/cpu", "us per document", (run.server.cpu() - before) / count * 1e6)
    run.keep(f"{name}/load/memory", "MB", run.server.peak_memory() / 1e6)
    info = run.info("bench")
    if info["doc_count"] != count:
        raise SystemExit("documents are missing")
    run.keep(f"{name}/file", "MB", info["sizes"]["file"] / 1e6)
    opening = []
    for _ in range(5):
        run.restart()
        run.request("GET", "/")
        start = time.monotonic()
        run.info("bench")
        opening.append((time.monotonic() - start) * 1000)
    run.keep(f"{name}/open", "ms", statistics.median(opening))
    rng = random.Random(2026)
    run.times(f"{name}/get", [f"/bench/doc{rng.randrange(count):09d}" for _ in range(GETS)])
    run.keep(f"{name}/get/memory", "MB", run.server.peak_memory() / 1e6)
    start = time.monotonic()
    run.request("POST", "/bench/_compact", b"")
    while run.info("bench")["compact_running"]:
        time.sleep(0.1)
    run.keep(f"{name}/compaction", "s", time.monotonic() - start)
    run.keep(f"{name}/compaction/memory", "MB", run.server.peak_memory() / 1e6)
    run.keep(f"{name}/compaction/file", "MB", run.info("bench")["sizes"]["file"] / 1e6)
    run.end()


def many_databases(options, results):
    """Makes them, each with a document, and opens all in turn."""
    run, count = Run(options, results), options.databases
    name, most = f"{count} databases", 0
    start = time.monotonic()
    for n in range(count):
        run.request("PUT", f"/db{n}")
        run.request("PUT", f"/db{n}/doc", b'{"n":%d}' % n)
        most = max(most, run.descriptors())
    run.keep(f"{name}/make", "s", time.monotonic() - start)
    run.restart()
    order = list(range(count))
    random.Random(2026).shuffle(order)
    taken = []
    for n in order * 2:
        start = time.monotonic()
        if json.loads(run.request("GET", f"/db{n}/doc"))["n"] != n:
            raise SystemExit(f"db{n} has another document")
        taken.append((time.monotonic() - start) * 1000)
        most = max(most, run.descriptors())
    taken.sort()
    run.keep(f"{name}/first read/median", "ms", statistics.median(taken))
    run.keep(f"{name}/first read/p99", "ms", taken[len(taken) * 99 // 100])
    run.keep(f"{name}/memory", "MB", run.server.peak_memory() / 1e6)
    results.write(name=f"limits/{name}/descriptors", subject="varve", unit="target", median=most,
                  target=DESCRIPTORS, met=most <= DESCRIPTORS)
    run.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--databases", type=int, default=10_000)
    options = parser.parse_args()
    results = measure.Results("limits")
    if options.databases:
        many_databases(options, results)
    if options.documents:
        many_documents(options, results)


if __name__ == "__main__":
    main()
