#!/usr/bin/env python3
"""logins.py: how long reads take beside logins that derive keys of 600,000 rounds.

Sixteen logins a second come with a password each that was not checked before. The figure is the ratio of the p99 of GET beside them
to that at rest, in turns. Then the CPU time of a read whose basic login was checked before, as a ratio to one without a login.
"""

import argparse
import base64
import http.client
import json
import threading
import time
import urllib.parse

import measure

LOGINS_PER_SECOND = 16
ROUNDS, REQUESTS = 5, 2000
WORST_RATIO, WORST_BASIC = 2.0, 1.5
SETTINGS = """[chttpd_auth]
iterations = 600000
[chttpd_auth_lockout]
mode = off
[limits]
logins_per_address = 64
"""
LOGIN = base64.b64encode(":".join(measure.ADMIN).encode()).decode()


def connect(server):
    url = urllib.parse.urlparse(server.url)
    return http.client.HTTPConnection(url.hostname, url.port, timeout=600)


def log_in(server, name):
    body = json.dumps({"name": measure.ADMIN[0], "password": f"guess {name}"})
    connection = connect(server)
    connection.request("POST", "/_session", body, {"Content-Type": "application/json"})
    connection.getresponse().read()
    connection.close()


class Logins:
    """Logs in again and again, sixteen times a second, until it is left."""

    def __init__(self, server):
        self.server, self.over, self.count = server, threading.Event(), 0

    def __enter__(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def run(self):
        running = []
        while not self.over.wait(1 / LOGINS_PER_SECOND):
            name = f"{id(self)} {self.count}"
            self.count += 1
            running.append(threading.Thread(target=log_in, args=(self.server, name)))
            running[-1].start()
        for thread in running:
            thread.join()


def p99_of_reads(server):
    connection, taken = connect(server), []
    headers = {"Authorization": f"Basic {LOGIN}"}
    for _ in range(REQUESTS):
        start = time.monotonic()
        connection.request("GET", "/db/doc", headers=headers)
        answer = connection.getresponse()
        answer.read()
        taken.append((time.monotonic() - start) * 1000)
        if answer.status != 200:
            raise SystemExit(f"GET: {answer.status}")
    return sorted(taken)[REQUESTS * 99 // 100]


def reads(server, headers):
    connection = connect(server)
    for _ in range(REQUESTS):
        connection.request("GET", "/db/doc", headers=headers)
        connection.getresponse().read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    options = parser.parse_args()
    results = measure.Results("logins")
    with measure.varve_with(SETTINGS, options.varve) as server:
        server.request("PUT", "/db")
        server.request("PUT", "/db/doc", b"{}")
        everyone = json.dumps({"members": {"names": [], "roles": []}}).encode()
        server.request("PUT", "/db/_security", everyone)
        p99_of_reads(server)
        ratios = []
        for _ in range(ROUNDS):
            rest = p99_of_reads(server)
            with Logins(server):
                beside = p99_of_reads(server)
            ratios.append(beside / rest)
        middle = sorted(ratios)[ROUNDS // 2]
        results.write(name="logins/read/p99", subject="beside logins against rest", unit="ratio",
                      median=round(middle, 3), range=[round(min(ratios), 3), round(max(ratios), 3)],
                      samples=ROUNDS, target=WORST_RATIO, met=middle <= WORST_RATIO)
        anonymous, _, _ = measure.sample(server, lambda: reads(server, {}))
        basic, _, _ = measure.sample(server, lambda: reads(server, {"Authorization": f"Basic {LOGIN}"}))
        ratio = round(basic / anonymous, 3)
        results.write(name="logins/basic", subject="checked before against none", unit="ratio of CPU",
                      median=ratio, target=WORST_BASIC, met=ratio <= WORST_BASIC)


if __name__ == "__main__":
    main()
