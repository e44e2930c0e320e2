//! Revlogs that Mercurial wrote, damaged ones, and all that an appender can do.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests are not test functions"
)]

mod append;
mod chains;
mod damaged;
mod golden;
mod growing;
mod hostile;
mod model;
mod peer;
mod receive;
