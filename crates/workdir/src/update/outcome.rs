//! Results of merging one file, and their entries in the dirstate and the merge state.

use super::plan::MergeFile;
use super::{UpdateStats, note_possibly_dirty};
use crate::merge_state::{FileState, Present};
use crate::tree::TreeEntry;
use crate::{Dirstate, Stat, Timestamp, Tracking};
use varve_repo::FileKind;

/// How a merge has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
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
pub(super) struct Outcome {
    pub(super) file: MergeFile,
    pub(super) end: End,
    /// Its stat, if the file is as in the target.
    pub(super) clean: Option<Stat>,
    /// Whether the target has it under this name.
    pub(super) in_target: bool,
}

impl Outcome {
    pub(super) fn count(&self, counts: &mut UpdateStats) {
        match self.end {
            End::Same => counts.updated += 1,
            End::Unresolved => counts.unresolved += 1,
            End::Resolved => counts.merged += 1,
            End::Deleted if self.file.theirs.is_some() => counts.merged += 1,
            End::Deleted => counts.removed += 1,
        }
    }

    pub(super) fn note(&self, dirstate: &mut Dirstate, boundary: Timestamp) {
        let path = &self.file.dest;
        if let (Some(ours), true) = (&self.file.ours, self.file.moves) {
            dirstate.forget(ours);
        }
        match (&self.clean, self.in_target) {
            // The target has it, so that it must be removed there too.
            (_, true) if self.end == End::Deleted => {
                note_possibly_dirty(dirstate, path);
                dirstate.remove(path);
            }
            (_, false) if self.end == End::Deleted => dirstate.forget(path),
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
pub(super) fn state(outcome: &Outcome, kind: FileKind) -> FileState {
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
    }
}
