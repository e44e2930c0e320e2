//! Making the working copy that of another changeset.
//!
//! Obstacles are found before anything is changed. Then files are written and removed as in the
//! target, and those that both sides changed are merged; their earlier content is kept in the merge
//! state. The dirstate is written last: after an interruption it still describes the old
//! changeset, and the next status shows the finished part. The note `.hg/updatestate` says to
//! Mercurial and to us that this has happened.

mod apply;
mod check;
mod destination;
pub(crate) mod directories;
mod plan;
mod renames;
mod report;

use crate::branch_and_bookmark::set_branch;
use crate::dirstate::replace;
use crate::file_merges::keep_replaced;
use crate::file_merges::{MergeSettings, Merger, Outcome, note_possibly_dirty};
use crate::merge_state::{FileExtras, clear_merge};
use crate::{
    Comparison, Dirstate, MergeLabels, MergeOptions, Tree, UpdateEvent, UpdateObserver,
    UpdateStats, WorkdirError, WorkingFiles,
};
use plan::Planner;
use std::collections::HashMap;
use std::path::PathBuf;
use varve_base::{Interrupt, Progress};
use varve_repo::{Changeset, DEFAULT_BRANCH, Node, RepoView, Repository, Rev};

pub(crate) use apply::apply;
pub use check::check_update;
pub use destination::{
    BookmarkChange, Destination, DestinationBookmark, OtherHeads, bookmark_change,
    clone_destination, default_destination, destination, other_heads,
};
pub use plan::LocalChanges;
pub(crate) use plan::{Plan, Relocation, UpdateStep};
pub(crate) use renames::{RenameNote, merge_of_copy};
pub(crate) use report::PlanReport;

/// Where an update goes and how.
#[derive(Clone, Copy)]
pub struct UpdateRequest<'a> {
    /// The repository; the caller holds the lock of its working copy.
    pub repository: &'a Repository,
    /// Its dirstate.
    pub view: &'a RepoView,
    /// The changeset; `None` is the null revision.
    pub target: Option<Rev>,
    /// The treatment of local changes.
    pub local: LocalChanges,
    /// The merge tool.
    pub tool: &'a MergeOptions,
    /// Receives the progress of long steps.
    pub progress: &'a dyn Progress,
    /// Ends the work early.
    pub stop: &'a Interrupt,
}

/// Brings the working copy from its first parent to another changeset, and sets the branch of the next commit to that
/// of the changeset. `dirstate` has been read under the lock.
///
/// # Errors
/// An obstacle, before anything is changed, or a failure of the file system.
pub fn update(
    request: &UpdateRequest<'_>,
    dirstate: &mut Dirstate,
    observer: &mut dyn UpdateObserver,
) -> Result<UpdateStats, WorkdirError> {
    let stats = update_files(request, dirstate, observer)?;
    let branch = match request.target {
        Some(rev) => {
            let read = |changeset: Changeset<'_>| changeset.branch().into_owned();
            request.view.with_changeset(rev, read)?
        }
        None => DEFAULT_BRANCH.to_vec(),
    };
    set_branch(request.repository, &branch)?;
    Ok(stats)
}

fn update_files(
    request: &UpdateRequest<'_>,
    dirstate: &mut Dirstate,
    observer: &mut dyn UpdateObserver,
) -> Result<UpdateStats, WorkdirError> {
    let UpdateRequest {
        repository, view, ..
    } = *request;
    let [p1, p2] = dirstate.parents();
    if !p2.is_null() && request.local == LocalChanges::Refuse {
        return Err(WorkdirError::UncommittedChanges);
    }
    if !p2.is_null() && request.local != LocalChanges::Discard {
        return Err(WorkdirError::UncommittedMerge);
    }
    let old = view.changelog().rev(&p1);
    let (from, to) = (Tree::of(view, old)?, Tree::of(view, request.target)?);
    let files = WorkingFiles::of(repository);
    let plan = Planner {
        repository,
        stop: request.stop,
        dirstate,
        from: &from,
        to: &to,
        old,
        new: request.target,
        files: &files,
        untracked: &request.tool.untracked,
        copies: request.tool.copies,
        local: request.local,
        is_linear: is_linear(view, old, request.target),
        local_states: HashMap::new(),
    }
    .plan()?;
    let node = view.changelog().node_or_null(request.target);
    if node == p1 && request.local != LocalChanges::Discard {
        return Ok(UpdateStats::default());
    }
    carry_out(request, (&plan, &to), dirstate, observer)
}

/// Changes the files as planned, on the way from the first parent to the tree of the target, and then the dirstate.
pub(crate) fn carry_out(
    request: &UpdateRequest<'_>,
    (plan, to): (&Plan, &Tree<'_>),
    dirstate: &mut Dirstate,
    observer: &mut dyn UpdateObserver,
) -> Result<UpdateStats, WorkdirError> {
    let UpdateRequest {
        repository, view, ..
    } = *request;
    let p1 = dirstate.parents()[0];
    let node = view.changelog().node_or_null(request.target);
    let labels = MergeLabels::of_update();
    let settings = MergeSettings {
        repository,
        view,
        tool: request.tool,
        labels: &labels,
        stop: request.stop,
    };
    let merger = Merger::prepare(settings, &plan.merges, observer)?;
    let discards = request.local == LocalChanges::Discard;
    merger.observer.on_event(&UpdateEvent::Planned(&Comparison {
        ancestor: p1,
        ours: p1,
        theirs: node,
        is_branch_merge: false,
        discards,
        is_forced: discards,
        copies: plan.copies.as_ref(),
    }));
    let tracked = &*dirstate;
    let report = PlanReport {
        plan,
        reason: Box::new(|path, step| plan.reason_to_update(path, step, tracked)),
    };
    report.before_files_move(merger.observer);
    if !discards {
        plan.report_kept(to, merger.observer)?;
    }
    report.before_merges(merger.observer);
    drop(report);
    let touches = |step: &UpdateStep| {
        matches!(
            step,
            UpdateStep::Write(_) | UpdateStep::Remove | UpdateStep::Mode(_)
        )
    };
    if plan.steps.values().any(touches) || !plan.merges.is_empty() {
        note_begin(repository, &node)?;
    }
    clear_merge(repository)?;
    merger.keep()?;
    let backups = &request.tool.backups;
    let files = WorkingFiles::of(repository);
    keep_replaced(&plan.replaced, &files, backups)?;
    let work = (request.progress, request.stop);
    let written = apply(plan, view, work)?;
    let outcomes = merger.merge_all([p1, node], FileExtras::default())?;
    let boundary = Dirstate::clock(repository)?;
    note_entries(plan, dirstate);
    for (path, seen) in &written {
        dirstate.set_clean(path, seen, boundary);
    }
    for outcome in &outcomes {
        let in_target = to.get(&outcome.file.dest)?.is_some();
        outcome.note_update(dirstate, boundary, in_target);
    }
    forget_copies(dirstate, to)?;
    dirstate.set_parents([node, Node::NULL]);
    dirstate.write(repository)?;
    note_end(repository)?;
    Ok(count(plan, &outcomes))
}

pub(crate) fn count(plan: &Plan, outcomes: &[Outcome]) -> UpdateStats {
    let steps =
        |wanted: fn(&UpdateStep) -> bool| plan.steps.values().filter(|step| wanted(step)).count();
    let mut counts = UpdateStats {
        updated: steps(|step| matches!(step, UpdateStep::Write(_) | UpdateStep::Mode(_))),
        removed: steps(|step| matches!(step, UpdateStep::Remove)),
        ..UpdateStats::default()
    };
    for outcome in outcomes {
        outcome.count(&mut counts);
    }
    counts
}

/// Whether one of two changesets descends from the other.
fn is_linear(view: &RepoView, from: Option<Rev>, to: Option<Rev>) -> bool {
    let (Some(from), Some(to)) = (from, to) else {
        return true;
    };
    let (old, new) = (from.min(to), from.max(to));
    let mut wanted = std::collections::BTreeSet::from([new]);
    while let Some(rev) = wanted.pop_last() {
        if rev <= old {
            return rev == old;
        }
        let parents = view.changelog().parents(rev);
        wanted.extend(parents.into_iter().flatten());
    }
    false
}

fn note_entries(plan: &Plan, dirstate: &mut Dirstate) {
    for (path, step) in &plan.steps {
        match step {
            UpdateStep::Write(_) | UpdateStep::StayRemoved => {}
            UpdateStep::Mode(_) => note_possibly_dirty(dirstate, path),
            UpdateStep::Remove | UpdateStep::Forget => dirstate.forget(path),
        }
    }
}

/// A copy whose source is not in the target becomes a new file.
fn forget_copies(dirstate: &mut Dirstate, to: &Tree<'_>) -> Result<(), WorkdirError> {
    let mut gone = Vec::new();
    for (path, source) in dirstate.copies() {
        if to.get(source)?.is_none() {
            gone.push(path.to_vec());
        }
    }
    for path in gone {
        dirstate.copy(&path, None);
    }
    Ok(())
}

fn note(repository: &Repository) -> PathBuf {
    repository.root().join(".hg/updatestate")
}

/// Mercurial's own note: the node that an update is on its way to.
pub(crate) fn note_begin(repository: &Repository, node: &Node) -> Result<(), WorkdirError> {
    let storage = repository.storage().as_ref();
    let text = node.to_string();
    replace(storage, &note(repository), text.as_bytes())
}

pub(crate) fn note_end(repository: &Repository) -> Result<(), WorkdirError> {
    let storage = repository.storage().as_ref();
    if storage.kind(&note(repository))?.is_some() {
        storage.remove(&note(repository))?;
    }
    Ok(())
}

/// Whether an update was interrupted.
///
/// # Errors
/// A failure of the storage.
pub fn is_interrupted(repository: &Repository) -> Result<bool, WorkdirError> {
    Ok(repository.storage().kind(&note(repository))?.is_some())
}
