//! The files of a salvage.

use crate::DocdbError;
use crate::beside::{check_free, remove_if_there, with_suffix};
use crate::compact::{SORT_MEMORY, Sorter};
use std::path::{Path, PathBuf};
use varve_base::Storage;

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
        let files = Files {
            storage,
            to: to.to_owned(),
            copy: with_suffix(to, ".salvage"),
            missing: with_suffix(to, ".salvage.missing"),
            by_seq: with_suffix(to, ".salvage.by-seq"),
            by_id: with_suffix(to, ".salvage.by-id"),
            access: with_suffix(to, ".salvage.access"),
        };
        check_free(storage, to)?;
        files.remove()?;
        Ok(files)
    }

    /// Sorts with runs in one of these files.
    pub(super) fn sorter(&self, path: &Path) -> Sorter<'s> {
        Sorter::new(self.storage, path.to_owned(), SORT_MEMORY)
    }

    fn remove(&self) -> Result<(), DocdbError> {
        let sorted = [&self.missing, &self.by_seq, &self.by_id, &self.access];
        let mut all = sorted.into_iter().chain([&self.copy]);
        all.try_for_each(|path| remove_if_there(self.storage, path))
    }

    /// Gives the new file, which is durable, its name.
    pub(super) fn finish(self) -> Result<(), DocdbError> {
        check_free(self.storage, &self.to)?;
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
