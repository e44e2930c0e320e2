"""Splits release-to-release changes into many small commits, always the same ones.

A change of a release is the set of files that were added, changed, removed or renamed (same
content under another name). Files of one directory go together, at most as many per commit as the
wanted number of commits allows. From time to time two neighbouring runs of commits are put on two
lines of development and merged, so that the history has branches.
"""

import hashlib
from dataclasses import dataclass, field

AUTHORS = [
    "Ada Brook <ada@example.org>",
    "Ben Ōta <ben@example.org>",
    "Chloé Dubois <chloe@example.org>",
    "Dmitri Volkov <dmitri@example.org>",
    "Esi Mensah <esi@example.org>",
    "Farid Haddad <farid@example.org>",
    "Greta Lindqvist <greta@example.org>",
]
VERBS = "Add Adjust Clarify Correct Extend Fix Move Polish Refactor Remove Simplify Update".split()

# Every FORK_EVERY commits, FORK_LENGTH commits are put on each of two lines.
FORK_EVERY, FORK_LENGTH = 40, 5


@dataclass
class Step:
    """One commit to make. `changes` maps path to (mode, bytes), or None for a removal."""

    changes: dict
    copies: dict = field(default_factory=dict)
    message: str = ""
    user: str = ""
    date: int = 0
    branch: str = "default"


def changed_files(old, new):
    """Sorted list of (path, content or None, copied from or None)."""
    removed = {p for p in old if p not in new}
    by_content = {}
    for path in sorted(removed):
        if len(old[path][1]) > 64:
            by_content.setdefault(old[path], path)
    out = [(path, None, None) for path in removed]
    for path, content in sorted(new.items()):
        if old.get(path) != content:
            source = by_content.pop(content, None) if path not in old else None
            out.append((path, content, source))
    return sorted(out)


def grouped(changes, most, depth):
    """Cuts changes into runs of at most `most` files that share the first `depth` directories."""
    sources = {source for _, _, source in changes if source}
    run, directory = [], None
    for path, content, source in changes:
        if content is None and path in sources:
            continue  # a rename is one change
        here = path.split(b"/")[:-1][:depth]
        if run and (here != directory or len(run) >= most):
            yield run
            run = []
        directory = here
        run.append((path, content, source))
    if run:
        yield run


# From single files to whole trees: the first that gives few enough commits is taken.
GRAINS = [(most, depth) for depth, top in ((9, 9), (4, 17), (2, 65), (0, 4000))
          for most in range(1, top)]


def steps(releases, commits):
    """Yields (version, Step) for a history with about `commits` commits."""
    changes, old = [], {}
    for version, files in releases:
        changes.append((version, changed_files(old, files)))
        old = files
    for most, depth in GRAINS:
        if sum(1 for _, c in changes for _ in grouped(c, most, depth)) <= commits:
            break
    number = 0
    for version, change in changes:
        for run in grouped(change, most, depth):
            yield version, make_step(run, version, number)
            number += 1


def make_step(run, version, number):
    step = Step({})
    for path, content, source in run:
        step.changes[path] = content
        if source:
            step.copies[path] = source
            step.changes.setdefault(source, None)
    seed = int.from_bytes(hashlib.sha256(b"%d" % number).digest()[:8], "big")
    first = run[0][0].decode("utf-8", "replace")
    directory = first.rpartition("/")[0] or "the top folder"
    step.message = f"{VERBS[seed % len(VERBS)]} {first.rpartition('/')[2]} in {directory}"
    if len(run) > 1:
        others = "\n".join("  " + p.decode("utf-8", "replace") for p, _, _ in run)
        step.message += f" and {len(run) - 1} more\n\nFor release {version}:\n{others}"
    step.user = AUTHORS[seed // 100 % len(AUTHORS)]
    step.date = 1220000000 + number * 9000 + seed % 7000
    return step
