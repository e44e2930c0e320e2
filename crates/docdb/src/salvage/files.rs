//! The files of a salvage.

use crate::DocdbError;
use crate::compact::{SORT_MEMORY, Sorter};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use varve_base::{Storage, StorageError};

/// Files that are removed when the salvage ends, and the name of the new one.
pub(super) struct Files<'s> {
    storage: &'s dyn Storage,
    to: PathBuf,
    /// The new file until it is complete.
    pub(super) copy: PathBuf,
    /// Runs of documents that only the tree by sequence has.
    pub(super) missing: PathBuf,
    /// Runs sorted by sequence.
    pub(super) by_seq: PathBuf,
    /// Runs sorted by id.
    pub(super) by_id: PathBuf,
    /// Runs of rows of access.
    pub(super) access: PathBuf,
}

impl<'s> Files<'s> {
    /// Refuses if anything stands at `to`; removes the files of an interrupted salvage beside it.
    pub(super) fn new(storage: &'s dyn Storage, to: &Path) -> Result<Self, DocdbError> {
        let beside = |suffix: &str| {
            let mut name: OsString = to.file_name().unwrap_or_default().to_owned();
            name.push(suffix);
            to.with_file_name(name)
        };
        let files = Files {
            storage,
            to: to.to_owned(),
            copy: beside(".salvage"),
            missing: beside(".salvage.missing"),
            by_seq: beside(".salvage.by-seq"),
            by_id: beside(".salvage.by-id"),
            access: beside(".salvage.access"),
        };
        files.check_free()?;
        files.remove()?;
        Ok(files)
    }

    fn check_free(&self) -> Result<(), DocdbError> {
        if self.storage.kind(&self.to)?.is_none() {
            return Ok(());
        }
        let there = StorageError::Io {
            op: "create",
            path: self.to.clone(),
            source: ErrorKind::AlreadyExists.into(),
        };
        Err(there.into())
    }

    /// Sorts with runs in one of these files.
    pub(super) fn sorter(&self, path: &Path) -> Sorter<'s> {
        Sorter::new(self.storage, path.to_owned(), SORT_MEMORY)
    }

    fn remove(&self) -> Result<(), DocdbError> {
        let sorted = [&self.missing, &self.by_seq, &self.by_id, &self.access];
        for path in sorted.into_iter().chain([&self.copy]) {
            match self.storage.remove(path) {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives the new file, which is durable, its name.
    pub(super) fn finish(self) -> Result<(), DocdbError> {
        self.check_free()?;
        self.storage.rename(&self.copy, &self.to)?;
        let directory = self.to.parent().unwrap_or(Path::new(""));
        Ok(self.storage.sync_directory(directory)?)
    }
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        // If that fails, the next salvage to this place removes them.
        let _ = self.remove();
    }
}
