#!/usr/bin/env python3
"""shared.py: what commits into a shared store cost, against the same server with its databases on the local disk.

Run it beside a store of S3, such as `crates/testkit/ceph/with_ceph bench/shared.py`: that gives the variables of the
environment. Kinds of stores take turns; figures are medians of one run, and creations by the store itself take turns with writes.
"""

import argparse
import datetime
import hashlib
import hmac
import http.client
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse

import measure

SMALL = 300
WRITERS, BATCH, SECONDS = 64, 100, 8
TEXT = "x" * 200
# As long as the record of a commit of such a document.
RECORD = b"x" * 2700


def signed(method, url, body, extra):
    """Headers of a request to S3 by signature version 4 (AWS General Reference)."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    region, secret = os.environ["AWS_REGION"], os.environ["AWS_SECRET_ACCESS_KEY"]
    headers = {
        **extra,
        "host": url.netloc,
        "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
        "x-amz-date": now,
    }
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    canonical = "\n".join([method, url.path, "", lines, names, headers["x-amz-content-sha256"]])
    scope = f"{now[:8]}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in [now[:8], region, "s3", "aws4_request"]:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    credential = f"{os.environ['AWS_ACCESS_KEY_ID']}/{scope}"
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return headers


class Store:
    """The store itself, over one connection."""

    def __init__(self, bucket):
        self.endpoint = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"])
        self.bucket = bucket
        self.connection = http.client.HTTPConnection(self.endpoint.netloc)

    def create(self, body):
        url = self.endpoint._replace(path=f"/{self.bucket}/bench-{time.time_ns()}")
        headers = signed("PUT", url, body, {"if-none-match": "*"})
        self.connection.request("PUT", url.path, body, headers)
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"the store answered {answer.status}")


class Client:
    """One connection to a server."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc)
        login = measure.base64.b64encode(":".join(measure.ADMIN).encode()).decode()
        self.headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}

    def request(self, method, path, body=None):
        self.connection.request(method, path, body, self.headers)
        answer = self.connection.getresponse()
        answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status}")


def timed(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


def small_times(server, store):
    """Median seconds of creations by the store itself, of writes and of reads of small documents, taken in turns."""
    client, times = Client(server), {"creation": [], "write": [], "read": []}
    body = json.dumps({"text": TEXT}).encode()
    for number in range(SMALL):
        path = f"/small/doc-{number}"
        times["creation"].append(timed(lambda: store.create(RECORD)))
        times["write"].append(timed(lambda: client.request("PUT", path, body)))
        times["read"].append(timed(lambda: client.request("GET", path)))
    return {what: statistics.median(taken) for what, taken in times.items()}


def documents_per_second(server):
    """Batches of many writers at once for some seconds; a batch counts when it is acknowledged."""
    ends, counts = time.monotonic() + SECONDS, [0] * WRITERS
    body = json.dumps({"docs": [{"text": TEXT, "n": n} for n in range(BATCH)]}).encode()

    def write(writer):
        client = Client(server)
        while time.monotonic() < ends:
            client.request("POST", "/batches/_bulk_docs", body)
            counts[writer] += BATCH

    start = time.monotonic()
    threads = [threading.Thread(target=write, args=[writer]) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - start)


def serve(binary, directory, store):
    os.makedirs(directory)
    with open(os.path.join(directory, "varve.ini"), "w") as out:
        out.write("[admins]\n{} = {}\n".format(*measure.ADMIN))
    arguments = ["--shared", store] if store else []
    command = [binary, "serve", directory, "-p", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if "listening on " in line:
            server = measure.Server(process, line.split("listening on ")[1].split()[0].rstrip("/"))
            return server
    raise SystemExit("varve did not start")


def measure_kind(binary, kind, address, store, scratch):
    server = serve(binary, os.path.join(scratch, kind), address)
    try:
        client = Client(server)
        for database in ["small", "batches"]:
            client.request("PUT", f"/{database}")
        return {**small_times(server, store), "documents": documents_per_second(server)}
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--varve", default="target/release/varve")
    options = parser.parse_args()
    binary = os.path.abspath(options.varve)
    bucket = os.environ["VARVE_TEST_STORE"]
    scratch = tempfile.mkdtemp()
    try:
        stores = {
            "local disk": None,
            "file://": "file://" + os.path.join(scratch, "store"),
            "s3://": f"{bucket}/bench-{time.time_ns()}",
        }
        store = Store(bucket.removeprefix("s3://").split("/")[0])
        local = None
        for kind, address in stores.items():
            found = measure_kind(binary, kind.replace("/", "_"), address, store, scratch)
            local = local or found
            print(
                f"{kind}: creation by the store {found['creation'] * 1e3:.2f} ms, write {found['write'] * 1e3:.2f} ms, "
                f"read {found['read'] * 1e3:.2f} ms, {found['documents']:.0f} documents/s "
                f"({found['documents'] / local['documents']:.2f} of local)"
            )
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
