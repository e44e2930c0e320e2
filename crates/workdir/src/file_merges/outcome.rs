//! Results of merging one file, and their entries in the dirstate and the merge state.

use super::MergeFile;
use crate::merge_state::{FileState, Present};
use crate::tree::TreeEntry;
use crate::{Dirstate, Stat, Timestamp, Tracking};
use varve_repo::{FileKind, Node};

/// How many files an update has changed in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateStats {
    /// Files that are now as in the target, and were not.
    pub updated: usize,
    /// Files whose changes here and there are now together.
    pub merged: usize,
    /// Files that are no longer tracked.
    pub removed: usize,
    /// Files with conflicts.
    pub unresolved: usize,
}

/// How a merge has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Both sides had the same content.
    Same,
    /// Nothing is left to do.
    Resolved,
    /// There are unresolved conflicts.
    Unresolved,
    /// The file is gone.
    Deleted,
}

/// One file after its merge.
pub(crate) struct Outcome {
    pub(crate) file: MergeFile,
    pub(crate) end: End,
    /// Its stat, if the file is as on their side.
    pub(crate) clean: Option<Stat>,
}

impl Outcome {
    pub(crate) fn count(&self, counts: &mut UpdateStats) {
        match self.end {
            End::Same => counts.updated += 1,
            End::Unresolved => counts.unresolved += 1,
            End::Resolved => counts.merged += 1,
            End::Deleted if self.file.theirs.is_some() => counts.merged += 1,
            End::Deleted => counts.removed += 1,
        }
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_resolved(&self) -> bool {
        self.end != End::Unresolved
    }

    /// Whether the merge ended without the file.
    pub(crate) fn is_deleted(&self) -> bool {
        self.end == End::Deleted
    }

    /// Makes the entries after an update. `in_target` tells whether the only parent has the file under its new name.
    pub(crate) fn note_update(
        &self,
        dirstate: &mut Dirstate,
        boundary: Timestamp,
        in_target: bool,
    ) {
        let path = &self.file.dest;
        if let (Some(ours), true) = (&self.file.ours, self.file.moves) {
            dirstate.forget(ours);
        }
        match (&self.clean, in_target) {
            // Mercurial forgets the file even if the target has it: it is then in no list of a status.
            _ if self.end == End::Deleted => dirstate.forget(path),
            (Some(seen), true) => dirstate.set_clean(path, seen, boundary),
            (None, true) => note_possibly_dirty(dirstate, path),
            (_, false) => dirstate.set_tracking(
                path,
                Tracking {
                    working: true,
                    p1: false,
                    p2_info: false,
                },
            ),
        }
    }
}

/// The record for `resolve`; `kind` is our mode.
pub(crate) fn state(outcome: &Outcome, kind: FileKind) -> FileState {
    let side = |side: &Option<(Vec<u8>, TreeEntry)>| {
        let side = side.as_ref();
        side.map(|(path, (node, _))| Present {
            path: path.clone(),
            node: *node,
        })
    };
    let file = &outcome.file;
    FileState {
        path: file.dest.clone(),
        same: outcome.end == End::Same,
        resolved: outcome.end != End::Unresolved,
        ours: file.ours.clone(),
        kind,
        base: side(&file.base),
        theirs: side(&file.theirs),
        ancestor: match file.base {
            Some(_) => file.ancestor,
            None => Node::NULL,
        },
    }
}

/// Tracked, in the parent, and to be looked at again.
pub(crate) fn note_possibly_dirty(dirstate: &mut Dirstate, path: &[u8]) {
    dirstate.copy(path, None);
    dirstate.set_tracking(
        path,
        Tracking {
            working: true,
            p1: true,
            p2_info: false,
        },
    );
}
