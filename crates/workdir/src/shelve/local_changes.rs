//! From a changeset to local changes over another one.

use crate::file_merges::MergeFile;
use crate::tree::differences;
use crate::update::{Plan, UpdateStep, carry_out, merge_of_copy};
use crate::{
    Dirstate, Ignore, RevertAction, RevertPlan, StatusLists, StatusRequest, Tracking, Tree,
    UpdateObserver, UpdateRequest, UpdateStats, WorkdirError, WorkingFiles, clear_merge,
    copies_between, plan_revert, status_between, working_status,
};
use std::collections::BTreeSet;
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, RepoView, Repository, Rev};

/// Plans to give the working copy what `after` has and `before` has not. `view` has both, and the first parent of the
/// working copy, which lies below `before` and whose local changes are those of `before`. Only untracked files lose
/// content that is nowhere else.
///
/// # Errors
/// Damage in the repository; a failure to read the working copy.
pub fn plan_local_changes(
    (repository, view): (&Repository, &RepoView),
    dirstate: &Dirstate,
    [before, after]: [Option<Rev>; 2],
    stop: &Interrupt,
) -> Result<RevertPlan, WorkdirError> {
    let parent = view.changelog().rev(&dirstate.parents()[0]);
    let (from, to) = (Tree::of(view, parent)?, Tree::of(view, after)?);
    let base = Tree::of(view, before)?;
    let look = |matcher: &Matcher| {
        let looked = working_status(&StatusRequest {
            repository,
            dirstate,
            matcher,
            ignore: &Ignore::default(),
            listing: StatusLists::default(),
            stop,
        });
        looked.map(|looked| looked.status)
    };
    // As in Mercurial, files that are missing come back.
    let mut changed = look(&Matcher::everything())?.deleted;
    let differing = differences(&base, &to)?;
    changed.extend(differing.into_iter().map(|(path, ..)| path.to_vec()));
    let matcher = Matcher::exactly(changed);
    let status = look(&matcher)?;
    let files = WorkingFiles::of(repository);
    let mut plan = plan_revert(dirstate, (&from, &to), &status, &files, &matcher)?;
    for step in &mut plan.steps {
        let is_tracked = dirstate.get(&step.path).is_some();
        step.loses_content &= !is_tracked && step.action == RevertAction::Add;
        // A file that was added here and is not in the result goes away, as an update would remove it.
        if step.action == RevertAction::Forget {
            step.action = RevertAction::Remove;
        }
    }
    Ok(plan)
}

/// Updates from the first parent to another changeset. Files that differ, and have more changes on the disk, are merged;
/// all that are alike, changed or not, stay as they are, except that files copied from one that differs are merged with it. `dirstate` has been read under the lock.
///
/// # Errors
/// Damage in the repository; a failure of the file system.
pub fn leave_changeset(
    request: &UpdateRequest<'_>,
    dirstate: &mut Dirstate,
    observer: &mut dyn UpdateObserver,
) -> Result<UpdateStats, WorkdirError> {
    let view = request.view;
    let parent = dirstate.parents()[0];
    let old = view.changelog().rev(&parent);
    let (from, to) = (Tree::of(view, old)?, Tree::of(view, request.target)?);
    let files = WorkingFiles::of(request.repository);
    let mut plan = Plan::default();
    for (path, before, after) in differences(&from, &to)? {
        if let Some(before) = before.filter(|_| dirstate.is_tracked(path))
            && files.look(path)?.is_some()
            && files.read(path)?.0 != from.content(path, &before.0)?
        {
            plan.merges.push(MergeFile {
                dest: path.to_vec(),
                ours: Some(path.to_vec()),
                base: Some((path.to_vec(), before)),
                theirs: after.map(|after| (path.to_vec(), after)),
                moves: false,
                ancestor: parent,
            });
            continue;
        }
        let step = after.map_or(UpdateStep::Remove, UpdateStep::Write);
        plan.steps.insert(path.to_vec(), step);
    }
    for (path, source) in dirstate.copies() {
        let is_new = dirstate.is_tracked(path) && from.get(path)?.is_none();
        if is_new && files.look(path)?.is_some() {
            plan.merges
                .extend(merge_of_copy((path, source), (&from, &to), parent)?);
        }
    }
    plan.merges.sort_by(|a, b| a.order().cmp(&b.order()));
    carry_out(request, (&plan, &to), dirstate, observer)
}

/// Makes `parent` the only parent of the working copy, whose files are those of `changed`: its changes become local
/// ones. `dirstate` describes `changed`. The files in `unknown` are not tracked any more.
///
/// # Errors
/// Damage in the repository; a failure of the storage.
pub fn show_as_local_changes(
    (repository, view): (&Repository, &RepoView),
    dirstate: &mut Dirstate,
    [parent, changed]: [Option<Rev>; 2],
    unknown: &BTreeSet<Vec<u8>>,
) -> Result<(), WorkdirError> {
    let (old, new) = (Tree::of(view, parent)?, Tree::of(view, changed)?);
    for (path, before, after) in differences(&old, &new)? {
        match (before, after) {
            (None, Some(_)) if unknown.contains(path) => dirstate.forget(path),
            (None, Some(_)) => {
                dirstate.forget(path);
                dirstate.add(path);
            }
            (Some(_), None) => {
                let (working, p1, p2_info) = (false, true, false);
                let tracking = Tracking {
                    working,
                    p1,
                    p2_info,
                };
                dirstate.set_tracking(path, tracking);
            }
            _ => dirstate.set_possibly_dirty(path),
        }
    }
    let everything = Matcher::everything();
    let status = status_between(view, parent, changed, &everything, false)?;
    for (path, source) in copies_between(view, parent, changed, &status)? {
        if dirstate.is_tracked(&path) {
            dirstate.copy(&path, Some(&source));
        }
    }
    let node = view.changelog().node_or_null(parent);
    dirstate.set_parents([node, Node::NULL]);
    dirstate.write(repository)?;
    clear_merge(repository)
}
