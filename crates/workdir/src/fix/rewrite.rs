//! The new changesets, and the working copy on them.

use crate::commit::{NewFile, compare_entries, recommit, recorded_source};
use crate::tree::{Difference, Tree, differences};
use crate::{ChangesetMetadata, Dirstate, HashReferences, WorkdirError};
use std::collections::{BTreeMap, BTreeSet};
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
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
    /// The old changeset.
    pub old: Node,
    /// The new one.
    pub node: Node,
    /// Files of the new parent that the old one does not have.
    pub removed: Vec<Vec<u8>>,
    /// Files of the old one that differ from the new parent's.
    pub differing: Vec<Vec<u8>>,
    /// Files that were looked at for the new one.
    pub files: Vec<Vec<u8>>,
    /// Its files differ from its parent's.
    pub has_manifest: bool,
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
        let done = rewrite(batch, request.view, (*rev, parents), (fixed, &replaced))?;
        replaced.insert(done.old, Some(done.node));
        made.push(done);
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
    let tree = Tree::of(view, Some(rev))?;
    let below = Tree::of_text(view, parents[0], batch.manifest_text(&parents[0])?);
    let differing = differences(&below, &tree)?;
    let (present, removed): (Vec<_>, Vec<_>) =
        differing.iter().partition(|(_, _, after)| after.is_some());
    let paths = |files: &[&Difference<'_>]| -> Vec<Vec<u8>> {
        files.iter().map(|(path, ..)| path.to_vec()).collect()
    };
    let (differing, removed) = (paths(&present), paths(&removed));
    let mut written: BTreeSet<&Vec<u8>> = differing.iter().collect();
    written.extend(fixed.keys());
    let all: BTreeSet<&Vec<u8>> = written.iter().copied().chain(&removed).collect();
    let mut metadata = ChangesetMetadata::read(view, rev)?;
    metadata.set_fix_source(&old);
    let stale = HashReferences { replaced }.update(view, &mut metadata.description)?;
    let metadata = (&metadata, view.phases().of(rev));
    let before = Tree::of(view, view.changelog().parents(rev)[0])?;
    let paths = all.iter().map(|path| &path[..]);
    let node = recommit(batch, parents, metadata, paths, |path| {
        new_file([&before, &tree], path, fixed.get(path))
    })?;
    Ok(FixedChangeset {
        old,
        node,
        files: written.into_iter().cloned().collect(),
        removed,
        differing,
        has_manifest: !batch.same_files(&parents[0], &node)?,
        stale,
    })
}

/// A file of the changeset with the tree `own`, or the fixed content of it; `None` if it goes.
fn new_file(
    [parent, own]: [&Tree<'_>; 2],
    path: &[u8],
    fixed: Option<&Vec<u8>>,
) -> Result<Option<NewFile>, WorkdirError> {
    let Some((node, kind)) = own.get(path)? else {
        return Ok(None);
    };
    // A file that the changeset leaves as its parent has it does not come from elsewhere here.
    let copied_from = match parent.get(path)?.is_some_and(|entry| entry.0 == node) {
        true => None,
        false => recorded_source(own.view(), path, &node)?,
    };
    Ok(Some(NewFile {
        content: match fixed {
            Some(content) => content.clone(),
            None => own.content(path, &node)?,
        },
        kind,
        copied_from,
    }))
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
    let old = dirstate.parents();
    let parents = old.map(|node| {
        let done = made.iter().find(|done| done.old == node);
        done.map_or(node, |done| done.node)
    });
    if parents == old {
        return Ok(());
    }
    let before = Tree::of(view, view.changelog().rev(&old[0]))?;
    let after = Tree::of_text(view, parents[0], batch.manifest_text(&parents[0])?);
    compare_entries(dirstate, (&before, &after), &Matcher::everything())?;
    dirstate.set_parents(parents);
    dirstate.write_within(repository, batch.transaction())
}
