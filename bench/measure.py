"""What the measuring scripts share: servers with their CPU time, medians, and kept results.

CPU seconds are those of the server process with all its threads and reaped children, read from
/proc in clock ticks (usually 10 ms), so a sample repeats its work until it is many ticks long.
"""

import argparse
import base64
import contextlib
import datetime
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TICKS = os.sysconf("SC_CLK_TCK")
ADMIN = ("bench", "bench-password")


class Server:
    """A running server process."""

    def __init__(self, process, url):
        self.process, self.url = process, url

    def cpu(self):
        """CPU seconds so far: user and system, own and reaped children's."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(") ")[2].split()
        return sum(int(field) for field in fields[11:15]) / TICKS

    def peak_memory(self):
        """Largest resident size so far, in bytes."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) * 1024

    def memory(self):
        """Resident size now, in bytes."""
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)

    def request(self, method, path, body=None, content_type="application/json"):
        """One request as admin; gives the body."""
        login = base64.b64encode(":".join(ADMIN).encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Content-Type": content_type}
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=600) as answer:
            return answer.read()


def repository_options(about, scratch):
    """A parser for scripts that serve repositories; `scratch` is where they do by default."""
    parser = argparse.ArgumentParser(description=about.split("\n", maxsplit=1)[0])
    parser.add_argument("--varve", default="target/release/varve")
    parser.add_argument("--hg", default="hg")
    parser.add_argument("--scratch", default=scratch, help="directory that is made and removed")
    parser.add_argument("--repo", action="append", required=True, metavar="NAME=PATH")
    return parser


def await_fill(server):
    """Waits until the database of the repository `r` has the names, which come last in its first fill."""
    while True:
        try:
            rows = json.loads(server.request("GET", "/hg%2Fr/_all_docs?startkey=%22branch/%22&limit=1"))["rows"]
        except urllib.error.HTTPError:
            rows = []
        if rows and rows[0]["id"].startswith("branch/"):
            return
        time.sleep(0.02)


@contextlib.contextmanager
def varve_with(settings, binary):
    """A server of a new directory with these settings beside the admin, gone at the end."""
    directory = tempfile.mkdtemp()
    with open(os.path.join(directory, "varve.ini"), "w") as out:
        out.write(f"[admins]\n{ADMIN[0]} = {ADMIN[1]}\n{settings}")
    server = varve(directory, os.path.abspath(binary))
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()
        shutil.rmtree(directory)


def varve(directory, binary):
    """Starts `varve serve` on a free port."""
    os.makedirs(directory, exist_ok=True)
    settings = os.path.join(directory, "varve.ini")
    if not os.path.exists(settings):
        with open(settings, "w") as out:
            out.write(f"[admins]\n{ADMIN[0]} = {ADMIN[1]}\n")
    command = [binary, "serve", directory, "-p", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        match = re.search(r"listening on (http://\S+)", line)
        if match:
            return Server(process, match[1].rstrip("/"))
    raise SystemExit("varve did not start")


def hg_serve(hg, repository):
    """Starts `hg serve` for one repository on a free port."""
    env = dict(os.environ, HGRCPATH="", HGPLAIN="1")
    command = [hg, "-R", repository, "serve", "-p", "0", "-a", "127.0.0.1", "--print-url"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    url = process.stdout.readline().strip()
    return Server(process, url.rstrip("/"))


def hg_version(hg):
    out = subprocess.run([hg, "version", "-q"], capture_output=True, text=True, check=True).stdout
    return "hg " + re.search(r"version ([0-9.]+)", out)[1]


def sample(server, work, at_least=0.3):
    """Repeats `work` until the server used `at_least` CPU seconds, at most 200 times.

    Gives (CPU seconds per call, wall seconds per call, what the last call gave).
    """
    work()  # warm caches, unmeasured
    before, start, calls = server.cpu(), time.monotonic(), 0
    while True:
        result = work()
        calls += 1
        used = server.cpu() - before
        if used >= at_least or calls >= 200:
            return max(used, 1 / TICKS) / calls, (time.monotonic() - start) / calls, result


class Results:
    """Collects measurements and appends them to bench/results/NAME.jsonl."""

    def __init__(self, name):
        self.path = os.path.join(HERE, "results", name + ".jsonl")
        head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE,
                              capture_output=True, text=True)
        self.common = {
            "commit": head.stdout.strip(),
            "date": datetime.date.today().isoformat(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        }
        self.medians = {}

    def add(self, name, subject, unit, values):
        """Keeps and prints one measurement: the median and range of at least three values."""
        if len(values) < 3:
            raise ValueError("a median of fewer than three says nothing")
        median = statistics.median(values)
        self.medians[name, subject] = median
        self.write(name=name, subject=subject, unit=unit, median=round(median, 6),
                   range=[round(min(values), 6), round(max(values), 6)], samples=len(values))

    def ratio(self, name, ours, theirs, target, higher_is_better=True):
        """Keeps and prints how two subjects compare, with the target."""
        a, b = self.medians[name, ours], self.medians[name, theirs]
        value = a / b if higher_is_better else b / a
        self.write(name=name, subject=f"{ours} against {theirs}", unit="ratio",
                   median=round(value, 3), target=target, met=value >= target)

    def absolute(self, name, subject, target, at_most=True):
        """Keeps and prints how a median compares with a fixed figure."""
        value = self.medians[name, subject]
        met = value <= target if at_most else value >= target
        self.write(name=name, subject=subject, unit="target", median=round(value, 6),
                   target=target, met=met)

    def write(self, **fields):
        line = json.dumps({**fields, **self.common})
        print(line, flush=True)
        with open(self.path, "a") as out:
            out.write(line + "\n")
