//! Databases of a shared store that were closed because they were long unused, and whether their index files are still of use.
//!
//! While a database is closed here, other servers write it, and any process may put an earlier state back. Its index files name
//! no commit, so the newest one is remembered at its closing: what comes of that commit is the database that was indexed.

use crate::Failure;
use parking_lot::Mutex;
use std::collections::HashMap;
use varve_docdb::{CommitId, Database};

/// The newest commits of closed databases, by name.
#[derive(Debug, Default)]
pub(super) struct ClosedDatabases(Mutex<HashMap<String, CommitId>>);

impl ClosedDatabases {
    /// To be called when nothing indexes the database any more.
    pub(super) fn note(&self, name: &str, documents: &Database) {
        // Without it the index files are removed.
        if let Ok(newest) = documents.snapshot().commit_id() {
            self.0.lock().insert(name.to_owned(), newest);
        }
    }

    /// True if index files of this name are about the database that was opened now.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(super) fn is_same(&self, name: &str, documents: &Database) -> Result<bool, Failure> {
        let closed = self.0.lock().remove(name);
        Ok(match closed {
            Some(commit) => documents.contains_commit(&commit)?,
            None => false,
        })
    }
}
