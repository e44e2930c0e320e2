//! Repositories that a real `hg` made, and repositories of ours that it reads.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests are not test functions"
)]

mod caches;
mod cloning;
mod crash;
mod histories;
mod names;
mod nodemap;
mod reading;
mod receiving;
mod recompressing;
mod rewriting;
mod rollback;
mod stored;
mod stripping;
mod writing;
