//! Errors of views.

use crate::find::FindError;
use crate::{DesignError, OptionError};
use varve_base::{Interrupted, StorageError};
use varve_btree::TreeError;
use varve_docdb::DocdbError;

/// A view could not be built or queried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The design document cannot be used.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The query's options cannot be used.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// The query by selector cannot be used.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The design document has no view of that name.
    #[error("the design document has no view {name:?}")]
    NoView {
        /// The name that was asked for.
        name: String,
    },
    /// A document of the database cannot be read, so that its rows are not known.
    #[error("cannot map document {id:?}, revision {rev}: {source}")]
    Document {
        /// The document.
        id: String,
        /// Its winning revision.
        rev: varve_docdb::Rev,
        /// The cause.
        source: Box<DocdbError>,
    },
    /// The map functions passed a limit, so that the rows of a document are not known.
    #[error("the map functions failed for document {id:?}: {source}")]
    Function {
        /// The document.
        id: String,
        /// Its last update.
        seq: u64,
        /// Which limit.
        source: Box<varve_js::JsError>,
    },
    /// The index file could not be read or written.
    #[error("view index: {0}")]
    Index(#[from] TreeError),
    /// A row in the index file has not the form that rows have.
    #[error("a view index is damaged: {reason}")]
    Row {
        /// The violated rule.
        reason: &'static str,
    },
    /// The directory of the index files could not be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The database could not be read.
    #[error(transparent)]
    Database(#[from] DocdbError),
    /// The build was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A worker of the build ended without an answer.
    #[error("a worker thread of the view build died")]
    Worker,
}

impl ViewError {
    /// Whether the index file is damaged, as opposed to the database: an index can be built anew.
    pub fn is_index_damage(&self) -> bool {
        match self {
            ViewError::Index(error) => is_of_no_use(error),
            ViewError::Row { .. } => true,
            _ => false,
        }
    }

    /// Whether a reader that may wait for the disk would have gone on.
    pub fn is_would_block(&self) -> bool {
        match self {
            ViewError::Index(error) => error.is_would_block(),
            ViewError::Storage(error) => error.is_would_block(),
            ViewError::Database(error) => error.is_would_block(),
            ViewError::Document { source, .. } => source.is_would_block(),
            _ => false,
        }
    }
}

/// Errors after which a new file is better than none.
pub(crate) fn is_of_no_use(error: &TreeError) -> bool {
    error.is_damage()
        || matches!(
            error,
            TreeError::Foreign { .. }
                | TreeError::Version { .. }
                | TreeError::WrongKind { .. }
                | TreeError::Unfinished { .. }
        )
}
