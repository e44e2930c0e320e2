#!/usr/bin/env python3
"""packages.py FILE: the package records of Debian bookworm as JSON, one a line.

A record's fields become members in lower case; lists of packages become arrays. The index changes with each point
release of Debian, so its SHA-256 is printed: figures of two days compare only if it is the same.
"""

import argparse
import hashlib
import json
import lzma
import os
import urllib.request

INDEX = "https://deb.debian.org/debian/dists/bookworm/main/binary-amd64/Packages.xz"
NUMBERS = {"size", "installed-size"}
LISTS = {"depends", "recommends", "suggests", "conflicts", "breaks", "replaces", "provides", "tag"}


def records(text):
    """Yields the records; a line that begins with a blank goes on with the field before."""
    for paragraph in text.split("\n\n"):
        fields = {}
        for line in paragraph.splitlines():
            if line.startswith((" ", "\t")):
                fields[name] += "\n" + line.strip()
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if fields:
            yield fields


def document(fields):
    """The document of one record; a package's name is its id."""
    made = {"_id": fields["Package"]}
    for name, value in fields.items():
        name = name.lower()
        if name in NUMBERS:
            made[name] = int(value)
        elif name in LISTS:
            made[name] = [item.strip() for item in value.split(",")]
        else:
            made[name] = value
    return made


def write(path):
    """Fetches the index and writes the documents, each name once."""
    with urllib.request.urlopen(INDEX, timeout=300) as answer:
        packed = answer.read()
    seen = {}
    for fields in records(lzma.decompress(packed).decode()):
        seen.setdefault(fields["Package"], fields)
    with open(path + ".part", "w") as out:
        for fields in seen.values():
            out.write(json.dumps(document(fields), ensure_ascii=False, separators=(",", ":")) + "\n")
    os.replace(path + ".part", path)
    print(f"{len(seen)} records, sha256 {hashlib.sha256(packed).hexdigest()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    write(parser.parse_args().file)


if __name__ == "__main__":
    main()
