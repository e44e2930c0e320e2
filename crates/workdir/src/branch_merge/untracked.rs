//! Untracked files in the way of a merge.

use super::Sides;
use crate::file_merges::MergeFile;
use crate::tree::TreeEntry;
use crate::update::{Plan, UpdateStep};
use crate::{OnUntracked, UntrackedFiles, WorkdirError, WorkingFiles};
use std::collections::BTreeSet;
use std::path::Path;
use varve_repo::{FileKind, Node};

/// Whether an untracked file is at `path` and differs from their file `source`.
fn differs(
    files: &WorkingFiles,
    sides: &Sides<'_>,
    (path, source): (&[u8], &[u8]),
    entry: TreeEntry,
) -> Result<bool, WorkdirError> {
    let is_free = sides.ours.get(path)?.is_some()
        || files.stat(path)?.is_none()
        || files.is_behind_link(path)?;
    if is_free {
        return Ok(false);
    }
    let (content, kind) = files.read(path)?;
    let is_link = |kind| kind == FileKind::Symlink;
    Ok(is_link(kind) != is_link(entry.1) || content != sides.theirs.content(source, &entry.0)?)
}

/// Merges untracked files with those that would take their place, without a base. Those that are replaced are left.
pub(super) fn merge(
    (files, root): (&WorkingFiles, &Path),
    plan: &mut Plan,
    sides: &Sides<'_>,
    untracked: &UntrackedFiles,
) -> Result<(), WorkdirError> {
    let mut merges = Vec::new();
    for (path, step) in &plan.steps {
        if let UpdateStep::Write(entry) = step
            && differs(files, sides, (path, path), *entry)?
        {
            merges.push(MergeFile {
                dest: path.clone(),
                ours: Some(path.clone()),
                base: None,
                theirs: Some((path.clone(), *entry)),
                moves: false,
                ancestor: Node::NULL,
            });
        }
    }
    if !untracked.refuse_all() {
        let paths = merges.iter().map(|merge| merge.dest.clone()).collect();
        let merged = untracked.treatments(root, paths)?.into_iter();
        let merged = merged.filter(|(_, how)| *how == OnUntracked::Refuse);
        let merged: BTreeSet<Vec<u8>> = merged.map(|(path, _)| path).collect();
        merges.retain(|merge| merged.contains(&merge.dest));
    }
    for merge in &merges {
        plan.steps.remove(&merge.dest);
    }
    plan.merges.extend(merges);
    plan.merges.sort_by(|a, b| a.order().cmp(&b.order()));
    Ok(())
}

/// Refuses to overwrite files that are not tracked and differ from those that would take their place, or plans to keep
/// them as backups. A forced merge asks about files that one side has deleted whatever is in their place, as in Mercurial.
pub(super) fn check(
    (files, root): (&WorkingFiles, &Path),
    plan: &mut Plan,
    sides: &Sides<'_>,
    (untracked, is_forced): (&UntrackedFiles, bool),
) -> Result<(), WorkdirError> {
    let mut colliding = Vec::new();
    let mut check = |path: &[u8], source: &[u8], entry: TreeEntry| {
        if differs(files, sides, (path, source), entry)? {
            colliding.push(path.to_vec());
        }
        Ok::<_, WorkdirError>(())
    };
    for (path, step) in &plan.steps {
        if let UpdateStep::Write(entry) = step {
            check(path, path, *entry)?;
        }
    }
    for relocation in &plan.relocations {
        if let Some(entry) = relocation.theirs {
            check(&relocation.to, &relocation.from, entry)?;
        }
    }
    for merge in plan.merges.iter().filter(|_| !is_forced) {
        if let (None, Some((source, entry))) = (&merge.ours, &merge.theirs) {
            check(&merge.dest, source, *entry)?;
        }
    }
    plan.replaced = untracked.permit(root, colliding)?;
    Ok(())
}
