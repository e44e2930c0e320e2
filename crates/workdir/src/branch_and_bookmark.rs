//! The branch of the next commit, `.hg/branch`, and the active bookmark, `.hg/bookmarks.current`.

use crate::WorkdirError;
use crate::dirstate::replace;
use std::path::Path;
use varve_base::storage::read_if_there;
use varve_repo::{BaseDir, DEFAULT_BRANCH, Repository, Transaction};

const BRANCH: &str = "branch";
const ACTIVE: &str = "bookmarks.current";

/// The branch of the next commit.
///
/// # Errors
/// A failure of the storage.
pub fn branch(repository: &Repository) -> Result<Vec<u8>, WorkdirError> {
    let text = small_file(repository, BRANCH)?;
    Ok(match text.trim_ascii() {
        [] => DEFAULT_BRANCH.to_vec(),
        name => name.to_vec(),
    })
}

/// Sets the branch of the next commit. The caller holds the lock of the working copy.
///
/// # Errors
/// A failure of the storage.
pub fn set_branch(repository: &Repository, name: &[u8]) -> Result<(), WorkdirError> {
    if branch(repository)? == name {
        return Ok(());
    }
    let path = repository.root().join(".hg").join(BRANCH);
    let line = [name, b"\n"].concat();
    replace(repository.storage().as_ref(), &path, &line)
}

/// As [`set_branch`], so that a command that is killed leaves both the transaction and the branch, or neither.
pub(crate) fn set_branch_within(transaction: &mut Transaction, name: &[u8]) {
    transaction.replace(BaseDir::Hg, BRANCH.as_bytes(), [name, b"\n"].concat());
}

/// The bookmark that moves with the next commit, as it was set; it may be gone.
///
/// # Errors
/// A failure of the storage.
pub fn active_bookmark(repository: &Repository) -> Result<Option<Vec<u8>>, WorkdirError> {
    let text = small_file(repository, ACTIVE)?;
    let name = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok((!name.is_empty()).then(|| name.to_vec()))
}

/// Sets the bookmark that moves with the next commit. The caller holds the lock of the working
/// copy.
///
/// # Errors
/// A failure of the storage.
pub fn set_active_bookmark(
    repository: &Repository,
    name: Option<&[u8]>,
) -> Result<(), WorkdirError> {
    let storage = repository.storage().as_ref();
    let path = repository.root().join(".hg").join(ACTIVE);
    match name {
        Some(name) => replace(storage, &path, name)?,
        None if storage.kind(&path)?.is_some() => storage.remove(&path)?,
        None => {}
    }
    Ok(())
}

fn small_file(repository: &Repository, name: &str) -> Result<Vec<u8>, WorkdirError> {
    let path = repository.root().join(Path::new(".hg")).join(name);
    let text = read_if_there(repository.storage().as_ref(), &path)?;
    Ok(text.unwrap_or_default())
}
