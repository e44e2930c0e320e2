//! Moving databases into Varve and out of it.
//!
//! [`import()`] reads the files of a CouchDB without that program.

pub mod couch_file;
mod error;
mod finding;
pub mod fuzzing;
pub mod import;

pub use error::MoveError;
pub use finding::Finding;
pub use import::{Imported, Source, Sources, Watch, find, import};
