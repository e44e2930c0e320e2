//! The state of a merge in memory.

use crate::MergeLabels;
use std::collections::BTreeMap;
use varve_repo::{FileKind, Node};

/// A side of a merge that has the file: its name and revision there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// The name.
    pub path: Vec<u8>,
    /// The file revision.
    pub node: Node,
}

/// One file of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// The name of the result.
    pub path: Vec<u8>,
    /// Both sides were the same: nothing to resolve, but Mercurial notes extras about the file.
    pub(crate) same: bool,
    /// Whether nothing is left to do.
    pub resolved: bool,
    /// Our name, if we have it.
    pub ours: Option<Vec<u8>>,
    /// Our mode.
    pub kind: FileKind,
    /// The file in the base.
    pub base: Option<Present>,
    /// Their file.
    pub theirs: Option<Present>,
    /// The changeset of the base; null without a base.
    pub ancestor: Node,
}

impl FileState {
    /// The name of our version in `.hg/merge`, of 40 digits; zeros without one.
    pub fn key(&self) -> String {
        super::write::key(self.ours.as_deref())
    }
}

/// Extras of files by path, each a key and a value; also about files that nothing was merged in.
pub(crate) type FileExtras = BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>;

/// The key of the changeset of the base.
pub(super) const ANCESTOR: &[u8] = b"ancestorlinknode";
/// Their file revision is that of the merge.
pub(crate) const FILENODE_SOURCE: &[u8] = b"filenode-source";
/// One side has removed the file.
pub(crate) const REMOVAL_CANDIDATE: &[u8] = b"merge-removal-candidate";
const MERGED: &[u8] = b"merged";
const YES: &[u8] = b"yes";

/// A merge of the working copy that is not committed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeState {
    /// The first parent.
    pub local: Node,
    /// The changeset that is merged in.
    pub other: Node,
    /// The names of the sides.
    pub labels: MergeLabels,
    /// Files that there was something to merge in, by path.
    pub(super) files: BTreeMap<Vec<u8>, FileState>,
    pub(crate) extras: FileExtras,
    /// Records about conflicts of paths, which are kept as they are.
    pub(super) of_paths: Vec<(u8, Vec<u8>)>,
}

impl MergeState {
    pub(crate) fn new(local: Node, other: Node, labels: MergeLabels) -> MergeState {
        MergeState {
            local,
            other,
            labels,
            files: BTreeMap::new(),
            extras: FileExtras::new(),
            of_paths: Vec::new(),
        }
    }

    /// Adds a file that was merged, with the extras about it.
    pub(crate) fn add(&mut self, file: FileState) {
        let extras = self.extras.entry(file.path.clone()).or_default();
        extras.insert(ANCESTOR.to_vec(), file.ancestor.to_string().into_bytes());
        extras.insert(MERGED.to_vec(), YES.to_vec());
        if !file.same {
            self.files.insert(file.path.clone(), file);
        }
    }

    /// The files, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = &FileState> {
        self.files.values()
    }

    /// Extras of one file, each a key and a value, sorted.
    pub fn extras_of(&self, path: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
        let extras = self.extras.get(path).into_iter().flatten();
        extras.map(|(key, value)| (&key[..], &value[..]))
    }

    /// Paths of files with extras in which nothing was merged, sorted.
    pub fn other_paths(&self) -> impl Iterator<Item = &[u8]> {
        let paths = self.extras.keys().map(Vec::as_slice);
        paths.filter(|path| !self.files.contains_key(*path))
    }

    /// Whether the sides have names of their own.
    pub fn has_labels(&self) -> bool {
        self.labels != MergeLabels::unnamed()
    }

    /// One file.
    pub fn file(&self, path: &[u8]) -> Option<&FileState> {
        self.files.get(path)
    }

    /// Says whether a file is resolved; returns `false` if it is not part of the merge.
    pub fn set_resolved(&mut self, path: &[u8], resolved: bool) -> bool {
        let file = self.files.get_mut(path);
        file.map(|file| file.resolved = resolved).is_some()
    }

    /// Files that wait for the user, and conflicts of paths.
    pub fn unresolved(&self) -> usize {
        let files = self.files.values().filter(|file| !file.resolved);
        let is_open = |content: &[u8]| {
            let state = content.split(|byte| *byte == 0).nth(1);
            matches!(state, Some(b"u" | b"pu"))
        };
        files.count()
            + self
                .of_paths
                .iter()
                .filter(|(_, content)| is_open(content))
                .count()
    }
}
