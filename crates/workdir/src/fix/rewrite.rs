//! The new changesets, and the working copy on them.

use crate::commit::{FileEdits, move_working_copy, recommit_changeset};
use crate::{ChangesetMetadata, Dirstate, HashReferences, RecommittedChangeset, WorkdirError};
use std::collections::BTreeMap;
use varve_base::Interrupt;
use varve_repo::{CommitBatch, Node, RepoView, Repository, Rev};

/// New contents by path.
type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// Fixed contents of files, by changeset and path.
pub type FixedFiles = BTreeMap<Rev, Contents>;

/// The changesets whose files were fixed.
#[derive(Clone, Copy, Debug)]
pub struct FixRequest<'a> {
    /// The repository as it is, hidden changesets included.
    pub view: &'a RepoView,
    /// The changesets, ascending.
    pub revs: &'a [Rev],
    /// The contents that differ.
    pub files: &'a FixedFiles,
    /// Ends the work between two changesets.
    pub stop: &'a Interrupt,
}

/// A changeset that another has the place of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedChangeset {
    /// Both changesets.
    pub done: RecommittedChangeset,
    /// Names in the description that could not follow.
    pub stale: Vec<Vec<u8>>,
}

/// Commits the changesets again that have fixed files or a parent with such; the others stay. Their bookmarks and the old
/// changesets are for the caller.
///
/// # Errors
/// As of [`crate::commit`].
pub fn fix_changesets(
    batch: &mut CommitBatch,
    request: &FixRequest<'_>,
) -> Result<Vec<FixedChangeset>, WorkdirError> {
    let changelog = request.view.changelog();
    let mut made = Vec::new();
    let mut replaced: BTreeMap<Node, Option<Node>> = BTreeMap::new();
    let unchanged = BTreeMap::new();
    for rev in request.revs {
        request.stop.check()?;
        let fixed = request.files.get(rev).unwrap_or(&unchanged);
        let old = changelog
            .parents(*rev)
            .map(|rev| changelog.node_or_null(rev));
        let parents = old.map(|node| replaced.get(&node).copied().flatten().unwrap_or(node));
        if fixed.is_empty() && parents == old {
            continue;
        }
        let fixed = rewrite(batch, request.view, (*rev, parents), (fixed, &replaced))?;
        replaced.insert(fixed.done.old, Some(fixed.done.node));
        made.push(fixed);
    }
    Ok(made)
}

fn rewrite(
    batch: &mut CommitBatch,
    view: &RepoView,
    (rev, parents): (Rev, [Node; 2]),
    (fixed, replaced): (&Contents, &BTreeMap<Node, Option<Node>>),
) -> Result<FixedChangeset, WorkdirError> {
    let old = view.changelog().node(rev);
    let mut metadata = ChangesetMetadata::read(view, rev)?;
    metadata.set_fix_source(&old);
    let stale = HashReferences { replaced }.update(view, &mut metadata.description)?;
    let edits = FileEdits {
        contents: Some(fixed),
        ..FileEdits::default()
    };
    let done = recommit_changeset(batch, (view, rev), parents, &metadata, edits)?;
    Ok(FixedChangeset { done, stale })
}

/// Puts the working copy on the changesets in the place of its parents; its files stay. To be written within the batch.
///
/// # Errors
/// Damage in the repository; a dirstate that cannot be written.
pub fn move_to_fixed(
    repository: &Repository,
    batch: &mut CommitBatch,
    dirstate: &mut Dirstate,
    (view, made): (&RepoView, &[FixedChangeset]),
) -> Result<(), WorkdirError> {
    let replaced = |node| {
        let fixed = made.iter().find(|fixed| fixed.done.old == node);
        fixed.map_or(node, |fixed| fixed.done.node)
    };
    move_working_copy(repository, batch, dirstate, (view, replaced))
}
