//! A report of the copies that matter to a merge, for users who want to know why files are merged as they are.

use std::collections::{BTreeMap, BTreeSet};

/// Copies of both sides since the base: ours, and theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// New files that only this side has, sorted.
    pub unmatched: [Vec<Vec<u8>>; 2],
    /// Copies and renames, by the new path.
    pub copies: [Vec<TracedCopy>; 2],
    /// Directories that a side renamed as a whole, by the old name; both names end with a slash.
    pub directories: [Vec<(Vec<u8>, Vec<u8>)>; 2],
    /// New files of a side with the path that they get below a directory that the other side renamed.
    pub moves: [Vec<(Vec<u8>, Vec<u8>)>; 2],
}

/// A file that a side copied or renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedCopy {
    /// The path in the base.
    pub source: Vec<u8>,
    /// The new path.
    pub path: Vec<u8>,
    /// The other side changed the source, so that the copy is merged.
    pub is_merged: bool,
    /// The other side renamed the source to another path.
    pub is_divergent: bool,
    /// The other side deleted the source.
    pub is_deleted: bool,
}

/// New names of files by the old one.
pub(crate) type NamesBySource = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

impl CopyReport {
    /// The new files of one side that the other side has not.
    pub(crate) fn unmatched_of(new: [&BTreeSet<Vec<u8>>; 2]) -> [Vec<Vec<u8>>; 2] {
        let only = |side: &BTreeSet<Vec<u8>>, other: &BTreeSet<Vec<u8>>| {
            side.difference(other).cloned().collect()
        };
        [only(new[0], new[1]), only(new[1], new[0])]
    }

    /// The copies of one side; `is_merged` says which are merged.
    pub(crate) fn traced(
        copies: &BTreeMap<Vec<u8>, Vec<u8>>,
        is_merged: impl Fn(&[u8]) -> bool,
        (divergent, deleted): (&NamesBySource, &NamesBySource),
    ) -> Vec<TracedCopy> {
        let is_named = |names: &NamesBySource, source: &[u8], path: &Vec<u8>| {
            names.get(source).is_some_and(|names| names.contains(path))
        };
        let traced = copies.iter().map(|(path, source)| TracedCopy {
            source: source.clone(),
            path: path.clone(),
            is_merged: is_merged(path),
            is_divergent: is_named(divergent, source, path),
            is_deleted: is_named(deleted, source, path),
        });
        traced.collect()
    }
}
