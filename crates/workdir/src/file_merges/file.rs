//! A file that both sides of a merge have changed.

use crate::manifest_merge::Reason;
use crate::tree::TreeEntry;
use varve_repo::Node;

/// A file that both sides have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MergeFile {
    /// Its name afterwards.
    pub dest: Vec<u8>,
    /// Our name of it, unless we deleted it.
    pub ours: Option<Vec<u8>>,
    /// The file in the base, if it has one.
    pub base: Option<(Vec<u8>, TreeEntry)>,
    /// Their file, unless they deleted it.
    pub theirs: Option<(Vec<u8>, TreeEntry)>,
    /// Whether our name goes.
    pub moves: bool,
    /// The changeset of the base.
    pub ancestor: Node,
}

impl MergeFile {
    /// Why the file is merged.
    pub fn reason(&self) -> Reason {
        let theirs = self.theirs.as_ref().map(|(path, _)| &path[..]);
        let base = self.base.as_ref().map(|(path, _)| &path[..]);
        Reason::to_merge([self.ours.as_deref(), theirs, base], self.moves)
    }

    /// The order of the merges: files that they deleted come first, then those that we deleted.
    pub fn order(&self) -> (bool, bool, &[u8]) {
        let (here, there) = (self.ours.is_some(), self.theirs.is_some());
        (there, here, &self.dest)
    }
}
