#!/usr/bin/env python3
"""choices.py: what `varve bench` says of the corpora, kept.

Each report is made by the program itself, which measures in turns and verifies what it reads; here its measured cells
become lines of results/choices.jsonl. A cell's name is REPORT/TABLE/ROW/COLUMN. With --pages its page is kept, too.
"""

import argparse
import json
import os
import subprocess
import sys

import measure

# Compressions of the whole load; the others are told by the packages.
LOAD_CODECS = ["none", "snappy", "deflate_6", "zstd_3"]


def reports(options):
    """Yields the name of each report and the words of its command."""
    for given in options.repo:
        name, _, path = given.partition("=")
        yield f"repo-{name}", ["repo", path]
        yield f"bundle-{name}", ["bundle", path]
        yield f"stream-{name}", ["stream", path]
        yield f"stream-{name}-hg", ["stream", path, "--clients", "2", "--hg", options.hg]
        more = [f"--rhg={options.rhg}"] if options.rhg else []
        more += [word for words in options.commands for word in ("--only", words)]
        yield f"hg-{name}", ["hg", path, "--hg", options.hg, "--git", *more]
    for given in options.docs:
        name, _, path = given.partition("=")
        yield f"db-{name}", ["db", "--docs", path, "--sample", str(options.sample)]
    if options.load:
        codecs = [word for codec in LOAD_CODECS for word in ("--codec", codec)]
        yield "db-load", ["db", "--docs", options.load, "--sample", "551200", *codecs]


def measured(report):
    """Yields (name, unit, median, low, high, runs) of every number in a report's tables, but for the summary of others."""
    for table, content in report["tables"].items():
        if table == "summary":
            continue
        for row in content["rows"]:
            label = "/".join(str(cell) for cell in row.values() if isinstance(cell, str) and cell != "-")
            for column, cell in row.items():
                name = "/".join(part for part in (table, label, column) if part)
                unit = content["units"].get(column) or "number"
                if isinstance(cell, dict):
                    yield name, unit, cell["median"], cell["low"], cell["high"], len(cell["runs"])
                elif isinstance(cell, (int, float)) and not isinstance(cell, bool):
                    yield name, unit, cell, cell, cell, 1


def keep(results, name, words, options):
    """Makes one report, and keeps its numbers."""
    page = ["--html", os.path.join(options.pages, name + ".html")] if options.pages else []
    done = subprocess.run([options.varve, "bench", *words, "--json", *page], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"choices.py: varve bench {' '.join(words)} ended with {done.returncode}")
    for cell, unit, median, low, high, runs in measured(json.loads(done.stdout)):
        results.write(name=f"{name}/{cell}", subject="varve", unit=unit, median=median, range=[low, high], samples=runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--hg", default=os.environ.get("HG", "hg"))
    parser.add_argument("--rhg", metavar="PROGRAM", help="Mercurial's program in Rust (build it in rust/rhg of its sources)")
    parser.add_argument("--repo", action="append", default=[], metavar="NAME=DIRECTORY")
    parser.add_argument("--docs", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--sample", type=int, default=20_000, help="documents of each --docs")
    parser.add_argument("--load", metavar="FILE", help="documents of corpus/make_docs.py, one a line; all are loaded")
    parser.add_argument("--commands", action="append", default=[], metavar="WORDS", help="of the commands only those with these words")
    parser.add_argument("--pages", metavar="DIRECTORY", help="where the pages with plots are written")
    parser.add_argument("--only", action="append", metavar="WORDS", help="reports with these words in their names")
    options = parser.parse_args()
    if options.pages:
        os.makedirs(options.pages, exist_ok=True)
    results = measure.Results("choices")
    for name, words in reports(options):
        if not options.only or any(only in name for only in options.only):
            keep(results, name, words, options)


if __name__ == "__main__":
    main()
