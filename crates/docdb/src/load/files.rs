//! The files of a load.
//!
//! ```text
//! new.varve.load         the new file until it is complete, then renamed to new.varve
//! new.varve.load.by-id   sorted runs, where there are more documents than fit in memory
//! ```

use crate::DocdbError;
use crate::compact::{SORT_MEMORY, Sorter, remove_if_there, remove_rests};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use varve_base::{Storage, StorageError};
use varve_btree::kept_tail;

/// Files that are removed when the load ends, and the name of the new one.
pub(super) struct LoadFiles<'s> {
    storage: &'s dyn Storage,
    to: PathBuf,
    pub(super) copy: PathBuf,
    by_id: PathBuf,
}

impl<'s> LoadFiles<'s> {
    /// Refuses if anything stands at `to`; removes the files of an interrupted load beside it.
    pub(super) fn new(storage: &'s dyn Storage, to: &Path) -> Result<Self, DocdbError> {
        let beside = |suffix: &str| {
            let mut name = to.file_name().unwrap_or_default().to_owned();
            name.push(suffix);
            to.with_file_name(name)
        };
        let files = LoadFiles {
            storage,
            to: to.to_owned(),
            copy: beside(".load"),
            by_id: beside(".load.by-id"),
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

    pub(super) fn sorter(&self) -> Sorter<'s> {
        Sorter::new(self.storage, self.by_id.clone(), SORT_MEMORY)
    }

    fn remove(&self) -> Result<(), DocdbError> {
        remove_if_there(self.storage, &self.copy)?;
        remove_if_there(self.storage, &self.by_id)
    }

    /// Gives the new file, which is durable, its name. Rests of an earlier database of that name do not belong to it.
    pub(super) fn finish(self) -> Result<(), DocdbError> {
        self.check_free()?;
        remove_rests(self.storage, &self.to)?;
        remove_if_there(self.storage, &kept_tail(&self.to))?;
        self.storage.rename(&self.copy, &self.to)?;
        let directory = self.to.parent().unwrap_or(Path::new(""));
        Ok(self.storage.sync_directory(directory)?)
    }
}

impl Drop for LoadFiles<'_> {
    fn drop(&mut self) {
        // If that fails, the next load to this place removes them.
        let _ = self.remove();
    }
}
