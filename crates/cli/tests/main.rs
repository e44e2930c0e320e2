//! The binary as its user meets it.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "helpers of tests fail by panicking, and explain themselves"
)]

mod help;
mod serve;
