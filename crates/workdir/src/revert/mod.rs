//! Giving files back the content that they have in a changeset. The parents of the working copy
//! stay, so that content of another changeset shows as a change.

mod plan;

use crate::{
    Backups, Dirstate, PathAuditor, Tree, WorkdirError, WorkingFiles, copies_between,
    status_between,
};
use varve_base::Interrupt;
use varve_lang::patterns::{Matcher, PathCheck};
use varve_repo::{RepoView, Repository, Rev};

pub use plan::{RevertAction, RevertPlan, RevertStep, plan_revert};

/// Applies a plan. Files that lose content are backed up as `backups` says. The caller holds the lock
/// of the working copy, and writes the dirstate.
///
/// # Errors
/// A failure to read or write.
pub fn revert(
    repository: &Repository,
    view: &RepoView,
    dirstate: &mut Dirstate,
    plan: &RevertPlan,
    backups: &Backups,
    stop: &Interrupt,
) -> Result<(), WorkdirError> {
    let files = WorkingFiles::of(repository);
    let parent = Tree::of(view, view.changelog().rev(&dirstate.parents()[0]))?;
    let mut written = Vec::new();
    for step in &plan.steps {
        stop.check()?;
        // A link that was removed may have stood where a directory is now.
        PathAuditor::new(repository.root()).check(&step.path)?;
        if step.loses_content
            && files.look(&step.path)?.is_some()
            && let Some(place) = backups.place(&step.path)
        {
            files.keep_original(&step.path, &place)?;
        }
        if step.action == RevertAction::Forget {
            dirstate.remove(&step.path);
            continue;
        }
        let Some((node, kind)) = step.target else {
            files.remove(&step.path)?;
            dirstate.remove(&step.path);
            continue;
        };
        dirstate.check_clash(&step.path)?;
        let content = view.file_content(&step.path, &node)?;
        files.make_directories(&step.path)?;
        let seen = files.write(&step.path, &content, kind)?;
        dirstate.add(&step.path);
        let is_clean = parent.get(&step.path)? == step.target;
        let is_merged = dirstate
            .get(&step.path)
            .is_some_and(|item| item.tracking().p2_info);
        if is_clean && !is_merged {
            written.push((&step.path, seen));
        } else {
            dirstate.set_possibly_dirty(&step.path);
        }
    }
    let boundary = Dirstate::clock(repository)?;
    for (path, seen) in written {
        dirstate.set_clean(path, &seen, boundary);
    }
    Ok(())
}

/// Copies the files of a plan that lose content, for callers that then change a part of it.
///
/// # Errors
/// A failure to read or write.
pub fn back_up(
    repository: &Repository,
    plan: &RevertPlan,
    backups: &Backups,
) -> Result<(), WorkdirError> {
    let files = WorkingFiles::of(repository);
    for step in plan.steps.iter().filter(|step| step.loses_content) {
        files.back_up(&step.path, backups)?;
    }
    Ok(())
}

/// Records copies between the first parent `from` and the changeset `to` for files that a plan has brought back from
/// there.
///
/// # Errors
/// Damage in the repository.
pub fn record_reverted_copies(
    view: &RepoView,
    dirstate: &mut Dirstate,
    plan: &RevertPlan,
    from: Option<Rev>,
    to: Option<Rev>,
) -> Result<(), WorkdirError> {
    let brings = |step: &&RevertStep| {
        matches!(
            step.action,
            RevertAction::Add | RevertAction::Undelete | RevertAction::Revert
        )
    };
    if from == to || !plan.steps.iter().any(|step| brings(&step)) {
        return Ok(());
    }
    let changed = status_between(view, from, to, &Matcher::everything(), false)?;
    let copies = copies_between(view, from, to, &changed)?;
    for step in plan.steps.iter().filter(brings) {
        if let Some(source) = copies.get(&step.path) {
            dirstate.copy(&step.path, Some(source));
        }
    }
    Ok(())
}
