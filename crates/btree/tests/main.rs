//! Tests of the tree file from outside.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod ahead;
mod amended;
mod common;
mod copying;
mod crash;
mod damage;
mod faults;
mod holes;
mod loading;
mod marks;
mod model;
mod modes;
mod survey;
