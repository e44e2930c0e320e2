//! Queries over whole repositories: laws and functions in memory, and answers beside those of the
//! real program.
#![allow(clippy::unwrap_used, reason = "a test that cannot do its work fails")]

mod answers;
mod derived;
mod forms;
mod functions;
mod laws;
mod memory;
mod named;
mod orders;
mod peers;
mod rewritten;
