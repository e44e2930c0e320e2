//! A part of the changes of the working copy, as the user has chosen it.

use crate::Status;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::FileKind;

/// Files as a commit of chosen changes has them. Those in the working copy may have more changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenFiles {
    /// Contents and kinds by path.
    pub written: BTreeMap<Vec<u8>, (Vec<u8>, FileKind)>,
    /// Paths of the files that go.
    pub removed: BTreeSet<Vec<u8>>,
}

impl ChosenFiles {
    /// Leaves in `status` only the chosen files.
    pub fn restrict(&self, status: &mut Status) {
        let is_written = |path: &Vec<u8>| self.written.contains_key(path);
        status.modified.retain(is_written);
        status.added.retain(is_written);
        status.removed.retain(|path| self.removed.contains(path));
    }
}
