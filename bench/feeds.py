#!/usr/bin/env python3
"""feeds.py: the memory of 10,000 open feeds, and how soon all of them see one write.

Half of the feeds are longpoll, half continuous, all of one database, over a connection each. Memory is the resident size above that
of the idle server; the time runs from before the write until the last feed has its line.
"""

import argparse
import base64
import resource
import selectors
import socket
import time
import urllib.parse

import measure

FEEDS = 10_000
ROUNDS = 5
MOST_MEMORY, MOST_SECONDS = 400 << 20, 1.0
# For the writer and what else the processes have open.
OTHER_FILES = 50
SETTINGS = """[chttpd]
max_connections = 20000
[limits]
connections_per_address = 20000
reads = 20000
"""
LOGIN = base64.b64encode(":".join(measure.ADMIN).encode()).decode()


def head_of(kind):
    path = f"/db/_changes?feed={kind}&since=now&heartbeat=60000"
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Basic {LOGIN}\r\n\r\n".encode()


class Feed:
    """One feed over a connection of its own."""

    def __init__(self, address, kind):
        self.kind, self.text = kind, b""
        self.socket = socket.create_connection(address)
        self.ask()

    def ask(self):
        self.socket.setblocking(True)
        self.socket.sendall(head_of(self.kind))
        first = b"" if self.kind == "continuous" else b'{"results":['
        while b"\r\n\r\n" not in self.text or first not in self.text:
            self.text += self.socket.recv(4096)
        if not self.text.startswith(b"HTTP/1.1 200"):
            raise SystemExit(self.text.decode())
        self.text = b""
        self.socket.setblocking(False)

    def read(self, ending):
        """Whether the feed has come to `ending`, a marker in its bytes."""
        self.text += self.socket.recv(65536)
        return ending in self.text


def seconds_until_seen(server, feeds, number):
    """Writes one document, and waits until all feeds have told of it and longpolls have ended."""
    waiting = selectors.EpollSelector()
    for feed in feeds:
        feed.text = b""
        waiting.register(feed.socket, selectors.EVENT_READ, feed)
    left = len(feeds)
    start = time.monotonic()
    server.request("PUT", f"/db/news{number}", b"{}")
    line = b'"id":"news%d"' % number
    while left:
        for key, _ in waiting.select(60):
            feed = key.data
            if feed.read(line):
                waiting.unregister(feed.socket)
                left -= 1
    taken = time.monotonic() - start
    for feed in feeds:
        if feed.kind == "longpoll":
            feed.socket.setblocking(True)
            while not feed.text.endswith(b"0\r\n\r\n"):
                feed.text += feed.socket.recv(4096)
            feed.text = b""
            feed.ask()
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # A server gives clients half of its descriptors.
    count = min(FEEDS, most // 2 - OTHER_FILES)
    results = measure.Results("feeds")
    with measure.varve_with(SETTINGS, options.varve) as server:
        server.request("PUT", "/db")
        server.request("PUT", "/db/first", b"{}")
        idle = server.memory()
        url = urllib.parse.urlparse(server.url)
        address = (url.hostname, url.port)
        feeds = [Feed(address, ["longpoll", "continuous"][n % 2]) for n in range(count)]
        before = server.cpu()
        seen = [seconds_until_seen(server, feeds, number) for number in range(ROUNDS)]
        # With the requests that open the longpolls again.
        used = (server.cpu() - before) / ROUNDS
        grown = server.memory() - idle
        results.write(name="feeds/memory", subject="varve", unit="bytes above idle", median=grown,
                      target=MOST_MEMORY, met=grown <= MOST_MEMORY, feeds=count)
        results.write(name="feeds/cpu", subject="varve", unit="CPU s for each write", median=round(used, 3),
                      feeds=count)
        slowest = sorted(seen)[len(seen) // 2]
        results.write(name="feeds/seen", subject="varve", unit="s", median=round(slowest, 3),
                      range=[round(min(seen), 3), round(max(seen), 3)], samples=len(seen),
                      target=MOST_SECONDS, met=slowest <= MOST_SECONDS, feeds=count)


if __name__ == "__main__":
    main()
