//! Tests of the tree file from outside.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod commit_ids;
mod common;
mod copying;
mod crash;
mod damage;
mod faults;
mod holes;
mod loading;
mod model;
mod modes;
mod overlay;
mod reachability;
mod readahead;
