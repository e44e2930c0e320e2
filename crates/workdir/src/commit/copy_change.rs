//! A changeset once more, with other files recorded as copies.

use super::{
    ChangesetMetadata, FileEdits, RecommittedChangeset, move_working_copy, recommit_changeset,
};
use crate::{Dirstate, WorkdirError};
use std::collections::BTreeMap;
use varve_repo::{CommitBatch, RepoView, Repository, Rev};

/// Commits a changeset again in which files come from others, or from none, and puts the working copy where it was. The
/// bookmarks and the old changeset are for the caller, who holds the lock of the working copy.
///
/// # Errors
/// As of [`crate::commit`].
pub fn change_copies(
    repository: &Repository,
    batch: &mut CommitBatch,
    dirstate: &mut Dirstate,
    (view, rev): (&RepoView, Rev),
    sources: &BTreeMap<Vec<u8>, Option<Vec<u8>>>,
) -> Result<RecommittedChangeset, WorkdirError> {
    let changelog = view.changelog();
    let mut metadata = ChangesetMetadata::read(view, rev)?;
    metadata.set_amend_source(&changelog.node(rev));
    let parents = changelog
        .parents(rev)
        .map(|rev| changelog.node_or_null(rev));
    let edits = FileEdits {
        sources: Some(sources),
        ..FileEdits::default()
    };
    let done = recommit_changeset(batch, (view, rev), parents, &metadata, edits)?;
    let moved = |node| if node == done.old { done.node } else { node };
    move_working_copy(repository, batch, dirstate, (view, moved))?;
    Ok(done)
}
