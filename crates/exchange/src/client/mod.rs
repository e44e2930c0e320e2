//! The side that asks: peers, discovery, what a push sends, which clone bundle is taken.

pub mod clone_bundles;
pub mod discovery;
pub mod local_clone;
pub mod outgoing;
pub mod peer;
pub mod pull;
pub mod push;
