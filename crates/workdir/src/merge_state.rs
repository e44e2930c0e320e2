//! What Mercurial keeps of a merge that is under way.
//!
//! `.hg/merge/state2` is a list of records:
//!
//! ```text
//! +------+------------+-----------------+
//! | type | length u32 | length bytes    |      big-endian
//! +------+------------+-----------------+
//! ```
//! The types `F`, `C`, `P`, `D` are files with `name \0 state \0 …`; state `u` is unresolved, so
//! is `pu` for a conflict of paths.

use crate::WorkdirError;
use std::path::PathBuf;
use varve_base::storage::read_if_there;
use varve_repo::{Node, Repository};

const HEADER_LEN: usize = 1 + 4;

fn folder(repository: &Repository) -> PathBuf {
    repository.root().join(".hg/merge")
}

/// Whether a merge is under way that left conflicts.
///
/// # Errors
/// What the storage answers.
pub fn has_unresolved(repository: &Repository) -> Result<bool, WorkdirError> {
    let path = folder(repository).join("state2");
    let bytes = read_if_there(repository.storage().as_ref(), &path)?;
    Ok(any_unresolved(&bytes.unwrap_or_default()))
}

/// What a merge that is under way brings in.
///
/// # Errors
/// What the storage answers.
pub fn other_side(repository: &Repository) -> Result<Option<Node>, WorkdirError> {
    let path = folder(repository).join("state2");
    let bytes = read_if_there(repository.storage().as_ref(), &path)?.unwrap_or_default();
    let mut bytes = &bytes[..];
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LEN>() {
        let len = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let Some((record, rest)) = rest.split_at_checked(len) else {
            break;
        };
        if header[0] == b'O' {
            return Ok(Node::from_hex(record));
        }
        bytes = rest;
    }
    Ok(None)
}

/// Forgets the merge, once it is committed or given up.
///
/// # Errors
/// What the system answers.
pub fn clear_merge(repository: &Repository) -> Result<(), WorkdirError> {
    let folder = folder(repository);
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(WorkdirError::io("remove", &folder)(error))
        }
        _ => Ok(()),
    }
}

pub(crate) fn any_unresolved(mut bytes: &[u8]) -> bool {
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LEN>() {
        let len = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let Some((record, rest)) = rest.split_at_checked(len) else {
            // A record that is cut off may have been about a conflict.
            return true;
        };
        bytes = rest;
        let is_file = matches!(header[0], b'F' | b'C' | b'P' | b'D');
        let state = record.split(|byte| *byte == 0).nth(1);
        if is_file && matches!(state, Some(b"u" | b"pu")) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, content: &[u8]) -> Vec<u8> {
        let len = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&[kind][..], &len, content].concat()
    }

    #[test]
    fn only_files_that_wait_for_the_user_count() {
        let local = record(b'L', &[b'u'; 40]);
        let resolved = record(b'F', b"a\0r\0hash\0a\0a\0base\0a\0other\0");
        let open = record(b'F', b"b\0u\0hash\0b\0b\0base\0b\0other\0");
        assert!(!any_unresolved(b""));
        assert!(!any_unresolved(&[&local[..], &resolved].concat()));
        assert!(any_unresolved(&[&local[..], &resolved, &open].concat()));
        assert!(any_unresolved(&open[..20]));
    }
}
