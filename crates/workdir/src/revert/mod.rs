//! Giving files back the content that they have in a changeset. The parents of the working copy
//! stay, so that what comes from another changeset shows as a change.

mod plan;

use crate::{Backups, Dirstate, PathAuditor, Tree, WorkdirError, WorkingFiles};
use varve_base::Interrupt;
use varve_lang::patterns::PathCheck;
use varve_repo::{RepoView, Repository};

pub use plan::{Action, RevertPlan, RevertStep, plan_revert};

/// Does what was planned. Files that lose content are kept as `backups` says. The caller holds the lock of the working copy, and writes the dirstate.
///
/// # Errors
/// What cannot be read or written.
pub fn revert(
    repository: &Repository,
    view: &RepoView,
    dirstate: &mut Dirstate,
    plan: &RevertPlan,
    backups: &Backups,
    stop: &Interrupt,
) -> Result<(), WorkdirError> {
    let files = WorkingFiles::new(repository.root());
    let parent = Tree::of(view, view.changelog().rev(&dirstate.parents()[0]))?;
    let mut written = Vec::new();
    for step in &plan.steps {
        stop.check()?;
        // A link that was removed may have stood where a folder is now.
        PathAuditor::new(repository.root()).check(&step.path)?;
        if step.loses_content
            && files.look(&step.path)?.is_some()
            && let Some(place) = backups.place(&step.path)
        {
            files.keep_original(&step.path, &place)?;
        }
        if step.action == Action::Forget {
            dirstate.remove(&step.path);
            continue;
        }
        let Some((node, kind)) = step.target else {
            files.remove(&step.path)?;
            dirstate.remove(&step.path);
            continue;
        };
        let content = view.file_content(&step.path, &node)?;
        files.make_folders(&step.path)?;
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
