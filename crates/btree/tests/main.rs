//! Tests of the tree file from outside.

mod common;
mod model;
