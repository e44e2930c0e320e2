#!/usr/bin/env python3
"""databases.py: loading, reading, compacting, replicating, against CouchDB 3.5's figures.

CouchDB's figures are recorded ones (couchdb.py). Documents come from corpus/make_docs.py: 1 KB each.
Every write is durable when it is answered. Rows of single requests need `wrk`, those of PouchDB the
peers that ./test fetches (VARVE_PEERS); without them they are left out, and that is said.
"""

import argparse
import base64
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import couchdb
import measure

sys.path.insert(0, os.path.join(measure.HERE, "corpus"))
import make_docs  # noqa: E402

LOAD = os.path.join(measure.HERE, "load")
LOGIN = base64.b64encode(":".join(measure.ADMIN).encode()).decode()
HEADERS = {"Authorization": f"Basic {LOGIN}", "Content-Type": "application/json"}
SECONDS, CONNECTIONS = 6, 16
RESTING, COMPACTING = "get at rest", "get while compacting"
REPLICATED = 10_000

# Times better than CouchDB.
TARGETS = {
    "load/1x1000": 6, "load/4x1000": 6, "load/1x100": 6, "load/4x100": 6,
    "load/1x1000/cpu": 6, "load/4x1000/cpu": 6, "load/1x100/cpu": 6, "load/4x100/cpu": 6,
    "load/1x1000/memory": 1, "load/4x1000/memory": 1,
    "get": 12, "get/p99": 5, "put": 5, "put/p99": 3,
    "all_docs/20 with documents": 15, "changes/100": 15,
    "all_docs with documents": 15, "changes with documents": 15,
    "compaction": 10, "compaction/file": 2,
    "replicate/push/cpu": 8, "replicate/pull/cpu": 8,
}


class Round:
    """One server with its measurements."""

    def __init__(self, options, figures, settings=""):
        self.options, self.figures = options, figures
        self.directory = tempfile.mkdtemp()
        if settings:
            name, password = measure.ADMIN
            with open(os.path.join(self.directory, "varve.ini"), "w") as out:
                out.write(f"[admins]\n{name} = {password}\n{settings}")
        self.server = measure.varve(self.directory, options.varve)

    def note(self, work, value):
        self.figures.setdefault(work, []).append(value)

    def connect(self):
        address = urllib.parse.urlparse(self.server.url)
        return http.client.HTTPConnection(address.hostname, address.port, timeout=600)

    def info(self, database="bench"):
        return json.loads(self.server.request("GET", f"/{database}"))

    def fetch(self, path):
        """Reads a long answer to its end; gives wall seconds."""
        connection, start = self.connect(), time.monotonic()
        connection.request("GET", path, headers=HEADERS)
        answer = connection.getresponse()
        while answer.read(1 << 20):
            pass
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status}")
        return time.monotonic() - start

    def load(self, bodies, batch, clients, database):
        """Loads all bodies over so many connections."""
        self.server.request("PUT", f"/{database}")
        todo, lock = iter(bodies), threading.Lock()

        def client():
            connection = self.connect()
            while True:
                with lock:
                    body = next(todo, None)
                if body is None:
                    return
                connection.request("POST", f"/{database}/_bulk_docs", body, HEADERS)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 201 or b'"error"' in text:
                    print(answer.status, text[:200], file=sys.stderr)
                    os._exit(1)

        work, before, start = f"load/{clients}x{batch}", self.server.cpu(), time.monotonic()
        threads = [threading.Thread(target=client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        count = self.options.count
        self.note(work, count / (time.monotonic() - start))
        self.note(f"{work}/cpu", (self.server.cpu() - before) / count * 1e6)
        if batch == 1000:
            self.note(f"{work}/memory", self.server.peak_memory() / 1e6)
        if self.info(database)["doc_count"] != count:
            raise SystemExit("documents are missing")

    def compact(self):
        """Compacts to the end."""
        start = time.monotonic()
        self.server.request("POST", "/bench/_compact", b"")
        while self.info()["compact_running"]:
            time.sleep(0.005)
        self.note("compaction", time.monotonic() - start)
        self.note("compaction/file", self.info()["sizes"]["file"] / 1e6)

    def reads_while_compacting(self):
        """Single documents are read while one compaction follows the other."""
        over = threading.Event()

        def compact():
            while not over.is_set():
                self.server.request("POST", "/bench/_compact", b"")
                while self.info()["compact_running"]:
                    time.sleep(0.02)

        thread = threading.Thread(target=compact)
        thread.start()
        try:
            self.requests(COMPACTING, "get", p99=True)
        finally:
            over.set()
            thread.join()

    def requests(self, work, script, query="", p99=False):
        """Keep-alive clients that ask for some seconds."""
        env = dict(os.environ, LOGIN=LOGIN, DATABASE="bench", COUNT=str(self.options.count),
                   QUERY=query, LUA_PATH=f"{LOAD}/?.lua")
        command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--timeout", "20s",
                   "-s", f"{LOAD}/{script}.lua", self.server.url]
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        found = json.loads(run.stdout.splitlines()[-1])
        if found["wrong"]:
            raise SystemExit(f"{work}: {found}")
        self.note(work, found["requests"] / found["seconds"])
        if p99:
            self.note(f"{work}/p99", found["p99"])

    def replicate(self, peers):
        """PouchDB pushes and pulls."""
        self.server.request("PUT", "/replicated")
        name, password = measure.ADMIN
        url = self.server.url.replace("://", f"://{name}:{password}@") + "/replicated"
        process = subprocess.Popen(
            ["node", f"{LOAD}/replicate.js", url, str(REPLICATED)], text=True,
            env=dict(os.environ, NODE_PATH=f"{peers}/node_modules"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        before = 0
        for line in process.stdout:
            told = json.loads(line)
            if "ended" in told:
                self.note(f"replicate/{told['ended']}/cpu", self.server.cpu() - before)
            before = self.server.cpu()
            process.stdin.write("\n")
            process.stdin.flush()
        if process.wait() != 0:
            raise SystemExit("the replication failed")

    def end(self):
        self.server.stop()
        shutil.rmtree(self.directory)


def measure_round(options, figures, bodies):
    has_wrk, peers = shutil.which("wrk"), os.environ.get("VARVE_PEERS")
    for clients in (1, 4):
        # Each with a server of its own, whose peak of memory is that of this load.
        for batch in bodies:
            loading = Round(options, figures)
            loading.load(bodies[batch], batch, clients, "bench")
            if (clients, batch) != (4, 100):
                loading.end()
    # The last one goes on with its database, which is as a server has it after a while.
    one = loading
    if has_wrk:
        one.requests("get", "get", p99=True)
        one.requests("all_docs/20 with documents", "query", "_all_docs?limit=20&include_docs=true")
        one.requests("changes/100", "query", "_changes?limit=100")
    one.note("all_docs with documents", one.fetch("/bench/_all_docs?include_docs=true"))
    one.note("changes with documents", one.fetch("/bench/_changes?include_docs=true"))
    one.compact()
    if has_wrk:
        one.requests("put", "put", p99=True)
    if peers:
        one.replicate(peers)
    one.end()
    return bool(has_wrk), bool(peers)


def measure_compacting(options, figures):
    """Reads at rest, and while a database of five times as many documents is copied again and again."""
    many = argparse.Namespace(**{**vars(options), "count": 5 * options.count})
    loaded = Round(many, {}, "[compaction]\nin_place_from = 1000gb\n")
    loaded.load(make_docs.bodies(many.count, 1000), 1000, 4, "bench")
    loaded.figures = figures
    for _ in range(3):
        loaded.requests(RESTING, "get", p99=True)
        loaded.reads_while_compacting()
    loaded.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()
    if options.count != 100_000:
        print("databases.py: CouchDB's seconds and sizes are those of 100,000 documents", file=sys.stderr)
    results, figures = measure.Results("databases"), {}
    bodies = {batch: list(make_docs.bodies(options.count, batch)) for batch in (1000, 100)}
    for _ in range(3):
        has_wrk, has_peers = measure_round(options, figures, bodies)
    for missing, what in [(has_wrk, "wrk is not on the PATH: no single requests"),
                          (has_peers, "VARVE_PEERS is not set: no replication")]:
        if not missing:
            print(f"databases.py: {what}", file=sys.stderr)
    if has_wrk:
        compacting = {}
        measure_compacting(options, compacting)
        results.add(COMPACTING, "p99 at rest", "ms", compacting[f"{RESTING}/p99"])
        results.add(COMPACTING, "p99", "ms", compacting[f"{COMPACTING}/p99"])
        results.ratio(COMPACTING, "p99 at rest", "p99", 0.5)
    for work, values in figures.items():
        couchdb.compare(results, work, values, TARGETS[work])


if __name__ == "__main__":
    main()
