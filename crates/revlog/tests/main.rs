//! Revlogs that Mercurial wrote, and damaged ones.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests are not test functions"
)]

mod append;
mod damaged;
mod golden;
