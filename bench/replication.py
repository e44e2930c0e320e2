#!/usr/bin/env python3
"""replication.py: Varve to Varve, over HTTP and within one server: documents of 1 KB, attachments of 1 MB, many jobs.

Documents come from corpus/make_docs.py. Every run goes into a new database. CPU time is that of all servers together; the load
of the machine at the start stands beside the figures, because they are wall times of a machine that may have other work.
"""

import argparse
import json
import os
import sys
import tempfile
import time

import measure

sys.path.insert(0, os.path.join(measure.HERE, "corpus"))
import make_docs  # noqa: E402

# Documents a second, or megabytes, that are to be reached.
TARGETS = {"http": 25_000, "local": 100_000, "attachments": 400}
# Megabytes of memory with 5,000 jobs of which 500 run.
JOBS_MEMORY = 500


def url(server, database):
    return server.url.replace("://", f"://{measure.ADMIN[0]}:{measure.ADMIN[1]}@") + "/" + database


def load(server, database, count):
    server.request("PUT", f"/{database}")
    bodies = make_docs.bodies(count, 1000)
    for body in bodies:
        server.request("POST", f"/{database}/_bulk_docs", body)


def attach(server, database, count):
    """Documents with an attachment of 1 MB each that does not compress."""
    server.request("PUT", f"/{database}")
    for number in range(count):
        path = f"/{database}/{number}/data"
        server.request("PUT", path, os.urandom(1 << 20), "application/octet-stream")


class Table:
    def __init__(self, options):
        self.options, self.results = options, measure.Results("replication")

    def runs(self, name, servers, source, target, amount, unit):
        """Measures replications into new databases: amount a second, and CPU time."""
        rates, used = [], []
        on = servers[-1]
        for number in range(self.options.samples):
            into = f"{name}-{number}".replace(" ", "-").replace("/", "-")
            request = {"source": url(source, "docs"), "target": url(target, into), "create_target": True}
            before, start = sum(server.cpu() for server in servers), time.monotonic()
            answer = json.loads(on.request("POST", "/_replicate", json.dumps(request).encode()))
            rates.append(amount / (time.monotonic() - start))
            used.append((sum(server.cpu() for server in servers) - before) / amount)
            if answer["history"][0]["doc_write_failures"] or answer["history"][0]["docs_written"] == 0:
                raise SystemExit(f"{name}: {answer}")
            target.request("DELETE", f"/{into}")
        load_average = os.getloadavg()[0]
        self.results.add(name, "varve", f"{unit}/s", rates)
        self.results.add(f"{name}/cpu", "varve", f"microseconds/{unit}", [1e6 * one for one in used])
        self.results.write(name=name, subject="load of the machine", unit="processes", median=round(load_average, 1))
        return name

    def documents(self, directory):
        here = measure.varve(os.path.join(directory, "here"), self.options.varve)
        there = measure.varve(os.path.join(directory, "there"), self.options.varve)
        try:
            load(here, "docs", self.options.count)
            name = self.runs("documents/http", [here, there], here, there, self.options.count, "document")
            self.results.absolute(name, "varve", TARGETS["http"], at_most=False)
            name = self.runs("documents/local", [here], here, here, self.options.count, "document")
            self.results.absolute(name, "varve", TARGETS["local"], at_most=False)
        finally:
            here.stop()
            there.stop()

    def attachments(self, directory):
        here = measure.varve(os.path.join(directory, "files"), self.options.varve)
        there = measure.varve(os.path.join(directory, "files-there"), self.options.varve)
        try:
            attach(here, "docs", self.options.attachments)
            for name, servers in [("attachments/http", [here, there]), ("attachments/local", [here])]:
                self.runs(name, servers, here, servers[-1], self.options.attachments, "MB")
                self.results.absolute(name, "varve", TARGETS["attachments"], at_most=False)
        finally:
            here.stop()
            there.stop()

    def jobs(self, directory):
        """Continuous jobs of which a tenth runs at a time: memory, and whether each has run."""
        settings = os.path.join(directory, "jobs")
        os.makedirs(settings)
        running, all_jobs = self.options.jobs // 10, self.options.jobs
        with open(os.path.join(settings, "varve.ini"), "w") as out:
            out.write(f"[admins]\n{measure.ADMIN[0]} = {measure.ADMIN[1]}\n"
                      f"[replicator]\nmax_jobs = {running}\nmax_churn = {running}\ninterval = 5000\n")
        server = measure.varve(settings, self.options.varve)
        other = measure.varve(os.path.join(directory, "sources"), self.options.varve)
        try:
            other.request("PUT", "/docs")
            other.request("POST", "/docs/_bulk_docs", b'{"docs":[{"_id":"one"}]}')
            server.request("PUT", "/into")
            # Each job has a selector of its own, or they would be one.
            docs = [{"_id": f"job{n:05}", "source": url(other, "docs"), "target": url(server, "into"), "continuous": True,
                     "selector": {"n": {"$ne": n}}} for n in range(all_jobs)]
            start = time.monotonic()
            server.request("POST", "/_replicator/_bulk_docs", json.dumps({"docs": docs}).encode())
            begun = 0
            while begun < all_jobs and time.monotonic() - start < self.options.jobs_limit:
                time.sleep(5)
                jobs = json.loads(server.request("GET", f"/_scheduler/jobs?limit={all_jobs}"))["jobs"]
                begun = sum(any(event["type"] == "started" for event in job["history"]) for job in jobs)
            took = time.monotonic() - start
            memory = server.peak_memory() / 1e6
        finally:
            server.stop()
            other.stop()
        name = f"jobs/{all_jobs} with {running} running"
        self.results.write(name=name, subject="jobs that ran", unit="jobs", median=begun, target=all_jobs,
                           met=begun == all_jobs)
        self.results.write(name=name, subject="until each ran", unit="s", median=round(took, 1))
        self.results.write(name=name, subject="peak memory", unit="MB", median=round(memory, 1), target=JOBS_MEMORY,
                           met=memory <= JOBS_MEMORY)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--count", type=int, default=200_000, help="documents")
    parser.add_argument("--attachments", type=int, default=1000, help="documents with attachments")
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--jobs-limit", type=int, default=300, help="seconds for all jobs to run once")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--only", choices=["documents", "attachments", "jobs"])
    options = parser.parse_args()
    table = Table(options)
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_TMP")) as directory:
        for part in ["documents", "attachments", "jobs"]:
            if options.only in (None, part):
                getattr(table, part)(directory)


if __name__ == "__main__":
    main()
