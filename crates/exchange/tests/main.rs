//! Answers that a real `hg` reads, about repositories that a real `hg` made.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests are not test functions"
)]

mod answers;
mod client;
mod clone_bundles;
mod peers;
mod pulls;
mod streams;
