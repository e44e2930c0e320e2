//! A directory for commands that make databases in it, while no server may.

use super::{
    DATABASES, INDEXES, NEW_CONFIG, REPOSITORIES, compression, lock, protect, read_settings,
};
use crate::ServerError;
use std::fs::File;
use std::path::{Path, PathBuf};
use varve_base::{DiskStorage, Storage};
use varve_codec::EngineSetting;

/// A directory that no server serves until this is dropped. Its settings stay as they are: the first start of a server
/// makes the admin.
#[derive(Debug)]
pub struct OfflineDirectory {
    /// Path of the directory.
    pub path: PathBuf,
    /// Its files; paths are relative to it.
    pub storage: DiskStorage,
    /// Compression of new databases.
    pub compression: EngineSetting,
    _lock: File,
}

impl OfflineDirectory {
    /// Takes the directory, making it if it is not there.
    ///
    /// # Errors
    /// [`ServerError::InUse`] while a server has it; any [`ServerError`] about the directory or its settings.
    pub fn open(path: &Path) -> Result<OfflineDirectory, ServerError> {
        let storage = DiskStorage::new(path).with_private(&[DATABASES, INDEXES, NEW_CONFIG]);
        let compression = compression(&read_settings(path)?)?;
        for directory in [REPOSITORIES, DATABASES, INDEXES] {
            storage.create_directory(Path::new(directory))?;
        }
        protect(path)?;
        Ok(OfflineDirectory {
            path: path.to_owned(),
            compression,
            _lock: lock(path)?,
            storage,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServedDirectory;

    #[test]
    fn either_keeps_the_other_out_and_no_admin_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        let offline = OfflineDirectory::open(&path).unwrap();
        let refused = ServedDirectory::open(&path).unwrap_err();
        assert!(matches!(refused, ServerError::InUse { .. }), "{refused}");
        assert!(!path.join(super::super::CONFIG).exists());
        drop(offline);
        let served = ServedDirectory::open(&path).unwrap();
        assert!(served.made_admin.is_some());
        let refused = OfflineDirectory::open(&path).unwrap_err();
        assert!(matches!(refused, ServerError::InUse { .. }), "{refused}");
    }
}
