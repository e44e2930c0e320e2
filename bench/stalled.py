#!/usr/bin/env python3
"""stalled.py: how long requests take while thousands of clients stall, against the same server at rest.

5,000 clients ask for long answers and read nothing, half of them without a login; 2,000 wait for an index
that takes minutes. The figures are ratios of p99 in one run: reads, writes, `cmd=heads`, and small clones.
"""

import argparse
import base64
import http.client
import json
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse

import measure

STALLED, WAITING = 5000, 2000
REQUESTS, CLONES = 2000, 60
LONG, DOCUMENTS = 8 << 20, 4096
RECEIVE_BUFFER = 4096
# p99 with the crowd may be this many times that at rest.
WORST_RATIO = 2.0
MOST_THREADS, MOST_MEMORY = 64, 1 << 30

SETTINGS = """[ken]
batch_channels = 0
[views]
compile = false
[fabric]
request_timeout = infinity
[limits]
write_timeout = 600
"""
SLOW_MAP = "function (doc) { var end = Date.now() + 1000; while (Date.now() < end); emit(doc._id) }"
ANSWERS = [
    "/long/_all_docs?include_docs=true",
    "/long/_changes?include_docs=true",
    "/long/_design/d/_view/all",
    "/long/data/data",
    "/hg/big?cmd=stream_out",
    "/hg/big?cmd=getbundle&cg=1&bundlecaps=HG20%2Cbundle2%3DHG20%250Achangegroup%253D02",
]
LOGIN = base64.b64encode(":".join(measure.ADMIN).encode()).decode()


def program(options, directory, *arguments):
    env = dict(os.environ, HGRCPATH="", HGPLAIN="1", HGUSER="ada")
    subprocess.run([options.varve, *arguments], cwd=directory, env=env, check=True,
                   stdout=subprocess.DEVNULL)


def make_repository(options, path, length):
    os.makedirs(path)
    program(options, path, "init")
    with open(os.path.join(path, "data.bin"), "wb") as out:
        out.write(os.urandom(length))
    program(options, path, "commit", "-A", "-m", "first")


def fill(server):
    everyone = json.dumps({"members": {"names": [], "roles": []}}).encode()
    for database in ["long", "slow", "short"]:
        server.request("PUT", f"/{database}")
        server.request("PUT", f"/{database}/_security", everyone)
    docs = [{"_id": f"a{n}", "text": os.urandom(LONG // 2 // DOCUMENTS).hex()} for n in range(DOCUMENTS)]
    server.request("POST", "/long/_bulk_docs", json.dumps({"docs": docs}).encode())
    design = {"views": {"all": {"map": "function (doc) { emit(doc._id, doc.text) }"}}}
    server.request("PUT", "/long/_design/d", json.dumps(design).encode())
    server.request("GET", "/long/_design/d/_view/all?limit=1")
    server.request("PUT", "/long/data/data", os.urandom(LONG))
    docs = [{"_id": f"s{n}"} for n in range(2000)]
    server.request("POST", "/slow/_bulk_docs", json.dumps({"docs": docs}).encode())
    design = {"views": {"v": {"map": SLOW_MAP}}}
    server.request("PUT", "/slow/_design/s", json.dumps(design).encode())


class Crowd:
    """Clients that hold a connection each."""

    def __init__(self, address):
        self.address, self.sockets = address, []

    def send(self, path, has_login):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        client.connect(self.address)
        login = f"authorization: Basic {LOGIN}\r\n" if has_login else ""
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n{login}\r\n".encode())
        self.sockets.append(client)
        return client

    def stall(self):
        stalled = [self.send(ANSWERS[n // 2 % len(ANSWERS)], n % 2) for n in range(STALLED)]
        for n, client in enumerate(stalled):
            if client.recv(12, socket.MSG_WAITALL) != b"HTTP/1.1 200":
                path = ANSWERS[n // 2 % len(ANSWERS)]
                raise SystemExit(f"{path} was refused: {client.recv(RECEIVE_BUFFER)}")

    def wait_for_index(self):
        for n in range(WAITING):
            self.send("/slow/_design/s/_view/v", n % 2)


def p99(taken):
    return sorted(taken)[len(taken) * 99 // 100]


def timed(work, count):
    taken = []
    for n in range(count):
        start = time.monotonic()
        work(n)
        taken.append((time.monotonic() - start) * 1000)
    return taken


def request(connection, method, path, body=None):
    headers = {"Authorization": f"Basic {LOGIN}", "Content-Type": "application/json"}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    answer.read()
    if answer.status >= 300:
        raise SystemExit(f"{method} {path}: {answer.status}")


def round_of(options, server, directory, name):
    """p99 of each kind of request, in ms."""
    address = urllib.parse.urlparse(server.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)
    kinds = {
        "read": (REQUESTS, lambda n: request(connection, "GET", f"/long/a{n % DOCUMENTS}")),
        "write": (REQUESTS, lambda n: request(connection, "PUT", f"/short/{name}{n}", b"{}")),
        "heads": (REQUESTS, lambda n: request(connection, "GET", "/hg/small?cmd=heads")),
        "clone": (CLONES, lambda n: program(options, directory, "clone", server.url + "/hg/small",
                                            f"{name}{n}")),
    }
    return {kind: p99(timed(work, count)) for kind, (count, work) in kinds.items()}


def threads(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    options = parser.parse_args()
    options.varve = os.path.abspath(options.varve)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    results = measure.Results("stalled")
    directory = tempfile.mkdtemp()
    served = os.path.join(directory, "served")
    for name, length in [("big", LONG), ("small", 1000)]:
        make_repository(options, os.path.join(served, "repos", name), length)
    with open(os.path.join(served, "varve.ini"), "w") as out:
        out.write(f"[admins]\n{measure.ADMIN[0]} = {measure.ADMIN[1]}\n{SETTINGS}")
    server = measure.varve(served, options.varve)
    try:
        measure_server(options, server, directory, results)
    finally:
        server.process.kill()
        server.process.wait()
        shutil.rmtree(directory)


def measure_server(options, server, directory, results):
    fill(server)
    address = urllib.parse.urlparse(server.url)
    crowd = Crowd((address.hostname, address.port))
    round_of(options, server, directory, "warm")
    rest = round_of(options, server, directory, "rest")
    crowd.wait_for_index()
    crowd.stall()
    stalled = round_of(options, server, directory, "stalled")
    for kind, value in stalled.items():
        results.write(name=f"stalled/{kind}/p99", subject="varve", unit="ms", median=round(value, 3),
                      at_rest=round(rest[kind], 3), samples=CLONES if kind == "clone" else REQUESTS)
        ratio = round(value / rest[kind], 3)
        results.write(name=f"stalled/{kind}/p99", subject="stalled against rest", unit="ratio",
                      median=ratio, target=WORST_RATIO, met=ratio <= WORST_RATIO)
    for name, value, target in [("threads", threads(server), MOST_THREADS),
                                ("memory", server.peak_memory(), MOST_MEMORY)]:
        results.write(name=f"stalled/{name}", subject="varve", unit="target", median=value,
                      target=target, met=value <= target)


if __name__ == "__main__":
    main()
