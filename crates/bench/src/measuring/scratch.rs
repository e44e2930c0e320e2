//! A temporary directory on the storage that is measured.

use crate::BenchError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::Storage;

/// A temporary directory, which goes with this value.
#[derive(Debug)]
pub struct ScratchDirectory {
    storage: Arc<dyn Storage>,
    path: PathBuf,
}

impl ScratchDirectory {
    /// Makes one inside of `parent`.
    ///
    /// # Errors
    /// Errors of the storage, such as a directory that may not be written to.
    pub fn create(storage: &Arc<dyn Storage>, parent: &Path) -> Result<Self, BenchError> {
        let path = parent.join(format!("varve-bench.{}", std::process::id()));
        storage.create_directory(&path)?;
        Ok(ScratchDirectory {
            storage: Arc::clone(storage),
            path,
        })
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The storage that it is on.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // A measurement does not fail because a temporary directory stays.
        let _ = self.storage.remove_tree(&self.path);
    }
}
