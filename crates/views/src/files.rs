//! Where index files stand, and which of them are needed no more.

use crate::ViewError;
use crate::group::{IndexKind, Signature};
use std::path::{Path, PathBuf};
use varve_base::Storage;

impl IndexKind {
    /// Every kind.
    pub const ALL: [IndexKind; 2] = [IndexKind::Views, IndexKind::Changes];

    /// Extension of an index file, behind the signature.
    fn extension(self) -> &'static str {
        match self {
            IndexKind::Views => "view",
            IndexKind::Changes => "changes",
        }
    }
}

/// Suffix of a compacted copy, behind that.
const COPY: &str = ".compact";

/// The same of a file that another process has built, while it is fetched.
const FETCHED: &str = ".fetched";

/// Where the copy stands while the index is compacted.
pub(crate) fn copy_path(path: &Path) -> PathBuf {
    beside(path, COPY)
}

/// Path of another process's file while it is fetched.
pub(crate) fn fetched_path(path: &Path) -> PathBuf {
    beside(path, FETCHED)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
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
pub(crate) fn file_name(kind: IndexKind, signature: Signature) -> String {
    format!("{signature}.{}", kind.extension())
}

/// Signatures of the index files of a kind in `directory`, in ascending order.
///
/// # Errors
/// Errors of the storage.
pub fn list_indexes(
    storage: &dyn Storage,
    directory: &Path,
    kind: IndexKind,
) -> Result<Vec<Signature>, ViewError> {
    if storage.kind(directory)?.is_none() {
        return Ok(Vec::new());
    }
    let names = storage.list(directory)?;
    let names = names.iter().filter_map(|entry| entry.name.to_str());
    let mut found: Vec<_> = names.filter_map(|name| parse_name(kind, name)).collect();
    found.sort();
    Ok(found)
}

fn parse_name(kind: IndexKind, name: &str) -> Option<Signature> {
    let (digits, extension) = name.split_once('.')?;
    let mut signature = Signature([0; 16]);
    for (at, byte) in signature.0.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    // Only the form in which names are written.
    let is_written_so = extension == kind.extension() && name == file_name(kind, signature);
    is_written_so.then_some(signature)
}

/// Removes the index files of a kind in `directory` that no group in `kept` has, and returns how many. Readers that have
/// one of them open go on reading it.
///
/// # Errors
/// Errors of the storage.
pub fn remove_stale(
    storage: &dyn Storage,
    directory: &Path,
    kind: IndexKind,
    kept: &[Signature],
) -> Result<usize, ViewError> {
    if storage.kind(directory)?.is_none() {
        return Ok(0);
    }
    let kept = kept.iter().map(|signature| file_name(kind, *signature));
    let kept: Vec<String> = kept.collect();
    let extension = format!(".{}", kind.extension());
    let mut removed = 0;
    for entry in storage.list(directory)? {
        let Some(name) = entry.name.to_str() else {
            continue;
        };
        // A copy goes and stays with its index.
        let mut suffixes = [COPY, FETCHED].into_iter();
        let index = suffixes.find_map(|suffix| name.strip_suffix(suffix));
        let index = index.unwrap_or(name);
        let is_index = index.ends_with(&extension);
        if is_index && !kept.iter().any(|kept| kept == index) {
            // A compaction that was ended removes its copy itself, and so does a fetch.
            remove_rest(storage, &directory.join(name))?;
            removed += 1;
        }
    }
    Ok(removed)
}
