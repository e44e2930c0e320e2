//! Whole exchanges between repositories in memory, whose histories are random graphs.

mod discovery;
mod generate;
mod history;
mod pull;
mod push;
mod wire;
