//! Refusals of a merge before anything is planned.

use crate::{
    Dirstate, IgnoreFiles, StatusLists, StatusRequest, WorkdirError, branch, has_unresolved,
    working_status,
};
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{Changeset, RepoView, Repository, Rev};

/// Refuses a merge that would bring nothing, or into a working copy that is not clean, which matters not if it
/// `keeps_changes`.
///
/// # Errors
/// [`WorkdirError::UncommittedMerge`], [`WorkdirError::UnresolvedFiles`], [`WorkdirError::MergesAncestor`],
/// [`WorkdirError::MergesDescendant`], [`WorkdirError::ChangedFiles`]; a failure to read the working copy.
pub fn check_merge(
    repository: &Repository,
    view: &RepoView,
    dirstate: &Dirstate,
    (other, keeps_changes): (Rev, bool),
    stop: &Interrupt,
) -> Result<(), WorkdirError> {
    let [p1, p2] = dirstate.parents();
    if !p2.is_null() {
        return Err(WorkdirError::UncommittedMerge);
    }
    if has_unresolved(repository)? {
        return Err(WorkdirError::UnresolvedFiles);
    }
    let local = view.changelog().rev(&p1);
    if let Some(local) = local {
        if local == other || view.is_descendant(local, other) {
            return Err(WorkdirError::MergesAncestor);
        }
        let read = |changeset: Changeset<'_>| changeset.branch().into_owned();
        let is_same_branch = || -> Result<bool, WorkdirError> {
            Ok(view.with_changeset(other, read)? == branch(repository)?)
        };
        if view.is_descendant(other, local) && is_same_branch()? {
            return Err(WorkdirError::MergesDescendant);
        }
    } else {
        return Err(WorkdirError::MergesDescendant);
    }
    if keeps_changes {
        return Ok(());
    }
    let files = IgnoreFiles::read(repository.root(), &[])?;
    let found = working_status(&StatusRequest {
        repository,
        dirstate,
        matcher: &Matcher::everything(),
        ignore: &files.ignore,
        listing: StatusLists::default(),
        stop,
    })?;
    match found.status.is_unchanged() {
        true => Ok(()),
        false => Err(WorkdirError::ChangedFiles),
    }
}
