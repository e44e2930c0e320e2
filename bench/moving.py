#!/usr/bin/env python3
"""moving.py: importing a .couch file and a server, exporting, loading: documents/s, CPU per document, peak memory.

Needs a .couch file of 1 KB documents, which a test writes:

    VARVE_IMPORT_SPEED=1000000 VARVE_IMPORT_FILE=/tmp/moved.couch \\
        cargo test --release -p varve-replicate --test main speed
    bench/moving.py --couch /tmp/moved.couch
"""

import argparse
import os
import re
import subprocess
import tempfile
import time

import measure


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--couch", required=True)
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
        name = "moving/import of a .couch file"
        add(results, name, runs(["import", options.couch, files], files))
        # 100,000/s on a pair of cores are 20 us of CPU for each document.
        results.absolute(f"{name}, CPU", "varve", 20)
        results.absolute(f"{name}, memory", "varve", 300)
        add(results, "moving/export", runs(["export", lines, files], lines))
        add(results, "moving/load", runs(["load", lines, loaded], loaded))
        subprocess.run(["rm", "-rf", lines, loaded], check=True)
        server = measure.varve(files, options.varve)
        url = server.url.replace("//", f"//{':'.join(measure.ADMIN)}@")
        database = os.path.basename(options.couch).removesuffix(".couch")
        words = ["import", url, copied, "--db", database]
        add(results, "moving/import of a server", runs(words, copied))
        add(results, "moving/import of a server again", runs(words))
        server.stop()


if __name__ == "__main__":
    main()
