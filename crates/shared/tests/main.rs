//! Tests of shared storage from outside.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod care;
mod collected_slots;
mod common;
mod derived;
mod fuzzing;
mod model;
mod processes;
mod simulation;
mod storage;
