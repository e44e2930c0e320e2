//! The binary as its user meets it: its commands, and real clients against the real server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "helpers of tests fail by panicking, and explain themselves"
)]

mod bench;
mod bodies;
#[cfg(target_os = "linux")]
mod dist;
mod help;
mod hgcli;
mod killing;
mod lists;
mod mutated;
mod peers;
mod reloading;
mod serve;
mod shared;
mod shared_forwarding;
mod shared_garbage;
mod shared_owners;
mod shared_repositories;
mod shared_s3;
mod shared_serving;
mod stalled;
mod stopping;
mod tour;
mod verify_database;

/// The program under test.
const VARVE: &str = env!("CARGO_BIN_EXE_varve");
