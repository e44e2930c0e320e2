#!/usr/bin/env python3
"""lists.py: a list function over a view of a million rows, whose answer is streamed.

The figure is the memory that the server takes above what it had before the request, which must not grow with the
rows. There is no peer in this run.
"""

import argparse
import base64
import http.client
import json
import time
import urllib.parse

import limits
import measure
import selective

ROUNDS = 3
# MB above the memory from before the first list.
TARGET = 64
DESIGN = {
    "views": {"numbers": {"map": "function (doc) { emit(doc.number, doc.kind) }"}},
    "lists": {"lines": "function (head, req) { var row; start({headers: {'Content-Type': 'text/plain'}});"
                       " while (row = getRow()) send(row.key + ' ' + row.id + '\\n') }"},
}
LIST = "/bench/_design/d/_list/lines/numbers"


def load(run, count):
    run.request("PUT", "/bench")
    for first in range(0, count, selective.BATCH):
        docs = [{"_id": selective.identifier(number), "number": number, "kind": f"kind{number % 7}"}
                for number in range(first, min(first + selective.BATCH, count))]
        text = run.request("POST", "/bench/_bulk_docs", json.dumps({"docs": docs}).encode())
        if b'"error"' in text:
            raise SystemExit(f"not stored: {text[:300]}")
    run.request("PUT", "/bench/_design/d", json.dumps(DESIGN).encode())
    run.request("GET", "/bench/_design/d/_view/numbers?limit=1")


def streamed_lines(server):
    """Lines of the answer, read in pieces as a client would, and the largest memory meanwhile."""
    address = urllib.parse.urlparse(server.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)
    login = base64.b64encode(":".join(measure.ADMIN).encode()).decode()
    connection.request("GET", LIST, headers={"Authorization": f"Basic {login}"})
    answer, lines, most = connection.getresponse(), 0, 0
    while piece := answer.read(1 << 18):
        lines += piece.count(b"\n")
        most = max(most, server.memory())
    return lines, most


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--documents", type=int, default=1_000_000)
    options = parser.parse_args()
    results = measure.Results("lists")
    run = limits.Run(options, results)
    load(run, options.documents)
    # What loading left behind would hide what a list takes.
    run.restart()
    run.request("GET", LIST + "?limit=1")
    before, speeds, memories = run.server.memory(), [], []
    for _ in range(ROUNDS):
        start = time.monotonic()
        lines, most = streamed_lines(run.server)
        if lines != options.documents:
            raise SystemExit(f"{lines} rows of {options.documents}")
        speeds.append(lines / (time.monotonic() - start))
        memories.append((most - before) / 1e6)
    name = f"{options.documents} rows"
    results.add(f"{name}/speed", "varve", "rows/s", speeds)
    results.add(f"{name}/memory", "varve", "MB", memories)
    results.absolute(f"{name}/memory", "varve", TARGET)
    run.end()


if __name__ == "__main__":
    main()
