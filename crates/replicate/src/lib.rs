//! Moving databases into Varve and out of it.
//!
//! [`import()`] reads the files of a CouchDB without that program. [`export()`] writes a database as lines of JSON, and
//! [`Restore`] makes a database of them.

pub mod couch_file;
mod error;
mod export;
mod finding;
pub mod fuzzing;
pub mod import;
mod restore;
mod watch;

pub use error::MoveError;
pub use export::{Exported, export, export_document};
pub use finding::Finding;
pub use import::{Imported, Source, Sources, find, import};
pub use restore::{Head, Restore};
pub use watch::Watch;
