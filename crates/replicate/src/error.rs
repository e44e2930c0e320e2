//! Failures of moves, and reasons to refuse a replication.

use crate::couch_file::OpenError;
use std::io;
use std::path::PathBuf;
use varve_base::{Interrupted, StorageError};
use varve_docdb::{DocdbError, EditError};

/// A database could not be moved, or a replication request is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicateError {
    /// A database refused, or could not be written.
    #[error(transparent)]
    Database(DocdbError),
    /// A file or directory could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There are no databases where they were sought.
    #[error(
        "{path} has no CouchDB databases: expected a data directory (with shards/ or NAME.couch files in it), or the \
         .couch file of one database",
        path = path.display()
    )]
    NoDatabases {
        /// The path that was given.
        path: PathBuf,
    },
    /// Names that were asked for and are not there.
    #[error("there is no database {0:?} to be moved")]
    NoSuchDatabase(String),
    /// None of a database's files can be opened.
    #[error("no file of {0:?} can be opened")]
    NoShards(String),
    /// An export could not be written.
    #[error("cannot write the export: {0}")]
    Output(#[source] io::Error),
    /// An export could not be read.
    #[error("cannot read the export: {0}")]
    Input(#[source] io::Error),
    /// A line of an export is not as an export has it.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// Why it cannot be taken.
        reason: String,
    },
    /// The server that is read from refuses a request, fails, or answers what no CouchDB would: which request, and how.
    #[error("{0}")]
    Server(String),
    /// No answer, or only the beginning of one, also after several attempts: to which request, and why.
    #[error("{0}")]
    Unreachable(String),
    /// A database refuses an edit.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A database of this name is in the directory, and no import from this server has made it.
    #[error("{0:?} is in the directory already, and was not imported from this server")]
    Foreign(String),
    /// Interrupted; what was moved before is whole.
    #[error("interrupted")]
    Interrupted,
    /// `source` or `target` is missing.
    #[error("Missing replicator database")]
    NoEndpoint,
    /// `source` or `target` of a document is the name of a database. As in CouchDB 3, documents have URLs.
    #[error("local_endpoints_not_supported")]
    LocalEndpoint,
    /// The URL of an endpoint or a proxy has no host, or a protocol that the settings do not allow.
    #[error("{role} has an invalid url")]
    Url {
        /// `endpoint` or `proxy`.
        role: &'static str,
    },
    /// A parameter has a value of the wrong kind.
    #[error("parameter `{name}` must be {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Kind of value that is expected, with its article.
        expected: &'static str,
    },
    /// A header that HTTP does not allow.
    #[error("invalid header {name:?}")]
    Header {
        /// Name of the header.
        name: String,
    },
    /// More than one of the ways to choose documents.
    #[error("`doc_ids`,`filter`,`selector` are mutually exclusive")]
    Exclusive,
    /// A filter that is neither built in nor `DESIGN/NAME`.
    #[error("Invalid filter. Must match `ddocname/filtername`.")]
    Filter,
    /// `filter: "_view"` without a view.
    #[error("Invalid `view` parameter.")]
    View,
    /// `proxy` beside `source_proxy` or `target_proxy`.
    #[error("`proxy` is mutually exclusive with `{name}`")]
    Proxies {
        /// The other one.
        name: &'static str,
    },
}

impl From<DocdbError> for ReplicateError {
    fn from(error: DocdbError) -> Self {
        match error {
            DocdbError::Interrupted => ReplicateError::Interrupted,
            other => ReplicateError::Database(other),
        }
    }
}

impl From<Interrupted> for ReplicateError {
    fn from(_: Interrupted) -> Self {
        ReplicateError::Interrupted
    }
}
