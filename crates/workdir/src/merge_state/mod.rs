//! The state of a merge in progress, in `.hg/merge`.
//!
//! `state2` is a list of [records](record); `state` has the same for programs of before 2011, with
//! less. Beside them is the earlier content of each file, under the hash of its path.
//!
//! | type | content |
//! | --- | --- |
//! | `L`, `O` | the changesets that are merged |
//! | `F` | a file: name, state, hash, our name, name and node before, their name and node, flags |
//! | `C` | the same for a file that one side has deleted |
//! | `P`, `D` | other conflicts, which begin with name and state too |
//! | `f` | further extras about a file |
//! | `l` | labels of the three sides |
//!
//! Fields end with a zero byte, the last one without. State `u` is unresolved, so is `pu` for a
//! conflict of paths; `r` is resolved.

mod old;
mod read;
mod record;
mod state;
mod write;

pub use old::{OldFileState, OldMergeState};
pub(crate) use state::{FILENODE_SOURCE, FileExtras, REMOVAL_CANDIDATE};
pub use state::{FileState, MergeState, Present};

use crate::WorkdirError;
use record::Records;
use std::path::PathBuf;
use varve_base::storage::read_if_there;
use varve_repo::{Node, Repository};

fn directory(repository: &Repository) -> PathBuf {
    repository.root().join(".hg/merge")
}

/// The list of records.
const NEWER_LIST: &str = "state2";
/// The list for programs of before 2011.
const OLDER_LIST: &str = "state";

/// The bytes of a list; `None` if it is not there or has none.
fn read_list(repository: &Repository, name: &str) -> Result<Option<Vec<u8>>, WorkdirError> {
    let path = directory(repository).join(name);
    let bytes = read_if_there(repository.storage().as_ref(), &path)?;
    Ok(bytes.filter(|bytes| !bytes.is_empty()))
}

/// How many files of a merge that is under way wait for the user.
///
/// # Errors
/// A failure of the storage.
pub fn unresolved(repository: &Repository) -> Result<usize, WorkdirError> {
    let list = read_list(repository, NEWER_LIST)?;
    Ok(count_unresolved(&list.unwrap_or_default()))
}

/// Whether a merge is under way that left conflicts.
///
/// # Errors
/// A failure of the storage.
pub fn has_unresolved(repository: &Repository) -> Result<bool, WorkdirError> {
    Ok(unresolved(repository)? > 0)
}

/// The changeset that a merge in progress brings in.
///
/// # Errors
/// A failure of the storage.
pub fn other_side(repository: &Repository) -> Result<Option<Node>, WorkdirError> {
    let bytes = read_list(repository, NEWER_LIST)?.unwrap_or_default();
    let mut others = Records::new(&bytes).filter(|(kind, _)| *kind == b'O');
    let other = others.next().and_then(|(_, content)| content);
    Ok(other.and_then(Node::from_hex))
}

/// The same while files of the merge wait for the user; `None` once all are resolved.
///
/// # Errors
/// A failure of the storage.
pub fn conflicting_side(repository: &Repository) -> Result<Option<Node>, WorkdirError> {
    match has_unresolved(repository)? {
        true => other_side(repository),
        false => Ok(None),
    }
}

/// Whether a merge is recorded.
pub(crate) fn is_there(repository: &Repository) -> bool {
    directory(repository).join(NEWER_LIST).exists()
}

/// Forgets the merge, once it is committed or given up.
///
/// # Errors
/// A failure of the file system.
pub fn clear_merge(repository: &Repository) -> Result<(), WorkdirError> {
    let directory = directory(repository);
    match std::fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(WorkdirError::io("remove", &directory)(error))
        }
        _ => Ok(()),
    }
}

pub(crate) fn count_unresolved(bytes: &[u8]) -> usize {
    let waits = |(kind, content): &(u8, Option<&[u8]>)| {
        // A record that is cut off may have been about a conflict.
        let Some(content) = content else {
            return true;
        };
        let is_file = matches!(kind, b'F' | b'C' | b'P' | b'D');
        let state = content.split(|byte| *byte == 0).nth(1);
        is_file && matches!(state, Some(b"u" | b"pu"))
    };
    Records::new(bytes).filter(waits).count()
}

#[cfg(test)]
mod tests;
