#!/usr/bin/env python3
"""engine.py: databases made and removed, one document of 20 MB, 1,000,000 tiny documents.

There is no peer in these runs. With --before another build of Varve is measured in turns with this one. The disk is
measured beside: a file that is made and synced takes as long as the disk needs, whatever the server does.
"""

import argparse
import http.client
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import urllib.parse

import databases
import measure

WORDS = ["alpha", "beta", "gamma", "delta", "station", "sensor", "river", "mountain", "quiet", "version"]
LONG_DOCUMENT = 20_000_000
TINY_BATCH = 1000
CLIENTS = 4
SETTINGS = "[couchdb]\nmax_document_size = 200000000\n"
# Times as fast as the build from before, and MB.
TARGETS = {"databases": 2, "long document/peak": 150, "tiny documents/memory": 200}


class Served:
    """A server with a directory of its own."""

    def __init__(self, binary):
        self.directory = tempfile.mkdtemp()
        name, password = measure.ADMIN
        with open(os.path.join(self.directory, "varve.ini"), "w") as out:
            out.write(f"[admins]\n{name} = {password}\n{SETTINGS}")
        self.server = measure.varve(self.directory, binary)
        self.connection = self.connect()
        self.request("GET", "/_all_dbs")

    def connect(self):
        address = urllib.parse.urlparse(self.server.url)
        return http.client.HTTPConnection(address.hostname, address.port, timeout=600)

    def request(self, method, path, body=None, connection=None):
        connection = connection or self.connection
        connection.request(method, path, body, databases.HEADERS)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 300 or b'"error"' in text[:400]:
            print(method, path, answer.status, text[:200], file=sys.stderr)
            os._exit(1)
        return text

    def timed(self, *request):
        start = time.monotonic()
        self.request(*request)
        return time.monotonic() - start

    def each(self, clients, work):
        """Calls `work` with a connection and the client's number, for all clients at once; gives wall seconds."""
        threads = [threading.Thread(target=lambda client=client: work(self.connect(), client))
                   for client in range(clients)]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.monotonic() - start

    def end(self):
        self.server.stop()
        shutil.rmtree(self.directory)


def disk(note, count):
    """Files that are made and synced as `create_to_rename` does, by one process that does nothing else."""
    directory = tempfile.mkdtemp()
    parent = os.open(directory, os.O_RDONLY)
    start = time.monotonic()
    for number in range(count):
        path = f"{directory}/{number}"
        file = os.open(path + ".new", os.O_RDWR | os.O_CREAT | os.O_EXCL)
        os.write(file, b"x" * 600)
        os.fdatasync(file)
        os.rename(path + ".new", path)
        os.fsync(parent)
        os.close(file)
    note("databases/disk alone", "ms each", (time.monotonic() - start) / count * 1000)
    os.close(parent)
    shutil.rmtree(directory)


def many_databases(binary, note, count):
    for clients in (1, 8):
        served = Served(binary)

        def all_by(method):
            def work(connection, client):
                for number in range(client, count, clients):
                    served.request(method, f"/db{number}", None, connection)
            return served.each(clients, work) / count * 1000

        note(f"databases/made by {clients}", "ms each", all_by("PUT"))
        note(f"databases/removed by {clients}", "ms each", all_by("DELETE"))
        served.end()


def long_document():
    rng, rows, size = random.Random(2026), [], 0
    while size < LONG_DOCUMENT:
        row = json.dumps({"id": len(rows), "name": " ".join(rng.choices(WORDS, k=4)), "value": rng.random(),
                          "level": rng.randrange(100), "ok": rng.random() < 0.5, "tags": rng.choices(WORDS, k=2)})
        rows.append(row)
        size += len(row) + 2
    return f'{{"rows":[{", ".join(rows)}]}}'.encode()


def one_long_document(binary, note, body):
    served = Served(binary)
    served.request("PUT", "/bench")
    for number in range(3):
        note("long document/put", "ms", served.timed("PUT", f"/bench/{number}", body) * 1000)
    note("long document/put/peak", "MB", served.server.peak_memory() / 1e6)
    served.server.stop()
    served.server = measure.varve(served.directory, binary)
    served.connection = served.connect()
    for number in range(3):
        note("long document/get", "ms", served.timed("GET", f"/bench/{number}") * 1000)
    note("long document/get/peak", "MB", served.server.peak_memory() / 1e6)
    served.end()
    served = Served(binary)
    served.request("PUT", "/bench")
    rev = b'"_rev":"1-967a00dff5e02add41819138abb3284d"'
    bulk = b'{"new_edits":false,"docs":[{"_id":"long",' + rev + b"," + body[1:] + b"]}"
    note("long document/replicated", "ms", served.timed("POST", "/bench/_bulk_docs", bulk) * 1000)
    note("long document/replicated/peak", "MB", served.server.peak_memory() / 1e6)
    served.end()


def tiny_documents(binary, note, count):
    served = Served(binary)
    served.request("PUT", "/bench")

    def work(connection, client):
        for first in range(client * TINY_BATCH, count, CLIENTS * TINY_BATCH):
            docs = ",".join(f'{{"_id":"{number:08d}","v":{number}}}'
                            for number in range(first, min(first + TINY_BATCH, count)))
            served.request("POST", "/bench/_bulk_docs", f'{{"docs":[{docs}]}}', connection)

    note("tiny documents/load", "documents/s", count / served.each(CLIENTS, work))
    if json.loads(served.request("GET", "/bench"))["doc_count"] != count:
        raise SystemExit("documents are missing")
    note("tiny documents/memory", "MB", served.server.memory() / 1e6)
    note("tiny documents/peak", "MB", served.server.peak_memory() / 1e6)
    served.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--before", help="another build of Varve, measured in turns")
    parser.add_argument("--databases", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    results, figures, body = measure.Results("engine"), {}, long_document()
    subjects = {"varve": options.varve}
    if options.before:
        subjects["before"] = options.before

    def note(work, unit, value, subject):
        figures.setdefault((work, subject, unit), []).append(value)

    for _ in range(options.rounds):
        for subject, binary in subjects.items():
            def noted(work, unit, value, subject=subject):
                note(work, unit, value, subject)
            disk(noted, options.databases // 4)
            many_databases(binary, noted, options.databases)
            one_long_document(binary, noted, body)
            tiny_documents(binary, noted, options.documents)
    for (work, subject, unit), values in sorted(figures.items()):
        results.add(work, subject, unit, values)
    for work in ("long document/put/peak", "long document/replicated/peak"):
        results.absolute(work, "varve", TARGETS["long document/peak"])
    results.absolute("tiny documents/memory", "varve", TARGETS["tiny documents/memory"])
    if options.before:
        for clients in (1, 8):
            results.ratio(f"databases/made by {clients}", "varve", "before", TARGETS["databases"], False)


if __name__ == "__main__":
    main()
