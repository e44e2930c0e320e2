//! Whole exchanges between repositories in memory, whose histories are random graphs.

mod discovery;
mod generate;
mod history;
mod local_clone;
mod outgoing;
mod pull;
mod push;
mod wire;
