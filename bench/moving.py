#!/usr/bin/env python3
"""moving.py: importing a .couch file and a server, exporting, loading: documents/s, CPU per document, peak memory.

Needs a .couch file of 1 KB documents, which a test writes:

    VARVE_IMPORT_SPEED=1000000 VARVE_IMPORT_FILE=/tmp/moved.couch \\
        cargo test --release -p varve-replicate --test main speed
    bench/moving.py --couch /tmp/moved.couch

With `--server COUNT` instead, a server gets so many documents over HTTP, and only the import of that server is measured.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import measure

sys.path.insert(0, os.path.join(measure.HERE, "corpus"))
import make_docs  # noqa: E402


class Move:
    """One command that has ended."""

    def __init__(self, words):
        start = time.monotonic()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True,
                                   env=dict(os.environ, HGRCPATH=""))
        self.printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{words} ended with {process.returncode}:\n{self.printed}")
        self.seconds = time.monotonic() - start
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss * 1024

    def documents(self):
        """Documents of all databases, as the last row of the table has them."""
        row = re.search(r"^\d+ databases +(\d+)", self.printed, re.M)
        return int(row[1])


def add(results, name, moves):
    """Keeps speed, CPU and memory of three runs or more."""
    count = moves[0].documents()
    results.add(name, "varve", "documents/s", [count / move.seconds for move in moves])
    results.add(f"{name}, CPU", "varve", "us per document",
                [move.cpu / count * 1e6 for move in moves])
    results.add(f"{name}, memory", "varve", "MB at most", [move.memory / 1e6 for move in moves])


def import_server(results, runs, server, database, copied):
    """A server whose database is copied from its beginning, and once more when nothing is new."""
    url = server.url.replace("//", f"//{':'.join(measure.ADMIN)}@")
    words = ["import", url, copied, "--db", database]
    before = server.cpu()
    moves = runs(words, copied)
    used = (server.cpu() - before) / len(moves)
    name = "moving/import of a server"
    add(results, name, moves)
    count = moves[0].documents()
    results.write(name=f"{name}, CPU of the source", subject="varve", unit="us per document",
                  median=round(used / count * 1e6, 2))
    results.write(name=f"{name}, documents", subject="varve", unit="documents", median=count)
    add(results, f"{name} again", runs(words))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--couch", help="a .couch file")
    what.add_argument("--server", type=int, metavar="COUNT", help="documents of a server")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    results = measure.Results("moving")
    with tempfile.TemporaryDirectory() as temp:
        def runs(words, *places):
            """Runs a command that makes `places`, so often; those of the last run stay."""
            moves = []
            for _ in range(options.runs):
                for place in places:
                    subprocess.run(["rm", "-rf", place], check=True)
                moves.append(Move([options.varve, *words]))
            return moves

        files, lines, loaded, copied = (
            os.path.join(temp, name) for name in ("files", "lines", "loaded", "copied"))
        if options.server:
            server = measure.varve(files, options.varve)
            try:
                server.request("PUT", "/docs")
                for body in make_docs.bodies(options.server, 2000):
                    server.request("POST", "/docs/_bulk_docs", body)
                import_server(results, runs, server, "docs", copied)
            finally:
                server.stop()
            return
        name = "moving/import of a .couch file"
        add(results, name, runs(["import", options.couch, files], files))
        # 100,000/s on a pair of cores are 20 us of CPU for each document.
        results.absolute(f"{name}, CPU", "varve", 20)
        results.absolute(f"{name}, memory", "varve", 300)
        add(results, "moving/export", runs(["export", lines, files], lines))
        add(results, "moving/load", runs(["load", lines, loaded], loaded))
        subprocess.run(["rm", "-rf", lines, loaded], check=True)
        server = measure.varve(files, options.varve)
        database = os.path.basename(options.couch).removesuffix(".couch")
        import_server(results, runs, server, database, copied)
        server.stop()


if __name__ == "__main__":
    main()
