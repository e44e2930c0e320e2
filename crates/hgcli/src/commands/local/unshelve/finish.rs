//! The end of an unshelve: branch, bookmark, and the files of the shelved change.

use super::Unshelve;
use super::restore::Restoring;
use crate::commands::local::shelve::{self, UNKNOWN_FILES};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_repo::{DEFAULT_BRANCH, Node, Phase, RepoView, Rev};
use varve_workdir::{ChangesetMetadata, CommitMetadata, ShelfDirectory, ShelvedChanges};

/// The metadata of a shelved changeset that is made again.
pub(super) fn words(old: &ChangesetMetadata) -> CommitMetadata<'_> {
    CommitMetadata {
        user: &old.user,
        date: old.date,
        branch: &old.branch,
        extras: &[],
        description: &old.description,
        phase: Phase::Secret,
    }
}

pub(super) fn note_unchanged(ui: &mut Ui) -> Result<(), Abort> {
    ui.status("note: unshelved changes already existed in the working copy\n")
}

/// The files of a shelved changeset that were not tracked.
pub(super) fn unknown_files(view: &RepoView, rev: Rev) -> Result<BTreeSet<Vec<u8>>, Abort> {
    Ok(view.with_changeset(rev, |changeset| {
        let mut extras = changeset.extras();
        let found = extras.find(|(key, _)| &**key == UNKNOWN_FILES);
        let names = found.map(|(_, names)| names.into_owned());
        let names = names.unwrap_or_default();
        let names = names.split(|byte| *byte == 0);
        names.map(<[u8]>::to_vec).collect()
    })?)
}

/// The branch that a shelf began; `None` if it is on the branch of its parent.
pub(super) fn begun_branch(view: &RepoView, rev: Rev) -> Result<Option<Vec<u8>>, Abort> {
    let own = branch_of(view, Some(rev))?;
    let of_parent = branch_of(view, view.changelog().parents(rev)[0])?;
    Ok((own != of_parent).then_some(own))
}

fn branch_of(view: &RepoView, rev: Option<Rev>) -> Result<Vec<u8>, Abort> {
    match rev {
        Some(rev) => Ok(view.with_changeset(rev, |changeset| changeset.branch().into_owned())?),
        None => Ok(DEFAULT_BRANCH.to_vec()),
    }
}

/// Puts the working copy on the branch of its parent, as an update to it does.
pub(super) fn set_branch_of_parent(
    unshelve: &Unshelve<'_>,
    view: &RepoView,
    parent: &Node,
) -> Result<(), Abort> {
    let branch = branch_of(view, view.changelog().rev(parent))?;
    Ok(varve_workdir::set_branch(unshelve.repository, &branch)?)
}

/// Begins the branch that the shelf had begun.
pub(super) fn restore_branch(
    unshelve: &mut Unshelve<'_>,
    branch: Option<&[u8]>,
) -> Result<(), Abort> {
    let current = varve_workdir::branch(unshelve.repository)?;
    let Some(branch) = branch.filter(|branch| *branch != current) else {
        return Ok(());
    };
    varve_workdir::set_branch(unshelve.repository, branch)?;
    let words = b"marked working directory as branch ";
    unshelve.ui.status([words, branch, b"\n"].concat())
}

/// Puts away the files of the shelved change, unless they are kept.
pub(super) fn put_away(
    unshelve: &Unshelve<'_>,
    shelf: &ShelvedChanges<'_>,
    keeps: bool,
) -> Result<(), Abort> {
    match keeps {
        true => Ok(()),
        false => {
            let directory = ShelfDirectory::of(unshelve.repository);
            shelve::retire(unshelve.config, &directory, shelf)
        }
    }
}

/// The end where nothing was in the store.
pub(super) fn end(
    unshelve: &mut Unshelve<'_>,
    restoring: &Restoring<'_>,
    (view, rev): (&RepoView, Rev),
) -> Result<u8, Abort> {
    let branch = begun_branch(view, rev)?;
    restore_branch(unshelve, branch.as_deref())?;
    put_away(unshelve, restoring.shelf, unshelve.matches.flag("keep"))?;
    Ok(0)
}
