//! The client: peers, discovery, contents of a push, choice of a clone bundle.

pub mod clone_bundles;
pub mod discovery;
pub mod discovery_counts;
pub mod local_clone;
pub mod outgoing;
pub mod peer;
pub mod pull;
pub mod push;
pub mod sampling;
pub mod tree_discovery;
