//! View indexes over real databases: recorded answers, a model, crashes, damage.
#![allow(clippy::unwrap_used)]

mod access;
mod build;
mod collation;
mod common;
mod compaction;
mod crash;
mod find;
mod group_sizes;
mod memtable;
mod model;
mod modes;
mod partitions;
mod query;
mod recorded;
mod transfer;
