//! CouchDB's replication, without the network: what a request asks for, the identity by which it finds its checkpoints,
//! and what these say.

mod error;
pub mod replicator;

pub use error::ReplicateError;
