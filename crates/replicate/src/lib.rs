//! CouchDB's replication, without the network: what a request asks for, the identity by which it finds its checkpoints,
//! and what these say. And moving databases into Varve and out of it without replication:
//!
//! [`import()`] reads the files of a CouchDB without that program. [`export()`] writes a database as lines of JSON, and
//! [`Restore`] makes a database of them.

pub mod couch_file;
mod error;
mod export;
mod finding;
pub mod fuzzing;
pub mod import;
pub mod replicator;
mod restore;
mod watch;

pub use error::ReplicateError;
pub use export::{Exported, dump_document, dump_local, export, export_document};
pub use finding::Finding;
pub use import::{Imported, SourceDatabase, Sources, find, import};
pub use restore::{Head, Restore};
pub use watch::Watch;
