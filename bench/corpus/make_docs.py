#!/usr/bin/env python3
"""make_docs.py [--count N] [--batch B | --lines]: deterministic JSON documents of about 1 KB.

Prints one `_bulk_docs` body per line, or with --lines one document. Document k depends on the seed and k alone, so any slice can
be made on its own (--start). The mixture is that of a telemetry store: short texts from a small
vocabulary, enumerations, coordinates, and measured numbers that do not compress.
"""

import argparse
import json
import random
import sys

KINDS = ["station", "sensor", "reading", "alert", "route", "vehicle", "stop", "region"]
CATEGORIES = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu".split()
VOCABULARY = (
    "lake layer silt clay summer winter thaw pollen core drill depth count sample light dark "
    "spring flood delta shore basin ice melt grain sand varve year annual record drift storm "
    "river mouth bottom quiet water season band sediment"
).split()


def words(rng, count):
    return " ".join(rng.choice(VOCABULARY) for _ in range(count))


def document(k, seed):
    rng = random.Random(seed * 1_000_003 + k)
    return {
        "_id": f"doc{k:09d}",
        "name": f"{words(rng, 2)} {k}",
        "type": rng.choice(KINDS),
        "category": rng.choice(CATEGORIES),
        "level": rng.randrange(100),
        "ratio": round(rng.random(), 6),
        "active": rng.random() < 0.5,
        "created": 1_300_000_000 + k * 7,
        "nested": {
            "coords": [
                [round(rng.uniform(-180, 180), 8), round(rng.uniform(-90, 90), 8)]
                for _ in range(5)
            ],
            "dict": {
                "integers": [rng.randrange(10_000) for _ in range(6)],
                "note": words(rng, 10),
            },
        },
        "data": [round(rng.uniform(0, 1000), 7) for _ in range(24)],
        "strings": [words(rng, 6) for _ in range(5)],
        "hash": f"{rng.getrandbits(128):032x}",
    }


def bodies(count, batch, start=0, seed=2026):
    """Yields `_bulk_docs` bodies as bytes."""
    for first in range(start, start + count, batch):
        last = min(first + batch, start + count)
        docs = [document(k, seed) for k in range(first, last)]
        yield json.dumps({"docs": docs}, separators=(",", ":")).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=551_200)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--lines", action="store_true", help="documents instead of bodies")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, default=2026)
    options = parser.parse_args()
    if options.lines:
        for k in range(options.start, options.start + options.count):
            line = json.dumps(document(k, options.seed), separators=(",", ":"))
            sys.stdout.write(line + "\n")
        return
    for body in bodies(options.count, options.batch, options.start, options.seed):
        sys.stdout.buffer.write(body + b"\n")


if __name__ == "__main__":
    main()
