#!/usr/bin/env python3
"""selective.py: feeds that show 500 of a million changes, by a selector and by document ids.

The first feed with a selector looks at all changes and has an index built behind it; the feeds after that are the
figure. The indexed ones are each compared with the first answer. There is no peer: CouchDB looks at all changes each
time.
"""

import argparse
import json
import time

import limits
import measure

BATCH = 2000
RUNS = 21
# The longest that the second feed may take, in milliseconds.
TARGET = 50
SELECTOR = {"selector": {"kind": "chosen"}}
# All feeds begin with the path.
CHANGES = "/bench/_changes?"
COUNTER = b"varve_feed_changes_total "


def identifier(number):
    return f"doc{number:09d}"


def load(run, count, chosen):
    """Documents of some 110 bytes; so many of them, spread evenly, are of the kind that is asked for."""
    run.request("PUT", "/bench")
    step = count // chosen
    for first in range(0, count, BATCH):
        docs = []
        for number in range(first, min(first + BATCH, count)):
            doc = json.loads(limits.document(number))
            if number % step == 0:
                doc["kind"] = "chosen"
            docs.append(doc)
        text = run.request("POST", "/bench/_bulk_docs", json.dumps({"docs": docs}).encode())
        if b'"error"' in text:
            raise SystemExit(f"not stored: {text[:300]}")


def looked_at(run):
    """Changes that feeds have looked at since the server started."""
    lines = run.request("GET", "/_node/_local/_prometheus").splitlines()
    return next(int(line[len(COUNTER):]) for line in lines if line.startswith(COUNTER))


def feed(run, query, body):
    """The answer, the milliseconds that it took, and how many changes were looked at."""
    before = looked_at(run)
    start = time.monotonic()
    text = run.request("POST", CHANGES + query, json.dumps(body).encode())
    taken = (time.monotonic() - start) * 1000
    return text, taken, looked_at(run) - before


def repeated(run, results, name, query, body, expected):
    """Keeps how long a feed takes that looks at no more than it shows."""
    times = []
    for _ in range(RUNS):
        text, taken, count = feed(run, query, body)
        if text != expected:
            raise SystemExit(f"{name}: another answer")
        if count > expected.count(b'"id"'):
            raise SystemExit(f"{name}: {count} changes were looked at")
        times.append(taken)
    results.add(name, "varve", "ms", times)
    results.absolute(name, "varve", TARGET)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--chosen", type=int, default=500)
    options = parser.parse_args()
    results = measure.Results("selective")
    run = limits.Run(options, results)
    load(run, options.documents, options.chosen)
    name = f"{options.chosen} of {options.documents}"
    before = run.server.cpu()
    expected, taken, count = feed(run, "filter=_selector", SELECTOR)
    results.write(name=f"{name}/selector/first", subject="varve", unit="ms", median=round(taken, 3),
                  samples=1, looked_at=count)
    start = time.monotonic()
    while feed(run, "filter=_selector", SELECTOR)[2] > options.chosen:
        time.sleep(1)
    results.write(name=f"{name}/selector/index", subject="varve", unit="s, behind the first feed",
                  median=round(time.monotonic() - start, 1), samples=1,
                  cpu=round(run.server.cpu() - before, 1))
    repeated(run, results, f"{name}/selector", "filter=_selector", SELECTOR, expected)
    with_documents = "filter=_selector&include_docs=true"
    answer = feed(run, with_documents, SELECTOR)[0]
    repeated(run, results, f"{name}/selector with documents", with_documents, SELECTOR, answer)
    step = options.documents // options.chosen
    named = {"doc_ids": [identifier(number) for number in range(0, options.documents, step)]}
    answer = feed(run, "filter=_doc_ids", named)[0]
    # Where documents are named, "pending" counts also those that are left out, as with CouchDB.
    end = b',"pending":'
    if answer.split(end)[0] != expected.split(end)[0]:
        raise SystemExit("doc_ids: other changes")
    repeated(run, results, f"{name}/doc_ids", "filter=_doc_ids", named, answer)
    run.end()


if __name__ == "__main__":
    main()
