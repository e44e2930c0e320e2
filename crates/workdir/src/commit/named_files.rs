//! Files that a commit names, and files that it starts or stops to track.

use crate::{Dirstate, Status, UncommittableReason, WorkdirError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use varve_lang::patterns::Matcher;
use varve_repo::Repository;

/// Checks that every file or directory that `matcher` names without a pattern can be committed: it is tracked, or a
/// directory with changes in `status`.
///
/// # Errors
/// [`WorkdirError::Uncommittable`].
pub fn check_named_files(
    repository: &Repository,
    dirstate: &Dirstate,
    matcher: &Matcher,
    status: &Status,
) -> Result<(), WorkdirError> {
    if matcher.is_wild() {
        return Ok(());
    }
    for path in matcher.named() {
        if let Some(reason) = obstacle(repository, dirstate, path, status) {
            let path = path.clone();
            return Err(WorkdirError::Uncommittable { path, reason });
        }
    }
    Ok(())
}

/// The reason why one named path cannot be committed.
fn obstacle(
    repository: &Repository,
    dirstate: &Dirstate,
    path: &[u8],
    status: &Status,
) -> Option<UncommittableReason> {
    let is_in = |list: &[Vec<u8>]| list.iter().any(|file| file == path);
    if path.is_empty() || is_in(&status.removed) {
        return None;
    }
    if is_in(&status.deleted) {
        return Some(UncommittableReason::NotFound);
    }
    if dirstate.is_tracked(path) || changes_below(path, status) {
        return None;
    }
    let path = repository.root().join(OsStr::from_bytes(path));
    Some(match path.symlink_metadata() {
        Ok(found) if found.is_dir() => UncommittableReason::NoChangesBelow,
        Ok(_) => UncommittableReason::NotTracked,
        Err(error) => UncommittableReason::Io(error),
    })
}

/// Whether a file below a directory was modified, added or removed.
fn changes_below(directory: &[u8], status: &Status) -> bool {
    let prefix = [directory, b"/"].concat();
    let lists = [&status.modified, &status.added, &status.removed];
    let mut files = lists.into_iter().flatten();
    files.any(|file| file.starts_with(&prefix))
}

/// Starts to track the unknown files of `status` and stops to track its deleted ones: they become added and removed.
/// A deleted file in its added list is dropped from that.
///
/// # Errors
/// [`WorkdirError::TrackedAbove`] or [`WorkdirError::TrackedBelow`] if a tracked file is in the way of a new one.
pub fn add_and_remove(dirstate: &mut Dirstate, status: &mut Status) -> Result<(), WorkdirError> {
    let new = std::mem::take(&mut status.unknown);
    let gone = std::mem::take(&mut status.deleted);
    for path in gone {
        dirstate.remove(&path);
        // A file that was only added is forgotten.
        if dirstate.get(&path).is_some() {
            status.removed.push(path);
        }
    }
    for path in &new {
        dirstate.check_clash(path)?;
        dirstate.add(path);
    }
    status.added.extend(new);
    status.added.sort_unstable();
    status.removed.sort_unstable();
    Ok(())
}
