#!/usr/bin/env python3
"""pages.py: pages of a repository, and the fill and the queries of its database.

Each page is asked for on a kept connection: made anew each time (`web.cache = no`), then as it is kept, then with its tag, which the server
confirms. Figures of requests per
second need `wrk`; without it they are left out, and that is said. There is no peer in this run: `hg serve` is measured by hand.
"""

import http.client
import json
import os
import re
import shutil
import subprocess
import time
import urllib.parse

import measure

ROUNDS, CALLS = 5, 9
# The connections and seconds of `wrk`.
CLIENTS, SECONDS = 16, 5
# Milliseconds of a page, and of a confirmed one.
PAGE, CONFIRMED = 50, 10
# Requests per second.
SHORTLOGS, FILES = 1500, 5000
# Seconds of a fill without and with counts of lines; share of the store that the database may take; milliseconds of a count.
FILL, FILL_WITH_LINES, SHARE, COUNT = 10, 45, 0.35, 10
BY_AUTHOR = "_design/history/_view/by_author"


def size_of(directory):
    """Bytes of all files below a directory."""
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(directory) for name in names)


class Site:
    """A served directory with one repository."""

    def __init__(self, options, repository, line_counts):
        self.directory = options.scratch
        shutil.rmtree(self.directory, ignore_errors=True)
        self.root = os.path.join(self.directory, "repos", "r")
        os.makedirs(os.path.dirname(self.root))
        env = dict(os.environ, HGRCPATH="", HGPLAIN="1")
        subprocess.run([options.hg, "clone", "-q", "-U", repository, self.root], check=True, env=env)
        with open(os.path.join(self.directory, "varve.ini"), "w") as out:
            out.write(f"[admins]\n{measure.ADMIN[0]} = {measure.ADMIN[1]}\n[history]\nline_counts = {line_counts}\n")
        self.start = time.monotonic()
        self.server = measure.varve(self.directory, os.path.abspath(options.varve))

    def fill(self):
        """Seconds from the start until the database has the names, which come last."""
        measure.await_fill(self.server)
        return time.monotonic() - self.start

    def compact(self):
        """Compacts the database, as the server does by itself some seconds after a fill."""
        self.server.request("POST", "/hg%2Fr/_compact", b"{}")
        while json.loads(self.server.request("GET", "/hg%2Fr"))["compact_running"]:
            time.sleep(0.05)

    def stop(self):
        self.server.stop()
        shutil.rmtree(self.directory)


class Client:
    """One kept connection without a login."""

    def __init__(self, url):
        address = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)

    def get(self, path, tag=None):
        """Status, tag and milliseconds until the whole answer is here."""
        began = time.monotonic()
        self.connection.request("GET", path, headers={"If-None-Match": tag} if tag else {})
        answer = self.connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get("ETag"), 1000 * (time.monotonic() - began)


def pages_of(server):
    """Addresses, one of each kind, about the newest changeset and a file that it changed."""
    changeset = json.loads(server.request("GET", "/hg/r/json-rev/tip"))
    present = [file["file"] for file in changeset["files"] if file["status"] != "removed"]
    path = urllib.parse.quote(present[0])
    kinds = ["", "shortlog", "log", "graph", "rev/tip", "file/tip", f"file/tip/{path}", f"annotate/tip/{path}", f"diff/tip/{path}",
             f"comparison/tip/{path}", f"log/tip/{path}", "tags", "branches", "bookmarks", "statistics", "log?rev=fix"]
    return kinds, path


def requests_per_second(url):
    command = ["wrk", "-t2", f"-c{CLIENTS}", f"-d{SECONDS}s", url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in said:
        raise SystemExit(f"refused: {said}")
    return float(re.search(r"Requests/sec:\s+([0-9.]+)", said)[1])


def fills(options, results, name, repository):
    for line_counts, words, target in [("no", "without lines", FILL), ("yes", "with lines", FILL_WITH_LINES)]:
        seconds, shares, counts = [], [], []
        for _ in range(3):
            site = Site(options, repository, line_counts)
            seconds.append(site.fill())
            site.compact()
            database = size_of(os.path.join(site.directory, "databases"))
            shares.append(database / size_of(os.path.join(site.root, ".hg", "store")))
            site.server.request("GET", f"/hg%2Fr/{BY_AUTHOR}")
            client = Client(site.server.url)
            times = [client.get(f"/hg%2Fr/{BY_AUTHOR}?group_level=1")[2] for _ in range(CALLS)]
            counts.append(sorted(times)[CALLS // 2])
            site.stop()
        results.add(f"{name}/fill {words}", "varve", "s", seconds)
        results.absolute(f"{name}/fill {words}", "varve", target)
        results.add(f"{name}/database of store, {words}", "varve", "ratio", shares)
        results.add(f"{name}/count by author, {words}", "varve", "ms", counts)
        results.absolute(f"{name}/count by author, {words}", "varve", COUNT)
        if line_counts == "no":
            results.absolute(f"{name}/database of store, {words}", "varve", SHARE)


def median_of(client, address, tag=None):
    """The middle of several answers, in milliseconds, and the page's tag."""
    answers = [client.get(address, tag) for _ in range(CALLS)]
    if any(status not in (200, 304) for status, _, _ in answers):
        raise SystemExit(f"{address}: {answers[0][0]}")
    return sorted(ms for _, _, ms in answers)[CALLS // 2], answers[0][1]


def made_pages(results, name, site, kinds):
    """Pages that are made for each request."""
    settings = os.path.join(site.root, ".hg", "hgrc")
    with open(settings, "w") as out:
        out.write("[web]\ncache = no\n")
    for kind, shown in kinds:
        made = [median_of(Client(site.server.url), f"/hg/r/{kind}")[0] for _ in range(ROUNDS)]
        results.add(f"{name}/{shown}, made", "varve", "ms", made)
        results.absolute(f"{name}/{shown}, made", "varve", PAGE)
    os.remove(settings)


def kept_pages(results, name, site, kinds):
    """Pages as they are kept, and confirmed."""
    for kind, shown in kinds:
        whole, confirmed = [], []
        for _ in range(ROUNDS):
            client = Client(site.server.url)
            milliseconds, tag = median_of(client, f"/hg/r/{kind}")
            whole.append(milliseconds)
            if tag:
                confirmed.append(median_of(client, f"/hg/r/{kind}", tag)[0])
        for what, values, target in [("", whole, PAGE), (", confirmed", confirmed, CONFIRMED)]:
            if values:
                results.add(f"{name}/{shown}{what}", "varve", "ms", values)
                results.absolute(f"{name}/{shown}{what}", "varve", target)


def pages(options, results, name, repository):
    site = Site(options, repository, "yes")
    site.fill()
    site.server.request("GET", f"/hg%2Fr/{BY_AUTHOR}")
    kinds, path = pages_of(site.server)
    kinds = [(kind, kind.replace(path, "FILE") or "summary") for kind in kinds]
    made_pages(results, name, site, kinds)
    # A repository that changed just now has no tags.
    time.sleep(2.1)
    kept_pages(results, name, site, kinds)
    if shutil.which("wrk"):
        for words, address, target in [("shortlog", "/hg/r/shortlog", SHORTLOGS), ("_file", f"/hg%2Fr/_file/{path}", FILES)]:
            rates = [requests_per_second(site.server.url + address) for _ in range(ROUNDS)]
            results.add(f"{name}/{words}, {CLIENTS} clients", "varve", "1/s", rates)
            results.absolute(f"{name}/{words}, {CLIENTS} clients", "varve", target, at_most=False)
    else:
        print("wrk is not on the PATH: no requests per second")
    site.stop()


def main():
    options = measure.repository_options(__doc__, "/dev/shm/varve-pages").parse_args()
    results = measure.Results("pages")
    for repo in options.repo:
        name, repository = repo.split("=", maxsplit=1)
        fills(options, results, name, repository)
        pages(options, results, name, repository)


if __name__ == "__main__":
    main()
