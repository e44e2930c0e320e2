#!/usr/bin/env python3
"""pushes.py: what a repository's database costs a push, and how soon it shows one.

Stock `hg` pushes the newest 100 changesets to a server with and one without databases, in turns; a reader of `_changes` waits for them meanwhile.
"""

import http.client
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.parse

import measure

ROUNDS, PUSHED = 5, 100
# Milliseconds after the end of a push within which all of it is shown; how many times longer a push may take.
SHOWN, SLOWER = 200, 1.05


class Reader(threading.Thread):
    """Reads `_changes` until so many changesets were shown, and keeps the time."""

    def __init__(self, url, since, wanted):
        super().__init__()
        address = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=120)
        self.connection.request("GET", f"/hg%2Fr/_changes?feed=continuous&since={since}&timeout=60000")
        self.wanted, self.done = wanted, None
        self.start()

    def run(self):
        answer, seen = self.connection.getresponse(), 0
        while seen < self.wanted:
            line = answer.readline()
            if not line:
                return
            # Documents of names have a slash; those of changesets are nodes.
            seen += bool(line.strip()) and "/" not in json.loads(line).get("id", "/")
        self.done = time.monotonic()


class Rounds:
    """Two copies of a repository: one without its newest changesets, which is served, and a whole one, from which they are pushed."""

    def __init__(self, options, repository):
        self.options = options
        self.env = dict(os.environ, HGRCPATH="", HGPLAIN="1")
        shutil.rmtree(options.scratch, ignore_errors=True)
        os.makedirs(options.scratch)
        self.whole, self.older = (os.path.join(options.scratch, name) for name in ("whole", "older"))
        self.hg("clone", "-q", "-U", repository, self.whole)
        self.hg("clone", "-q", "-U", repository, self.older)
        strip = ["--config", "extensions.strip=", "strip", "-q", "--no-backup"]
        self.hg(*strip, "-R", self.older, "-r", f"-{PUSHED}:")
        with open(os.path.join(self.older, ".hg", "hgrc"), "w") as out:
            out.write("[web]\npush_ssl = no\nallow-push = *\n")

    def hg(self, *words):
        done = subprocess.run([self.options.hg, *words], check=True, env=self.env, capture_output=True, text=True)
        return done.stdout

    def push(self, databases):
        """Seconds of a push, and milliseconds until all of it was shown if there is a database."""
        directory = os.path.join(self.options.scratch, "served")
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(self.older, os.path.join(directory, "repos", "r"))
        with open(os.path.join(directory, "varve.ini"), "w") as out:
            out.write(f"[admins]\n{measure.ADMIN[0]} = {measure.ADMIN[1]}\n[history]\ndatabases = {databases}\n")
        server = measure.varve(directory, os.path.abspath(self.options.varve))
        reader = Reader(server.url, filled(server), PUSHED) if databases == "true" else None
        address = urllib.parse.urlsplit(server.url)
        login = ":".join(measure.ADMIN)
        began = time.monotonic()
        self.hg("push", "-q", "-f", "-R", self.whole, f"http://{login}@{address.netloc}/hg/r")
        ended, shown = time.monotonic(), None
        if reader:
            reader.join()
            if not reader.done:
                raise SystemExit("the feed ended before it had shown the push")
            shown = max(0, 1000 * (reader.done - ended))
        server.stop()
        return ended - began, shown


def filled(server):
    """Waits for the first fill, and gives the sequence after it."""
    measure.await_fill(server)
    return json.loads(server.request("GET", "/hg%2Fr"))["update_seq"]


def main():
    options = measure.repository_options(__doc__, "/dev/shm/varve-pushes").parse_args()
    results = measure.Results("pushes")
    for repo in options.repo:
        name, repository = repo.split("=", maxsplit=1)
        rounds, taken, delays = Rounds(options, repository), {"true": [], "false": []}, []
        for number in range(ROUNDS + 1):
            for databases in sorted(taken, reverse=number % 2 == 1):
                seconds, shown = rounds.push(databases)
                if number:  # the first round warms up
                    taken[databases].append(seconds)
                    delays.extend([shown] if shown is not None else [])
        results.add(f"{name}/push of {PUSHED}", "with a database", "s", taken["true"])
        results.add(f"{name}/push of {PUSHED}", "without", "s", taken["false"])
        results.ratio(f"{name}/push of {PUSHED}", "with a database", "without", 1 / SLOWER, higher_is_better=False)
        results.add(f"{name}/shown after a push of {PUSHED}", "varve", "ms", delays)
        results.absolute(f"{name}/shown after a push of {PUSHED}", "varve", SHOWN)
        shutil.rmtree(options.scratch)


if __name__ == "__main__":
    main()
