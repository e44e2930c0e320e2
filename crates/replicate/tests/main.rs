//! Tests of the crate as its users call it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "helpers of tests fail by panicking, and explain themselves"
)]

mod couch_encoder;
mod damaged;
mod exported;
mod growing;
mod mutated;
mod recorded;
mod speed;
