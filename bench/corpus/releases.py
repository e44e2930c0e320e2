"""Fetches source releases of a package and gives their files.

The package index is the one that pip uses on this machine (PIP_INDEX_URL or pip's own default), so
that a mirror works without a change here. Every archive is checked against the index's SHA-256 and
kept in a cache directory.
"""

import hashlib
import html
import os
import re
import tarfile
import urllib.parse
import urllib.request

PACKAGE = "Django"  # BSD-3-Clause

# Feature releases, oldest first. Later sizes contain the earlier ones' content and more.
SIZES = {
    "small": {"commits": 400, "releases": ["1.4", "1.5"]},
    "medium": {"commits": 5000, "releases": ["1.4", "1.6", "1.8", "1.10", "1.11", "2.0"]},
    "large": {
        "commits": 30000,
        "releases": (
            "1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11 2.0 2.1 2.2 3.0 3.1 3.2 "
            "4.0 4.1 4.2 5.0 5.1 5.2"
        ).split(),
    },
}


def index_url():
    """Address of the simple index that pip would ask."""
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    from pip._internal.models.index import PyPI

    return PyPI.simple_url


def open_url(url, accept="*/*"):
    request = urllib.request.Request(url, headers={"Accept": accept})
    return urllib.request.urlopen(request, timeout=120)


def source_archives(package):
    """Maps version to (url, sha256) of its .tar.gz."""
    url = index_url().rstrip("/") + "/" + package.lower() + "/"
    with open_url(url, "text/html") as answer:
        listing = answer.read().decode()
    found = {}
    for link in re.findall(r'href="([^"]+)"', listing):
        address, _, digest = html.unescape(link).partition("#sha256=")
        name = urllib.parse.unquote(address.rpartition("/")[2])
        match = re.fullmatch(rf"{package}-([0-9.]+)\.tar\.gz", name, re.I)
        if match and digest:
            found[match[1]] = (urllib.parse.urljoin(url, address), digest)
    return found


def fetch(size, cache):
    """Yields (version, {path: (mode, bytes)}) for each release of a size, oldest first.

    mode is "", "x" or "l" as in a Mercurial manifest; for "l" the bytes are the link's target.
    """
    os.makedirs(cache, exist_ok=True)
    archives = None
    for version in SIZES[size]["releases"]:
        path = os.path.join(cache, f"{PACKAGE}-{version}.tar.gz")
        if not os.path.exists(path):
            archives = archives or source_archives(PACKAGE)
            url, sha256 = archives[version]
            with open_url(url) as answer:
                body = answer.read()
            got = hashlib.sha256(body).hexdigest()
            if got != sha256:
                raise SystemExit(f"{url} has SHA-256 {got}, the index says {sha256}")
            with open(path + ".part", "wb") as out:
                out.write(body)
            os.rename(path + ".part", path)
        yield version, unpack(path)


def unpack(path):
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            name = member.name.split("/", 1)[-1].encode("utf-8", "surrogateescape")
            if member.isfile():
                mode = "x" if member.mode & 0o100 else ""
                files[name] = (mode, archive.extractfile(member).read())
            elif member.issym():
                files[name] = ("l", member.linkname.encode())
    return {n: f for n, f in files.items() if b"\n" not in n and b"\r" not in n}
