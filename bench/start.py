#!/usr/bin/env python3
"""start.py: time from starting `varve serve` to its first answer, with a full directory.

The directory holds 1,000 repositories (made by stock hg) and 1,000 databases.
"""

import argparse
import os
import shutil
import socket
import subprocess
import tempfile
import time

import measure


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fill(directory, hg, binary, count):
    repos = os.path.join(directory, "repos")
    os.makedirs(repos)
    first = os.path.join(repos, "r0")
    env = dict(os.environ, HGRCPATH="", HGPLAIN="1", HGUSER="bench")
    subprocess.run([hg, "init", first], check=True, env=env)
    with open(os.path.join(first, "file"), "w") as out:
        out.write("content\n")
    subprocess.run([hg, "-R", first, "commit", "-qAm", "first"], check=True, env=env)
    for n in range(1, count):
        shutil.copytree(first, os.path.join(repos, f"r{n}"))
    server = measure.varve(directory, binary)
    for n in range(count):
        server.request("PUT", f"/db{n}")
    server.stop()


def first_answer(directory, binary):
    """Milliseconds from exec to the first complete answer of GET /."""
    port = free_port()
    start = time.monotonic()
    process = subprocess.Popen([binary, "serve", directory, "-p", str(port)],
                               stdout=subprocess.DEVNULL)
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as link:
                link.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                if link.recv(15).startswith(b"HTTP/1.1 200"):
                    elapsed = time.monotonic() - start
                    break
        except ConnectionRefusedError:
            time.sleep(0.001)
    process.terminate()
    process.wait(30)
    return elapsed * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--hg", default=os.environ.get("HG", "hg"))
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    results = measure.Results("start")
    with tempfile.TemporaryDirectory() as temp:
        directory = os.path.join(temp, "served")
        fill(directory, options.hg, options.varve, options.count)
        values = [first_answer(directory, options.varve) for _ in range(5)]
    name = f"start/{options.count} repositories and {options.count} databases"
    results.add(name, "varve", "ms to first answer", values)
    results.absolute(name, "varve", 100)


if __name__ == "__main__":
    main()
