//! Databases in step with repositories in memory.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "helpers of tests fail by panicking, and explain themselves"
)]

mod data;
mod documents;
mod history;
mod in_step;
mod random;
