#!/usr/bin/env python3
"""views.py: building indexes and asking them, against CouchDB 3.5's figures (couchdb.py).

Documents come from corpus/make_docs.py: 1 KB each. Every build starts without an index file, and is
over when its first row is answered. Rows of single requests need `wrk`; without it they are left out,
and that is said.
"""

import argparse
import json
import shutil
import statistics
import sys
import threading
import urllib.error

import databases
import make_docs
import measure

import couchdb

# What takes words apart, with functions inside and regular expressions.
WORDS = r"""function (doc) {
  var normalize = function (text) { return text.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, ''); };
  var add = function (word) { if (word.length > 3) emit([normalize(word), doc.type], 1); };
  if (/^[a-z]/.test(doc.type)) { doc.name.split(/\W+/).forEach(add); doc.strings[0].split(/\W+/).forEach(add); }
  ENGINE
}"""
# The JavaScript engine runs what makes an array of a length, or looks at its whole document so.
FUNCTIONS = {
    "compiled": "function(doc){emit([doc.type, doc.category, doc.level, doc.ratio], doc.nested.coords)}",
    "engine": "function(doc){emit([doc.type, doc.category, doc.level, doc.ratio], doc.nested.coords); new Array(1)}",
    "stats": "function(doc){emit([doc.type, doc.category], doc.level)}",
    "words": WORDS.replace("ENGINE", ""),
    "words in the engine": WORDS.replace("ENGINE", "new Array(doc);"),
}
FIND = {"selector": {"type": "alert", "level": {"$gt": 95}}, "limit": 25}
# Nothing is built or compacted but what is asked for.
SETTINGS = "[ken]\nbatch_channels = 0\n[smoosh]\nview_channels =\ndb_channels =\n"

# Times better than CouchDB.
TARGETS = {
    "view/compiled/wall": 30, "view/compiled/cpu": 40, "view/engine/wall": 10, "view/engine/cpu": 10,
    "view/stats/wall": 30, "view/stats/cpu": 30, "view/file compacted": 1.25,
    "view/limit=1": 12, "view/key": 12, "view/group": 50, "find": 50,
}


class Views(databases.Round):
    """A server with a loaded database."""

    def __init__(self, options, figures):
        super().__init__(options, figures, SETTINGS)
        bodies = make_docs.bodies(options.count, 1000)
        self.figures = {}
        self.load(bodies, 1000, 4, "bench")
        self.figures = figures

    def info_of(self, design):
        return json.loads(self.server.request("GET", f"/bench/_design/{design}/_info"))["view_index"]

    def design(self, name, views):
        """Writes a design document in the place of what was there; no index file is left."""
        path = f"/bench/_design/{name}"
        try:
            old = json.loads(self.server.request("GET", path))
            self.server.request("DELETE", f"{path}?rev={old['_rev']}")
        except urllib.error.HTTPError:
            pass
        self.server.request("POST", "/bench/_view_cleanup", b"")
        self.server.request("PUT", path, json.dumps({"views": views}).encode())

    def build(self, name, reduce=None):
        view = {"map": FUNCTIONS[name], **({"reduce": reduce} if reduce else {})}
        design = name.replace(" ", "_")
        self.design(design, {"v": view})
        before = self.server.cpu()
        question = f"/bench/_design/{design}/_view/v?limit=1&reduce=false"
        self.note(f"view/{name}/wall", self.fetch(question))
        self.note(f"view/{name}/cpu", self.server.cpu() - before)
        if (self.info_of(design)["compiled"] == ["v"]) == name.endswith("engine"):
            raise SystemExit(f"{name} did not run as it should")

    def compact(self):
        """The sizes of the index of `compiled` before and after its compaction."""
        built = self.info_of("compiled")["sizes"]["file"]
        self.server.request("POST", "/bench/_compact/compiled", b"")
        while self.info_of("compiled")["compact_running"]:
            pass
        compacted = self.info_of("compiled")["sizes"]["file"]
        self.note("view/file compacted", compacted / 1e6)
        self.note("view/file built", built / compacted)

    def update(self):
        """Changes one document of a hundred, then asks; in percent of the whole build's time."""
        changed = range(0, self.options.count, 100)
        keys = json.dumps({"keys": [make_docs.document(number, 2026)["_id"] for number in changed]}).encode()
        rows = json.loads(self.server.request("POST", "/bench/_all_docs?include_docs=true", keys))["rows"]
        documents = [{**row["doc"], "level": row["doc"]["level"] + 1} for row in rows]
        self.server.request("POST", "/bench/_bulk_docs", json.dumps({"docs": documents}).encode())
        seconds = self.fetch("/bench/_design/compiled/_view/v?limit=1")
        self.note("view/update", 100 * seconds / statistics.median(self.figures["view/compiled/wall"]))

    def reads_while_building(self):
        """Single documents are read while indexes are built, one after the other."""
        over = threading.Event()

        def build():
            number = 0
            while not over.is_set():
                number += 1
                name = f"beside{number % 2}"
                self.design(name, {"v": {"map": f"{FUNCTIONS['compiled']} // {number}"}})
                self.fetch(f"/bench/_design/{name}/_view/v?limit=1")

        self.requests("get at rest", "get", p99=True)
        thread = threading.Thread(target=build)
        thread.start()
        try:
            self.requests("get while building", "get", p99=True)
        finally:
            over.set()
            thread.join()

    def queries(self):
        self.requests("view/limit=1", "query", "_design/compiled/_view/v?limit=1")
        key = "_design/stats/_view/v?reduce=false&limit=1&key=%5B%22alert%22,%22beta%22%5D"
        self.requests("view/key", "query", key)
        self.requests("view/group", "query", "_design/stats/_view/v?group=true")
        index = {"index": {"fields": ["type", "level"]}, "ddoc": "found"}
        self.server.request("POST", "/bench/_index", json.dumps(index).encode())
        self.server.request("POST", "/bench/_find", json.dumps(FIND).encode())
        self.requests("find", "find", json.dumps(FIND))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()
    results, figures = measure.Results("views"), {}
    views = Views(options, figures)
    has_wrk = shutil.which("wrk")
    for _ in range(3):
        views.build("compiled")
        views.build("engine")
        views.build("stats", "_stats")
        views.build("words")
        views.build("words in the engine")
        views.update()
        if has_wrk:
            views.queries()
            views.reads_while_building()
        views.build("compiled")
        views.compact()
    views.end()
    if not has_wrk:
        print("views.py: wrk is not on the PATH: no single requests", file=sys.stderr)
    at_rest, building = figures.pop("get at rest/p99", None), figures.pop("get while building/p99", None)
    if has_wrk:
        results.add("get while building", "p99 at rest", "ms", at_rest)
        results.add("get while building", "p99", "ms", building)
        results.ratio("get while building", "p99 at rest", "p99", 0.5)
    results.add("view/update", "varve", "percent of the build", figures.pop("view/update"))
    results.absolute("view/update", "varve", 3)
    results.add("view/file built", "varve", "times the compacted file", figures.pop("view/file built"))
    results.absolute("view/file built", "varve", 1.2)
    for kind, unit in [("wall", "seconds"), ("cpu", "CPU seconds")]:
        for name in ["words", "words in the engine"]:
            results.add(f"view/words/{kind}", name, unit, figures.pop(f"view/{name}/{kind}"))
        results.ratio(f"view/words/{kind}", "words", "words in the engine", 1.5, higher_is_better=False)
    if options.count != 100_000:
        print("views.py: CouchDB's figures are those of 100,000 documents", file=sys.stderr)
    for work, target in TARGETS.items():
        if work in figures:
            couchdb.compare(results, f"{work}", figures[work], target)


if __name__ == "__main__":
    main()
