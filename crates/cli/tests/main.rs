//! The binary as its user meets it.
