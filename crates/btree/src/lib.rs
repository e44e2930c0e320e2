//! The append-only copy-on-write B+tree file: chunks, commits, recovery, reductions.
