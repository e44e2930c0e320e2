#!/usr/bin/env python3
"""Runs a command in a checkout of each new changeset, and writes the result beside the changeset.

    ci.py http://ci:PASSWORD@127.0.0.1:5984 field-notes -- make test

The result is the document `NODE:build:NAME` of the repository's database. The sequence of the last changeset that was built is kept in
`_local/ci-NAME` there: the script goes on behind it. At its first start it waits for new changesets (`--all`: it begins with the first one).
"""

import argparse
import base64
import datetime
import json
import pathlib
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

LONGEST_TEXT = 4000


def database_name(repository):
    """The name that Varve gives to the database of a repository."""
    plain = b"abcdefghijklmnopqrstuvwxyz0123456789_()+-/"
    return "hg/" + "".join(chr(byte) if byte in plain else f"${byte:02x}" for byte in repository.encode())


class Database:
    """The database of a repository."""

    def __init__(self, server, repository):
        parts = urllib.parse.urlsplit(server)
        host = parts.netloc.rpartition("@")[2]
        self.server = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
        self.url = f"{self.server}/{urllib.parse.quote(database_name(repository), safe='')}"
        self.headers = {"content-type": "application/json"}
        if parts.username:
            login = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
            self.headers["authorization"] = "Basic " + base64.b64encode(login.encode()).decode()

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, self.headers, method=method)
        return urllib.request.urlopen(request)

    def get(self, path):
        """The document, or an empty one."""
        try:
            return json.load(self.request("GET", path))
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return {}

    def put(self, path, members):
        """Writes the members over those of the document that is there."""
        self.request("PUT", path, self.get(path) | members)

    def changes(self, since, feed):
        """Changesets that are new, each with its sequence; a continuous feed waits for more."""
        query = f"_changes?filter=_selector&include_docs=true&feed={feed}&heartbeat=10000&since={since}"
        with self.request("POST", query, {"selector": {"type": "changeset"}}) as lines:
            rows = lines if feed == "continuous" else json.load(lines)["results"]
            for row in rows:
                row = json.loads(row) if isinstance(row, bytes) and row.strip() else row
                if isinstance(row, dict) and "id" in row and not row.get("deleted"):
                    yield row["seq"], row["doc"]


def build(checkout, source, node, command):
    """Runs the command in a checkout of the changeset; returns its state and output."""
    if not (checkout / ".hg").is_dir():
        subprocess.run(["hg", "clone", "--quiet", "--noupdate", source, checkout], check=True)
    hg = ["hg", "--repository", checkout, "--quiet"]
    subprocess.run([*hg, "pull", "--rev", node, source], check=True)
    subprocess.run([*hg, "update", "--clean", "--rev", node], check=True)
    done = subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    return "passed" if done.returncode == 0 else "failed", text[-LONGEST_TEXT:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="URL, with a name and password that may write to the database")
    parser.add_argument("repository", help="its path below /hg/")
    parser.add_argument("command", nargs="+", help="runs in the checkout; 0 is success")
    parser.add_argument("--name", default="ci", help="tells several builds apart")
    parser.add_argument("--checkout", type=pathlib.Path, help="directory of the checkout; else a temporary one")
    parser.add_argument("--all", action="store_true", help="at the first start, begin with the first changeset")
    parser.add_argument("--once", action="store_true", help="stop when all changesets are done")
    given = parser.parse_args()
    database = Database(given.server, given.repository)
    checkpoint = f"_local/ci-{given.name}"
    since = database.get(checkpoint).get("seq", "0" if given.all else "now")
    source = f"{database.server}/hg/{given.repository}"
    with tempfile.TemporaryDirectory() as scratch:
        checkout = given.checkout or pathlib.Path(scratch) / "checkout"
        for seq, changeset in database.changes(since, "normal" if given.once else "continuous"):
            node = changeset["_id"]
            state, text = build(checkout, source, node, given.command)
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
            result = {"type": "build", "author": given.name, "date": now, "state": state, "text": text}
            database.put(f"{node}:build:{given.name}", result)
            database.put(checkpoint, {"seq": seq})
            print(node[:12], state, changeset["summary"], flush=True)


if __name__ == "__main__":
    main()
