"""Figures of CouchDB 3.5.0, which is on no package registry: recorded once on a quiet machine of two
cores and 24 GiB, one shard, snappy. docs/benchmarks.md says how.
"""

# Work: figure, its unit, and whether more is better.
FIGURES = {
    "load/1x1000": (9430, "documents/s", True),
    "load/4x1000": (10570, "documents/s", True),
    "load/1x100": (9720, "documents/s", True),
    "load/4x100": (11940, "documents/s", True),
    "load/1x1000/cpu": (104, "CPU microseconds per document", False),
    "load/4x1000/cpu": (158, "CPU microseconds per document", False),
    "load/1x100/cpu": (158, "CPU microseconds per document", False),
    "load/4x100/cpu": (138, "CPU microseconds per document", False),
    "load/1x1000/memory": (133, "MB, peak resident", False),
    "load/4x1000/memory": (192, "MB, peak resident", False),
    "get": (3120, "requests/s", True),
    "get/p99": (11.1, "ms", False),
    "put": (1640, "requests/s", True),
    "put/p99": (15.9, "ms", False),
    "all_docs/20 with documents": (783, "requests/s", True),
    "changes/100": (453, "requests/s", True),
    "all_docs with documents": (4.7, "seconds", False),
    "changes with documents": (5.9, "seconds", False),
    "compaction": (9.2, "seconds", False),
    "compaction/file": (98.4, "MB", False),
    "view/compiled/wall": (32.7, "seconds", False),
    "view/compiled/cpu": (57.3, "CPU seconds", False),
    "view/engine/wall": (32.7, "seconds", False),
    "view/engine/cpu": (57.3, "CPU seconds", False),
    "view/stats/wall": (28.0, "seconds", False),
    "view/stats/cpu": (38.3, "CPU seconds", False),
    "view/file compacted": (16.5, "MB", False),
    "view/limit=1": (2270, "requests/s", True),
    # Of a single row too.
    "view/key": (2270, "requests/s", True),
    "view/group": (102, "requests/s", True),
    "find": (88, "requests/s", True),
    "replicate/push/cpu": (1.3, "CPU seconds", False),
    "replicate/pull/cpu": (1.24, "CPU seconds", False),
}


def compare(results, work, values, times):
    """Keeps a measurement and how many times better than CouchDB's it is, with the target."""
    figure, unit, more_is_better = FIGURES[work]
    results.add(work, "varve", unit, values)
    median = results.medians[work, "varve"]
    ratio = median / figure if more_is_better else figure / median
    results.write(name=work, subject="varve against couchdb 3.5.0", unit="ratio",
                  median=round(ratio, 2), target=times, met=ratio >= times)
