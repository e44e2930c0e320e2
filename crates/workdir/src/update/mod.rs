//! Making the working copy that of another changeset.
//!
//! What is in the way is found before anything is touched. The dirstate is written last: after an
//! interruption it still tells of the old changeset, and the next status shows what was done. The
//! note `.hg/updatestate` says to Mercurial and to us that this has happened.

mod apply;
mod destination;
mod plan;

use crate::dirstate::replace;
use crate::{Dirstate, Tree, WorkdirError, WorkingFiles};
use plan::{Plan, Planner, Step};
use std::path::PathBuf;
use varve_base::{Interrupt, Progress};
use varve_repo::{Node, RepoView, Repository, Rev};

pub use destination::destination;
pub use plan::Local;
pub(crate) use plan::differences;

/// What an update did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Files that are now as in the target, and were not.
    pub updated: Vec<Vec<u8>>,
    /// Files that are no longer tracked.
    pub removed: Vec<Vec<u8>>,
}

/// Brings the working copy from its first parent to `target`; `None` is the null revision. The
/// caller holds the lock of the working copy, and has read `dirstate` under it.
///
/// # Errors
/// What stands in the way; nothing has been touched then. What the system answers.
pub fn update(
    repository: &Repository,
    view: &RepoView,
    dirstate: &mut Dirstate,
    target: Option<Rev>,
    local: Local,
    (progress, stop): (&dyn Progress, &Interrupt),
) -> Result<Updated, WorkdirError> {
    let [p1, p2] = dirstate.parents();
    let is_linear = is_linear(view, view.changelog().rev(&p1), target);
    if !p2.is_null() && local == Local::Keep {
        return Err(WorkdirError::UncommittedMerge);
    }
    if !p2.is_null() && local == Local::Refuse {
        return Err(WorkdirError::UncommittedChanges);
    }
    let from = Tree::of(view, view.changelog().rev(&p1))?;
    let to = Tree::of(view, target)?;
    let files = WorkingFiles::new(repository.root());
    let plan = Planner {
        repository,
        stop,
        dirstate,
        from: &from,
        to: &to,
        files: &files,
        local,
        is_linear,
    }
    .plan()?;
    let node = view.changelog().node_or_null(target);
    let touches = |step: &Step| matches!(step, Step::Write(_) | Step::Remove);
    if plan.values().any(touches) {
        note_begin(repository, &node)?;
    }
    let written = apply::apply(&plan, view, repository.root(), (progress, stop))?;
    let boundary = Dirstate::clock(repository)?;
    note_entries(&plan, dirstate);
    for (path, seen) in &written {
        dirstate.set_clean(path, seen, boundary);
    }
    dirstate.set_parents([node, Node::NULL]);
    dirstate.write(repository)?;
    note_end(repository)?;
    let named = |wanted: fn(&Step) -> bool| {
        let steps = plan.iter().filter(|(_, step)| wanted(step));
        steps.map(|(path, _)| path.clone()).collect()
    };
    Ok(Updated {
        updated: named(|step| matches!(step, Step::Write(_) | Step::Note(_))),
        removed: named(|step| matches!(step, Step::Remove | Step::Forget)),
    })
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
    for (path, step) in plan {
        match step {
            Step::Write(_) => {}
            Step::Note(_) => note_possibly_dirty(dirstate, path),
            Step::Remove | Step::Forget => dirstate.forget(path),
            Step::StayRemoved => {}
        }
    }
}

/// Tracked, in the parent, and to be looked at again.
fn note_possibly_dirty(dirstate: &mut Dirstate, path: &[u8]) {
    dirstate.copy(path, None);
    dirstate.set_tracking(
        path,
        crate::Tracking {
            working: true,
            p1: true,
            p2_info: false,
        },
    );
}

fn note(repository: &Repository) -> PathBuf {
    repository.root().join(".hg/updatestate")
}

/// Mercurial's own note: the node that an update is on its way to.
fn note_begin(repository: &Repository, node: &Node) -> Result<(), WorkdirError> {
    let storage = repository.storage().as_ref();
    let text = node.to_string();
    replace(storage, &note(repository), text.as_bytes())
}

fn note_end(repository: &Repository) -> Result<(), WorkdirError> {
    let storage = repository.storage().as_ref();
    if storage.kind(&note(repository))?.is_some() {
        storage.remove(&note(repository))?;
    }
    Ok(())
}

/// Whether an update was interrupted.
///
/// # Errors
/// What the storage answers.
pub fn is_interrupted(repository: &Repository) -> Result<bool, WorkdirError> {
    Ok(repository.storage().kind(&note(repository))?.is_some())
}
