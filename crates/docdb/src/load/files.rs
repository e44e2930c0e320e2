//! The files of a load.
//!
//! ```text
//! new.varve.load      the new file until it is complete, then renamed to new.varve
//! new.varve.load-id   sorted runs, where there are more documents than fit in memory
//! new.varve.load-as   the same of rows of access
//! ```

use crate::DocdbError;
use crate::beside::{check_free, remove_if_there, with_suffix};
use crate::compact::{LONGEST_SUFFIX, SORT_MEMORY, Sorter, remove_rests};
use std::path::{Path, PathBuf};
use varve_base::Storage;
use varve_btree::kept_tail;

const COPY: &str = ".load";
const BY_ID: &str = ".load-id";
const ACCESS: &str = ".load-as";
// The longest name of a database leaves room for them.
const _: () = assert!(
    COPY.len() <= LONGEST_SUFFIX && BY_ID.len() <= LONGEST_SUFFIX && ACCESS.len() <= LONGEST_SUFFIX
);

/// Files that are removed when the load ends, and the name of the new one.
pub(super) struct LoadFiles<'s> {
    storage: &'s dyn Storage,
    to: PathBuf,
    pub(super) copy: PathBuf,
    by_id: PathBuf,
    access: PathBuf,
}

impl<'s> LoadFiles<'s> {
    /// Refuses if anything stands at `to`; removes the files of an interrupted load beside it.
    pub(super) fn new(storage: &'s dyn Storage, to: &Path) -> Result<Self, DocdbError> {
        let files = LoadFiles {
            storage,
            to: to.to_owned(),
            copy: with_suffix(to, COPY),
            by_id: with_suffix(to, BY_ID),
            access: with_suffix(to, ACCESS),
        };
        check_free(storage, to)?;
        files.remove()?;
        Ok(files)
    }

    pub(super) fn sorter(&self) -> Sorter<'s> {
        Sorter::new(self.storage, self.by_id.clone(), SORT_MEMORY)
    }

    pub(super) fn access_sorter(&self) -> Sorter<'s> {
        Sorter::new(self.storage, self.access.clone(), SORT_MEMORY)
    }

    fn remove(&self) -> Result<(), DocdbError> {
        remove_if_there(self.storage, &self.copy)?;
        remove_if_there(self.storage, &self.access)?;
        remove_if_there(self.storage, &self.by_id)
    }

    /// Gives the new file, which is durable, its name. Rests of an earlier database of that name do not belong to it.
    pub(super) fn finish(self) -> Result<(), DocdbError> {
        check_free(self.storage, &self.to)?;
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
