#!/usr/bin/env python3
"""access.py: what a user reads who sees 100 of a million documents, against a database that has only these.

Both databases were made with `access=true` and are of one server. Each question is asked in turns by a user who is no admin; both
answers must have the same rows. There is no peer: CouchDB has no access to single documents.
"""

import argparse
import base64
import json
import time
import urllib.request

import measure

BATCH = 2000
ROUNDS, CALLS = 5, 40
# Time in the small database by time in the large one: twice as long is taken as time for 100 and not for a million.
LEAST_RATIO = 0.5
USER, PASSWORD = "ann", "ann-password"
LOGIN = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
LARGE, SMALL = "large", "small"
VIEWS = {"_id": "_design/d", "views": {"levels": {"map": "function (doc) { emit(doc.level, doc.name); }", "reduce": "_sum"}}}
INDEX = {"index": {"fields": ["level"]}, "ddoc": "levels", "type": "json"}
FIND = {"selector": {"level": {"$gte": 0}}, "limit": 200, "use_index": "levels"}
QUESTIONS = {
    "_all_docs": ("_all_docs?include_docs=true", None),
    "_changes": ("_changes", None),
    "view": ("_design/d/_view/levels?reduce=false", None),
    "reduce": ("_design/d/_view/levels", None),
    "_find": ("_find", json.dumps(FIND).encode()),
}


def document(number, names):
    return {"_id": f"doc{number:09d}", "_access": names, "level": number % 100, "name": f"name {number}"}


def make(server, database, documents):
    server.request("PUT", f"/{database}?access=true")
    server.request("PUT", f"/{database}/_security", b'{"members":{"roles":[],"names":[]},"admins":{"roles":[],"names":[]}}')
    batch = []
    for doc in documents:
        batch.append(doc)
        if len(batch) == BATCH:
            store(server, database, batch)
            batch = []
    store(server, database, batch)
    store(server, database, [VIEWS])
    server.request("POST", f"/{database}/_index", json.dumps(INDEX).encode())


def store(server, database, docs):
    answer = server.request("POST", f"/{database}/_bulk_docs", json.dumps({"docs": docs}).encode())
    if b'"error"' in answer:
        raise SystemExit(f"not stored: {answer[:300]}")


def ask(server, database, question):
    path, body = question
    request = urllib.request.Request(f"{server.url}/{database}/{path}", body,
                                     {"Authorization": f"Basic {LOGIN}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=3600) as answer:
        return json.loads(answer.read())


def rows(answer):
    """What must be the same in both: sequences and bookmarks are not."""
    found = next(answer[key] for key in ("rows", "results", "docs") if key in answer)
    return [{key: row[key] for key in ("id", "key", "value", "changes", "doc", "level") if key in row} for row in found]


def compare(server, results, name, question):
    asked = {database: rows(ask(server, database, question)) for database in (LARGE, SMALL)}
    if asked[LARGE] != asked[SMALL]:
        raise SystemExit(f"{name}: {asked[LARGE][:3]} and {asked[SMALL][:3]}")
    times = {LARGE: [], SMALL: []}
    for _ in range(ROUNDS):
        for database, taken in times.items():
            start = time.monotonic()
            for _ in range(CALLS):
                ask(server, database, question)
            taken.append((time.monotonic() - start) / CALLS * 1000)
    for database, taken in times.items():
        results.add(name, database, "ms", taken)
    results.ratio(name, LARGE, SMALL, LEAST_RATIO, higher_is_better=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--chosen", type=int, default=100)
    options = parser.parse_args()
    results = measure.Results("access")
    step = options.documents // options.chosen
    with measure.varve_with("", options.varve) as server:
        user = {"_id": f"org.couchdb.user:{USER}", "name": USER, "password": PASSWORD, "roles": [], "type": "user"}
        server.request("PUT", f"/_users/{user['_id']}", json.dumps(user).encode())
        own = range(0, step * options.chosen, step)
        make(server, LARGE, (document(number, [USER] if number in own else [f"user{number % 5000}"])
                             for number in range(options.documents)))
        make(server, SMALL, (document(number, [USER]) for number in own))
        for name, question in QUESTIONS.items():
            compare(server, results, f"{options.chosen} of {options.documents}/{name}", question)


if __name__ == "__main__":
    main()
