//! Refusals of an update before anything is planned.

use super::LocalChanges;
use crate::{
    Dirstate, IgnoreFiles, StatusLists, StatusRequest, WorkdirError, has_unresolved, working_status,
};
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::Repository;

/// Refuses an update while files are unresolved, unless it discards local changes. With `looks_for_changes`, an
/// update that refuses local changes is refused here, before any hook runs, and not only by [`super::update`].
///
/// # Errors
/// [`WorkdirError::UnresolvedFiles`], [`WorkdirError::UncommittedChanges`]; a failure to read the working copy.
pub fn check_update(
    repository: &Repository,
    local: LocalChanges,
    looks_for_changes: bool,
    stop: &Interrupt,
) -> Result<(), WorkdirError> {
    let refuses = local == LocalChanges::Refuse;
    let unresolved = local != LocalChanges::Discard && has_unresolved(repository)?;
    if refuses && (unresolved || looks_for_changes) && has_changes(repository, stop)? {
        return Err(WorkdirError::UncommittedChanges);
    }
    match unresolved {
        true => Err(WorkdirError::UnresolvedFiles),
        false => Ok(()),
    }
}

/// Whether any tracked file differs from the first parent.
fn has_changes(repository: &Repository, stop: &Interrupt) -> Result<bool, WorkdirError> {
    let dirstate = Dirstate::read(repository)?;
    let files = IgnoreFiles::read(repository.root(), &[])?;
    let found = working_status(&StatusRequest {
        repository,
        dirstate: &dirstate,
        matcher: &Matcher::everything(),
        ignore: &files.ignore,
        listing: StatusLists::default(),
        stop,
    })?;
    Ok(!found.status.is_unchanged())
}
