//! The list of a merge in progress that programs of before 2011 read: `.hg/merge/state`.
//!
//! Its first line is the changeset of the working copy. Each other line is a file that is merged: name, state, hash,
//! our name, name and node before, their name, flags; fields are separated by zero bytes.

use super::{MergeState, OLDER_LIST, read_list};
use crate::WorkdirError;
use varve_repo::{Node, Repository};

/// Fields of a file's line.
const FIELDS: usize = 8;

/// A merge as the older list describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldMergeState {
    /// The changeset of the working copy.
    pub local: Node,
    /// The files in order.
    pub files: Vec<OldFileState>,
}

/// A file of an older list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldFileState {
    /// The path of the result.
    pub path: Vec<u8>,
    /// `u` for unresolved, `r` for resolved.
    pub state: Vec<u8>,
    /// Hash under which our version is kept.
    pub key: Vec<u8>,
    /// Our path.
    pub ours: Vec<u8>,
    /// The path before.
    pub base: Vec<u8>,
    /// The node before, in hexadecimal digits.
    pub base_node: Vec<u8>,
    /// Their path.
    pub theirs: Vec<u8>,
    /// `x`, `l` or nothing.
    pub flags: Vec<u8>,
}

impl OldMergeState {
    /// The older list, if there is one.
    ///
    /// # Errors
    /// [`WorkdirError::DamagedMergeState`]; a failure of the storage.
    pub fn read(repository: &Repository) -> Result<Option<OldMergeState>, WorkdirError> {
        let list = read_list(repository, OLDER_LIST)?;
        list.map(|bytes| OldMergeState::parse(&bytes)).transpose()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<OldMergeState, WorkdirError> {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let mut lines = text.split(|byte| *byte == b'\n');
        let local = lines.next().and_then(Node::from_hex);
        let local = local.ok_or(WorkdirError::DamagedMergeState)?;
        let files = lines.map(|line| {
            let fields: Vec<Vec<u8>> = line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
            let [path, state, key, ours, base, base_node, theirs, flags] =
                <[Vec<u8>; FIELDS]>::try_from(fields)
                    .map_err(|_| WorkdirError::DamagedMergeState)?;
            Ok(OldFileState {
                path,
                state,
                key,
                ours,
                base,
                base_node,
                theirs,
                flags,
            })
        });
        let files = files.collect::<Result<_, WorkdirError>>()?;
        Ok(OldMergeState { local, files })
    }

    /// True if a newer list describes the same merge; it may have more files.
    pub fn agrees_with(&self, newer: &MergeState) -> bool {
        let same = OldMergeState::parse(&newer.old());
        same.is_ok_and(|same| {
            same.local == self.local && self.files.iter().all(|file| same.files.contains(file))
        })
    }
}
