//! Exact ordered JSON, collation of view keys, and the term encoding that revision hashes need.
