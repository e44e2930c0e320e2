#!/usr/bin/env python3
"""databases.py: loading documents, compacting, building a view, against the figures of CouchDB 3.5.

CouchDB is not on the package registries, so its figures are the recorded ones (see
docs/benchmarks.md): they were measured on a machine of the same size. Documents come from
corpus/make_docs.py: 1 KB each, batches of 1,000, one client, every batch durable when answered.
"""

import argparse
import http.client
import json
import os
import shutil
import sys
import tempfile
import time
import urllib.parse

import measure

sys.path.insert(0, os.path.join(measure.HERE, "corpus"))
import make_docs  # noqa: E402

MAP = "function(doc){emit([doc.type, doc.category, doc.level, doc.ratio], doc.nested.coords)}"


def connect(server):
    address = urllib.parse.urlparse(server.url)
    return http.client.HTTPConnection(address.hostname, address.port, timeout=600)


def load(server, database, bodies):
    """Loads all bodies over one connection; gives wall seconds."""
    import base64

    login = base64.b64encode(":".join(measure.ADMIN).encode()).decode()
    headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
    connection, start = connect(server), time.monotonic()
    for body in bodies:
        connection.request("POST", f"/{database}/_bulk_docs", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 201 or b'"error"' in text:
            raise SystemExit(f"{answer.status}: {text[:200]}")
    return time.monotonic() - start


def compact(server, database):
    """Compacts to the end; gives wall seconds."""
    start = time.monotonic()
    server.request("POST", f"/{database}/_compact", b"")
    while json.loads(server.request("GET", f"/{database}"))["compact_running"]:
        time.sleep(0.005)
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()
    results = measure.Results("databases")
    bodies = list(make_docs.bodies(options.count, 1000))
    design = json.dumps({"views": {"v": {"map": MAP}}}).encode()
    figures = {"rate": [], "cpu": [], "view": [], "wall": [], "file": [], "index": [], "memory": [],
               "compaction": [], "compacted": []}
    for _ in range(3):
        temp = tempfile.mkdtemp()
        server = measure.varve(temp, options.varve)
        server.request("PUT", "/bench")
        before = server.cpu()
        wall = load(server, "bench", bodies)
        figures["rate"].append(options.count / wall)
        figures["cpu"].append((server.cpu() - before) / options.count * 1e6)
        info = json.loads(server.request("GET", "/bench"))
        assert info["doc_count"] == options.count, info
        figures["file"].append(info["sizes"]["file"] / 1e6)
        figures["compaction"].append(compact(server, "bench"))
        info = json.loads(server.request("GET", "/bench"))
        figures["compacted"].append(info["sizes"]["file"] / 1e6)
        server.request("PUT", "/bench/_design/v", design)
        before, start = server.cpu(), time.monotonic()
        answer = json.loads(server.request("GET", "/bench/_design/v/_view/v?limit=1"))
        assert answer["total_rows"] == options.count, answer
        figures["view"].append(server.cpu() - before)
        figures["wall"].append(time.monotonic() - start)
        view = json.loads(server.request("GET", "/bench/_design/v/_info"))["view_index"]
        figures["index"].append(view["sizes"]["file"] / 1e6)
        figures["memory"].append(server.peak_memory() / 1e6)
        server.stop()
        shutil.rmtree(temp)
    name = f"bulk_docs/{options.count}x1KB"
    results.add(name, "varve", "documents/s", figures["rate"])
    results.absolute(name, "varve", 25_000, at_most=False)
    results.add(f"{name}/cpu", "varve", "CPU microseconds per document", figures["cpu"])
    results.absolute(f"{name}/cpu", "varve", 40)
    results.add(f"{name}/file", "varve", "MB", figures["file"])
    name = f"compaction/{options.count}x1KB"
    results.add(name, "varve", "seconds", figures["compaction"])
    results.absolute(name, "varve", 0.92 * options.count / 100_000)
    results.add(f"{name}/file", "varve", "MB", figures["compacted"])
    name = f"view build/{options.count}x1KB"
    results.add(f"{name}/cpu", "varve", "CPU seconds", figures["view"])
    results.absolute(f"{name}/cpu", "varve", 6 * options.count / 100_000)
    results.add(f"{name}/wall", "varve", "seconds", figures["wall"])
    results.add(f"{name}/file", "varve", "MB", figures["index"])
    results.add(f"{name}/memory", "varve", "MB, peak resident", figures["memory"])


if __name__ == "__main__":
    main()
