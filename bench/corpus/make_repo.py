#!/usr/bin/env python3
"""make_repo.py SIZE DIRECTORY: a deterministic Mercurial repository with real content.

SIZE is small (some 400 commits), medium (some 5,000) or large (some 30,000 commits, more than
10,000 files). The history is written as one changegroup bundle, which stock `hg` (found as $HG, or
`hg`) then unbundles, so the store is entirely the work of stock Mercurial. Equal input gives equal
changeset hashes; the tip is printed. `--config` is passed on to hg, to make other store variants.
"""

import argparse
import hashlib
import os
import struct
import subprocess
import sys
import tempfile

import history
import releases

NULL = b"\0" * 20


def node(text, p1, p2):
    return hashlib.sha1(min(p1, p2) + max(p1, p2) + text).digest()


class Offsets:
    """Prefix sums of line lengths (a Fenwick tree), to find a line's place in the manifest."""

    def __init__(self, size):
        self.tree = [0] * (size + 1)

    def add(self, i, amount):
        i += 1
        while i < len(self.tree):
            self.tree[i] += amount
            i += i & -i

    def before(self, i):
        total = 0
        while i:
            total += self.tree[i]
            i -= i & -i
        return total


class Manifest:
    """The manifest written last, and the chunks written so far."""

    def __init__(self, paths, out):
        self.index = {path: i for i, path in enumerate(paths)}
        self.paths = paths
        self.lines = [b""] * len(paths)
        self.offsets = Offsets(len(paths))
        self.out = out

    def write(self, changed, p1, p2, linknode):
        """Writes the manifest in which the lines of `changed` (path: line or b"") differ."""
        hunks = []
        for path in sorted(changed):
            i = self.index[path]
            old, new = self.lines[i], changed[path]
            if old != new:
                start = self.offsets.before(i)
                if hunks and hunks[-1][1] == start:  # neighbours must be one hunk
                    hunks[-1] = [hunks[-1][0], start + len(old), hunks[-1][2] + new]
                else:
                    hunks.append([start, start + len(old), new])
        for path, new in changed.items():
            i = self.index[path]
            self.offsets.add(i, len(new) - len(self.lines[i]))
            self.lines[i] = new
        made = node(b"".join(self.lines), p1, p2)
        # The caller learns the changeset's node only from the manifest's, so it fills linknode in.
        delta = b"".join(struct.pack(">lll", a, b, len(new)) + new for a, b, new in hunks)
        self.out.append((made, p1, p2, linknode, delta))
        return made


class Line:
    """One line of development: its last changeset and what its manifest says."""

    def __init__(self, other=None):
        self.changeset = other.changeset if other else NULL
        self.manifest = other.manifest if other else NULL
        self.entries = dict(other.entries) if other else {}


class Writer:
    def __init__(self, paths, spool):
        self.manifests = []
        self.manifest = Manifest(paths, self.manifests)
        self.changesets = []
        self.files = {}
        self.shown = {}  # entries of the manifest written last
        self.spool = spool

    def file_revision(self, path, content, parent, copy):
        text = content
        if copy:
            text = b"\1\ncopy: %s\ncopyrev: %s\n\1\n" % (copy[0], copy[1].hex().encode()) + text
        elif text.startswith(b"\1\n"):
            text = b"\1\n\1\n" + text
        made = node(text, parent, NULL)
        revisions = self.files.setdefault(path, {})
        if made not in revisions:
            at = self.spool.seek(0, 2)
            self.spool.write(text)
            revisions[made] = [parent, None, at, len(text)]
        return made

    def commit(self, line, step, second=None):
        """Makes one changeset on `line`; `second` is merged into it."""
        fresh = []
        for path, content in step.changes.items():
            if content is None:
                line.entries.pop(path, None)
                continue
            mode, body = content
            old = line.entries.get(path)
            source = step.copies.get(path)
            copy = (source, self.source_node(line, step, source)) if source else None
            made = self.file_revision(path, body, old[0] if old and not copy else NULL, copy)
            line.entries[path] = (made, mode)
            fresh.append((path, made))
        p1, p2, m2 = line.changeset, NULL, NULL
        if second:
            p2, m2 = second.changeset, second.manifest
            line.entries.update(second.changed)
            for path in second.removed:
                line.entries.pop(path, None)
        changed = {}
        for path in self.differing(line.entries):
            entry = line.entries.get(path)
            changed[path] = (
                b"%s\0%s%s\n" % (path, entry[0].hex().encode(), entry[1].encode()) if entry else b""
            )
        manifest = self.manifest.write(changed, line.manifest, m2, None)
        self.shown = dict(line.entries) if second else self.shown
        text = self.changeset_text(manifest, step)
        made = node(text, p1, p2)
        self.manifests[-1] = (*self.manifests[-1][:3], made, self.manifests[-1][4])
        self.changesets.append((made, p1, p2, made, text))
        for path, revision in fresh:
            self.files[path][revision][1] = self.files[path][revision][1] or made
        line.changeset, line.manifest = made, manifest

    def source_node(self, line, step, source):
        return self.before[source][0] if source in self.before else line.entries[source][0]

    def differing(self, entries):
        """Paths whose entry differs from the manifest written last; updates what was written."""
        shown = self.shown
        out = [p for p in self.touched if shown.get(p) != entries.get(p)]
        for path in out:
            if path in entries:
                shown[path] = entries[path]
            else:
                shown.pop(path, None)
        return out

    @staticmethod
    def changeset_text(manifest, step):
        files = b"\n".join(sorted(step.changes))
        extra = b"" if step.branch == "default" else b" branch:" + step.branch.encode()
        head = b"%s\n%s\n%d 0%s\n" % (
            manifest.hex().encode(), step.user.encode(), step.date, extra)
        return head + (files + b"\n" if files else b"") + b"\n" + step.message.encode()

    def run(self, all_steps):
        """Commits everything; see history.FORK_EVERY for the shape."""
        main, pending = Line(), []
        self.before, self.touched = {}, set()
        for number, (version, step) in enumerate(all_steps):
            pending.append(step)
            if number % history.FORK_EVERY == 0 and len(pending) >= 2 * history.FORK_LENGTH:
                self.straight(main, pending[: -2 * history.FORK_LENGTH])
                self.fork(main, pending[-2 * history.FORK_LENGTH :], version)
                pending = []
        self.straight(main, pending)
        return main.changeset

    def straight(self, line, steps):
        for step in steps:
            self.before = {s: line.entries[s] for s in step.copies.values() if s in line.entries}
            self.touched = set(step.changes)
            self.commit(line, step)

    def fork(self, main, steps, version):
        """Two lines from here, merged again; only if they touch different files."""
        left, right = steps[: len(steps) // 2], steps[len(steps) // 2 :]
        mine = {p for s in left for p in s.changes} | {p for s in left for p in s.copies.values()}
        theirs = {p for s in right for p in s.changes} | {p for s in right for p in s.copies.values()}
        if mine & theirs:
            self.straight(main, steps)
            return
        other = Line(main)
        both = mine | theirs
        for line, run in ((main, left), (other, right)):
            for step in run:
                step.branch = "default" if line is main else f"work-{version}"
                self.before = {
                    s: line.entries[s] for s in step.copies.values() if s in line.entries}
                self.touched = both
                self.commit(line, step)
        other.changed = {p: other.entries[p] for p in theirs if p in other.entries}
        other.removed = [p for p in theirs if p not in other.entries]
        last = steps[-1]
        merge = history.Step({}, {}, f"Merge work for {version}", last.user, last.date + 60)
        self.touched = both
        self.commit(main, merge, other)


def chunk(out, data):
    out.write(struct.pack(">l", len(data) + 4) + data)


def group(out, revisions):
    """One changegroup-1 group; deltas are against the revision before (or null)."""
    for made, p1, p2, link, delta in revisions:
        chunk(out, made + p1 + p2 + link + delta)
    out.write(b"\0\0\0\0")


def replacing(texts):
    """Deltas that replace the whole previous text; hg finds better ones itself."""
    before = 0
    for made, p1, p2, link, text in texts:
        yield made, p1, p2, link, struct.pack(">lll", 0, before, len(text)) + text
        before = len(text)


def write_bundle(writer, path):
    with open(path, "wb") as out:
        out.write(b"HG10UN")
        group(out, replacing(writer.changesets))
        group(out, first_against_parent(writer.manifests))
        for name in sorted(writer.files):
            chunk(out, name)
            texts = []
            for made, (parent, link, at, length) in writer.files[name].items():
                writer.spool.seek(at)
                texts.append((made, parent, NULL, link, writer.spool.read(length)))
            group(out, replacing(texts))
        out.write(b"\0\0\0\0")


def first_against_parent(manifests):
    """Drops manifests that an earlier changeset already has (a merge that changed nothing)."""
    seen = set()
    for entry in manifests:
        if entry[0] in seen:
            raise SystemExit("a manifest occurs twice")
        seen.add(entry[0])
        yield entry


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("size", choices=sorted(releases.SIZES))
    parser.add_argument("directory")
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/varve-corpus"))
    parser.add_argument("--config", action="append", default=[], metavar="SECTION.NAME=VALUE")
    options = parser.parse_args()
    hg = os.environ.get("HG", "hg")
    fetched = list(releases.fetch(options.size, options.cache))
    paths = sorted({path for _, files in fetched for path in files})
    with tempfile.TemporaryDirectory() as temp:
        with open(os.path.join(temp, "spool"), "w+b") as spool:
            writer = Writer(paths, spool)
            tip = writer.run(history.steps(fetched, releases.SIZES[options.size]["commits"]))
            bundle = os.path.join(temp, "history.hg")
            write_bundle(writer, bundle)
        settings = [word for value in options.config for word in ("--config", value)]
        env = dict(os.environ, HGRCPATH="", HGPLAIN="1")
        subprocess.run([hg, "init", options.directory, *settings], check=True, env=env)
        # The bundle's deltas replace whole files; hg is to find its own, as in a grown repository.
        settings += ["--config", "storage.revlog.reuse-external-delta=no"]
        unbundle = [hg, "-R", options.directory, "unbundle", "-q", bundle, *settings]
        subprocess.run(unbundle, check=True, env=env)
    merges = sum(1 for c in writer.changesets if c[2] != NULL)
    print(f"{len(writer.changesets)} changesets, {merges} merges, {len(writer.files)} files, "
          f"tip {tip.hex()}", file=sys.stderr)


if __name__ == "__main__":
    main()
