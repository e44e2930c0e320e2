//! Replication as `_replicate` and the documents of `_replicator` ask for it.
//!
//! A [`ReplicationRequest`] has an identity ([`identity`]): the same request finds the checkpoints ([`checkpoint`]) that
//! an earlier run left in both databases as `_local/ID`, also those of a CouchDB with the same server UUID.

pub mod backoff;
pub mod checkpoint;
mod endpoint;
pub mod identity;
mod request;

pub use endpoint::{AskedServer, Endpoint, Login};
pub use request::{Cancellation, Parsed, ReplicationOptions, ReplicationRequest, Selection};
