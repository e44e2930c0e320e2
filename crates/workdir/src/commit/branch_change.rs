//! Changesets once more, on another branch.

use super::{
    ChangesetMetadata, FileEdits, RecommittedChangeset, move_working_copy, recommit_changeset,
};
use crate::branch_and_bookmark::set_branch_within;
use crate::{Dirstate, WorkdirError};
use std::collections::BTreeMap;
use varve_base::Interrupt;
use varve_repo::{CommitBatch, Node, RepoView, Repository, Rev};

/// Changesets that get another branch.
#[derive(Clone, Copy, Debug)]
pub struct BranchChange<'a> {
    /// The repository as it is, hidden changesets included.
    pub view: &'a RepoView,
    /// The changesets, ascending; those that are on the branch already stay if their parents do.
    pub revs: &'a [Rev],
    /// The name of the branch.
    pub branch: &'a [u8],
    /// Ends the work between two changesets.
    pub stop: &'a Interrupt,
}

/// A changeset that one on another branch has the place of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebranchedChangeset {
    /// Both changesets.
    pub done: RecommittedChangeset,
    /// The branch of the old one.
    pub old_branch: Vec<u8>,
}

/// Commits the changesets again, and puts the working copy where it was. The bookmarks and the old changesets are for the
/// caller, who holds the lock of the working copy.
///
/// # Errors
/// As of [`crate::commit`].
pub fn change_branch(
    repository: &Repository,
    batch: &mut CommitBatch,
    dirstate: &mut Dirstate,
    request: &BranchChange<'_>,
) -> Result<Vec<RebranchedChangeset>, WorkdirError> {
    let changelog = request.view.changelog();
    let mut made = Vec::new();
    let mut replaced: BTreeMap<Node, Node> = BTreeMap::new();
    let new_place = |replaced: &BTreeMap<Node, Node>, node| *replaced.get(&node).unwrap_or(&node);
    for rev in request.revs {
        request.stop.check()?;
        let old = changelog
            .parents(*rev)
            .map(|rev| changelog.node_or_null(rev));
        let parents = old.map(|node| new_place(&replaced, node));
        let mut metadata = ChangesetMetadata::read(request.view, *rev)?;
        if metadata.branch == request.branch && parents == old {
            continue;
        }
        let old_branch = metadata.change_branch(request.branch, &changelog.node(*rev));
        let scope = (request.view, *rev);
        let done = recommit_changeset(batch, scope, parents, &metadata, FileEdits::default())?;
        replaced.insert(done.old, done.node);
        made.push(RebranchedChangeset { done, old_branch });
    }
    let before = dirstate.parents();
    let moved = |node| new_place(&replaced, node);
    move_working_copy(repository, batch, dirstate, (request.view, moved))?;
    if dirstate.parents() != before {
        set_branch_within(batch.transaction(), request.branch);
    }
    Ok(made)
}
