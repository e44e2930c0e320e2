//! The server over a real socket.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "helpers of tests fail by panicking, and explain themselves"
)]

mod access;
mod answers;
mod attachments;
mod auto_index;
mod bodies;
mod client;
mod cluster_tasks;
mod compaction;
mod compression;
mod console;
mod damage;
mod design;
mod documented;
mod documents;
mod effects;
mod feeds;
mod figures;
mod find;
mod forgery;
mod functions;
mod hand_over;
mod hg;
mod history;
mod http2;
mod index_copies;
mod keys;
mod limits;
mod lists;
mod lockout;
mod log;
mod node;
mod operators;
mod pages;
mod partitions;
mod passwords;
mod per_user;
mod protocol;
mod purge;
mod recorded;
mod reduces;
mod replication;
mod revisions;
mod rewrites;
mod second_factor;
mod selective;
mod sessions;
mod settings;
mod short;
mod shows;
mod smoosh;
mod stalled;
mod streams;
mod suites;
mod tokens;
mod users;
mod view_options;
mod views;
mod waiting;
