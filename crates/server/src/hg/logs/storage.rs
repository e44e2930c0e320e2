//! The files of a repository in a log.
//!
//! ```text
//! lock  journal  revisions  hooks  changelog, phases, bookmarks  journal -> undo  sync   unlock
//! |---- transaction: syncs make no record --------------------------------|  record
//! ```
//! Locks and caches are in the local copy only: between servers the log is the lock, and each has caches of its own.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use varve_base::storage::{Entry, EntryKind};
use varve_base::{OpenMode, Storage, StorageError, StorageFile};
use varve_shared::{SharedError, SharedStorage};

/// The lock of the history, and the journal of its transactions.
const LOCK: &str = ".hg/store/lock";
const JOURNAL: &str = ".hg/store/journal";

/// Files and directories that are not in the log, beside locks that guard the breaking of locks.
const OF_THE_COPY: [&str; 6] = [
    ".hg/cache",
    ".hg/wcache",
    ".hg/wlock",
    ".hg/wlock.break",
    LOCK,
    ".hg/store/lock.break",
];

/// Files by which readers see that a transaction has changed anything.
const SEEN: [&str; 4] = [
    ".hg/store/00changelog.i",
    ".hg/store/phaseroots",
    ".hg/store/obsstore",
    ".hg/bookmarks",
];

/// The storage of one repository, whose transactions are records of its log.
#[derive(Clone, Debug)]
pub(super) struct RepositoryStorage {
    log: SharedStorage,
}

impl RepositoryStorage {
    pub(super) fn new(log: SharedStorage) -> RepositoryStorage {
        RepositoryStorage { log }
    }

    /// Returns once all that a reader can have seen is in the log.
    ///
    /// # Errors
    /// [`SharedError::must_reopen`] if it never may be.
    pub(super) fn settle(&self) -> Result<(), SharedError> {
        (self.log).settle(|path| SEEN.iter().any(|seen| path == Path::new(seen)))
    }

    fn of(&self, path: &Path) -> &dyn Storage {
        match is_of_the_copy(path) {
            true => self.log.local().as_ref(),
            false => &self.log,
        }
    }

    /// The storage of two paths that an operation has.
    ///
    /// # Errors
    /// One of the paths is in the log and the other is not.
    fn of_both(
        &self,
        op: &'static str,
        one: &Path,
        other: &Path,
    ) -> Result<&dyn Storage, StorageError> {
        match is_of_the_copy(one) == is_of_the_copy(other) {
            true => Ok(self.of(one)),
            false => {
                let (path, source) = (one.to_owned(), io::ErrorKind::CrossesDevices.into());
                Err(StorageError::Io { op, path, source })
            }
        }
    }
}

fn is_of_the_copy(path: &Path) -> bool {
    OF_THE_COPY.iter().any(|own| path.starts_with(own))
}

impl Storage for RepositoryStorage {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        if mode == OpenMode::CreateNew && path == Path::new(JOURNAL) {
            // Another transaction under the same lock.
            self.log.begin_transaction();
        }
        self.of(path).open(path, mode)
    }

    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        self.log.kind(path)
    }

    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        self.log.file_len(path)
    }

    fn modified(&self, directory: &Path) -> Result<Option<SystemTime>, StorageError> {
        self.log.modified(directory)
    }

    fn list(&self, directory: &Path) -> Result<Vec<Entry>, StorageError> {
        self.log.list(directory)
    }

    fn create_directory(&self, directory: &Path) -> Result<(), StorageError> {
        self.of(directory).create_directory(directory)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let done = self
            .of_both("rename", from, to)
            .and_then(|storage| storage.rename(from, to));
        if from == Path::new(JOURNAL) && done.is_ok() {
            self.log.end_transaction();
        }
        done
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        self.of_both("exchange", one, other)?.exchange(one, other)
    }

    fn remove_tree(&self, directory: &Path) -> Result<(), StorageError> {
        self.of(directory).remove_tree(directory)
    }

    fn sync_tree(&self, directory: &Path) -> Result<(), StorageError> {
        self.of(directory).sync_tree(directory)
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        let done = self.of(path).remove(path);
        if path == Path::new(LOCK) {
            // Of a transaction that was undone, or of a reader that made none.
            self.log.end_transaction();
        }
        done
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.of_both("link", from, to)?.link(from, to)
    }

    /// A lock that is taken begins a transaction, so that no record changes what its holder reads.
    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        self.of(path).create_symlink(target, path)?;
        if path == Path::new(LOCK) {
            self.log.begin_transaction();
        }
        Ok(())
    }

    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        self.log.read_symlink(path)
    }

    fn sync_directory(&self, directory: &Path) -> Result<(), StorageError> {
        self.of(directory).sync_directory(directory)
    }

    fn free_bytes(&self, directory: &Path) -> Result<Option<u64>, StorageError> {
        self.log.free_bytes(directory)
    }
}

#[cfg(test)]
mod tests;
