//! Changegroups: the revisions that a client lacks, as deltas.

mod framing;
