//! Failures of a move.

use crate::couch_file::OpenError;
use std::io;
use std::path::PathBuf;
use varve_base::{Interrupted, StorageError};
use varve_docdb::DocdbError;

/// A database could not be moved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
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
    /// A database whose documents name their readers.
    #[error(
        "{0:?} is a database with access, which cannot be exported yet: replicate it as an admin"
    )]
    Access(String),
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
    /// Interrupted; what was moved before is whole.
    #[error("interrupted")]
    Interrupted,
}

impl From<DocdbError> for MoveError {
    fn from(error: DocdbError) -> Self {
        match error {
            DocdbError::Interrupted => MoveError::Interrupted,
            other => MoveError::Database(other),
        }
    }
}

impl From<Interrupted> for MoveError {
    fn from(_: Interrupted) -> Self {
        MoveError::Interrupted
    }
}
