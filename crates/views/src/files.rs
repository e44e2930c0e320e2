//! Where index files stand, and which of them are needed no more.

use crate::{Signature, ViewError};
use std::path::{Path, PathBuf};
use varve_base::Storage;

/// Extension of an index file, behind the signature.
const EXTENSION: &str = "view";
/// Suffix of a compacted copy, behind that.
const COPY: &str = ".compact";

/// Where the copy stands while the index is compacted.
pub(crate) fn copy_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(COPY);
    path.with_file_name(name)
}

/// Removes a file that need not be there.
pub(crate) fn remove_rest(storage: &dyn Storage, path: &Path) -> Result<(), ViewError> {
    match storage.remove(path) {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// The name of a group's file within its directory.
pub(crate) fn file_name(signature: Signature) -> String {
    format!("{signature}.{EXTENSION}")
}

/// Removes the index files in `directory` that no group in `kept` has, and returns how many. Readers that have one of
/// them open go on reading it.
///
/// # Errors
/// Errors of the storage.
pub fn remove_stale(
    storage: &dyn Storage,
    directory: &Path,
    kept: &[Signature],
) -> Result<usize, ViewError> {
    if storage.kind(directory)?.is_none() {
        return Ok(0);
    }
    let kept: Vec<String> = kept.iter().map(|signature| file_name(*signature)).collect();
    let mut removed = 0;
    for entry in storage.list(directory)? {
        let Some(name) = entry.name.to_str() else {
            continue;
        };
        // A copy goes and stays with its index.
        let index = name.strip_suffix(COPY).unwrap_or(name);
        let is_index = index.ends_with(&format!(".{EXTENSION}"));
        if is_index && !kept.iter().any(|kept| kept == index) {
            // A compaction that was ended removes its copy itself.
            remove_rest(storage, &directory.join(name))?;
            removed += 1;
        }
    }
    Ok(removed)
}
