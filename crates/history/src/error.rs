//! Errors of bringing a database in step with its repository.

use varve_base::Interrupted;
use varve_docdb::{DocdbError, EditError};
use varve_lang::patterns::PatternError;
use varve_repo::{RepoError, RevlogError};

/// A database could not be brought in step with its repository.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The repository cannot be read.
    #[error(transparent)]
    Repository(#[from] RepoError),
    /// The database cannot be read or written.
    #[error(transparent)]
    Database(#[from] DocdbError),
    /// A document was refused.
    #[error("document {id:?} cannot be written: {source}")]
    Document {
        /// Id of the document.
        id: String,
        /// The refusal.
        source: EditError,
    },
    /// The database has documents, and none of them says that it belongs to a repository.
    #[error("the database was not made for a repository; its name is wanted for one")]
    Foreign,
    /// The setting `data` has a glob that is none.
    #[error("history.data cannot be used: {0}")]
    Globs(#[from] PatternError),
    /// The work was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl From<RevlogError> for HistoryError {
    fn from(error: RevlogError) -> Self {
        HistoryError::Repository(error.into())
    }
}
