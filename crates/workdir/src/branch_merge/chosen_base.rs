//! The dirstate after a merge over a chosen base, which leaves the working copy with one parent.

use crate::file_merges::Outcome;
use crate::{Dirstate, Tracking, Tree, WorkdirError, copies_between, status_between};
use std::collections::BTreeMap;
use varve_lang::patterns::Matcher;
use varve_repo::Rev;

/// Files that were merged are as with local changes over the first parent. A copy stays if its source is in that parent
/// and its name is new there.
pub(super) fn drop_second_parent(
    dirstate: &mut Dirstate,
    ours: &Tree<'_>,
    outcomes: &[Outcome],
) -> Result<(), WorkdirError> {
    let merged: Vec<(Vec<u8>, bool)> = dirstate
        .iter()
        .filter(|(_, item)| item.tracking().p2_info)
        .map(|(path, item)| (path.to_vec(), item.is_tracked()))
        .collect();
    // As in Mercurial, an untracked file that was merged counts as one of the first parent.
    let was_untracked = |path: &[u8]| {
        let mut merges = outcomes.iter().map(|outcome| &outcome.file);
        merges.any(|file| file.dest == path && file.ours.as_ref() == Some(&file.dest))
    };
    for (path, working) in merged {
        let tracking = Tracking {
            working,
            p1: ours.get(&path)?.is_some() || was_untracked(&path),
            p2_info: false,
        };
        dirstate.set_tracking(&path, tracking);
    }
    let mut stale = Vec::new();
    for (path, source) in dirstate.copies() {
        if ours.get(path)?.is_some() || ours.get(source)?.is_none() {
            stale.push(path.to_vec());
        }
    }
    for path in stale {
        dirstate.copy(&path, None);
    }
    Ok(())
}

/// Records the copies from `base` to `other` whose sources the first parent has.
pub(super) fn record_copies(
    dirstate: &mut Dirstate,
    ours: &Tree<'_>,
    base: Option<Rev>,
    other: Rev,
) -> Result<(), WorkdirError> {
    let view = ours.view();
    let changed = status_between(view, base, Some(other), &Matcher::everything(), false)?;
    let copies = copies_between(view, base, Some(other), &changed)?;
    record(dirstate, ours, copies)
}

/// Records copies whose sources the first parent has.
pub(super) fn record(
    dirstate: &mut Dirstate,
    ours: &Tree<'_>,
    copies: BTreeMap<Vec<u8>, Vec<u8>>,
) -> Result<(), WorkdirError> {
    for (path, source) in copies {
        let is_new = dirstate.is_tracked(&path) && ours.get(&path)?.is_none();
        if is_new && ours.get(&source)?.is_some() {
            dirstate.copy(&path, Some(&source));
        }
    }
    Ok(())
}
