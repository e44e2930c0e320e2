//! Files beside that of a database: new ones until they are complete, and sorted runs.

use crate::DocdbError;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use varve_base::{Storage, StorageError};

/// The path of a file whose name has a suffix more.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Removes a file, if it is there.
pub(crate) fn remove_if_there(storage: &dyn Storage, path: &Path) -> Result<(), DocdbError> {
    match storage.remove(path) {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Refuses a path at which something stands.
pub(crate) fn check_free(storage: &dyn Storage, path: &Path) -> Result<(), DocdbError> {
    if storage.kind(path)?.is_none() {
        return Ok(());
    }
    let there = StorageError::Io {
        op: "create",
        path: path.to_owned(),
        source: ErrorKind::AlreadyExists.into(),
    };
    Err(there.into())
}
