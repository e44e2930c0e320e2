//! Tests of the tree file from outside.

mod common;
mod crash;
mod damage;
mod faults;
mod loading;
mod model;
