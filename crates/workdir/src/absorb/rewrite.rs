//! The changesets of a stack once more, with what they absorb.

use super::{AbsorbStack, AbsorbedFile};
use crate::commit::{NewFile, compare_entries, recommit, recorded_source};
use crate::tree::Tree;
use crate::{ChangesetMetadata, Dirstate, HashReferences, WorkdirError};
use std::collections::{BTreeMap, BTreeSet};
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{CommitBatch, Node, RepoView, Repository, Rev, ViewFilter};

/// Changes to absorb, and how.
#[derive(Clone, Copy, Debug)]
pub struct AbsorbRequest<'a> {
    /// The repository as it is, hidden changesets included.
    pub view: &'a RepoView,
    /// The changesets that may change; the last one is the only parent of the working copy.
    pub stack: &'a AbsorbStack,
    /// The changed files.
    pub files: &'a [AbsorbedFile],
    /// Changesets that become empty are made all the same.
    pub keeps_empty: bool,
    /// New changesets name the old ones, so that they never equal an earlier one.
    pub names_source: bool,
    /// Ends the work between two changesets.
    pub stop: &'a Interrupt,
}

/// A changeset of the stack that does not stay as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsorbedChangeset {
    /// The old changeset.
    pub rev: Rev,
    /// Its name.
    pub old: Node,
    /// How many files have another content.
    pub changed: usize,
    /// The changeset in its place.
    pub outcome: AbsorbOutcome,
}

/// The changeset in the place of an old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AbsorbOutcome {
    /// None, because nothing is left of the old one's changes.
    Dropped,
    /// A new one.
    Committed {
        /// Its name.
        node: Node,
        /// Nothing is left of the old one's changes.
        is_empty: bool,
        /// Files that were looked at for it.
        files: Vec<Vec<u8>>,
        /// Its files differ from its parent's.
        has_manifest: bool,
        /// Names in its description that were left as they are, though they are those of replaced changesets.
        stale: Vec<Vec<u8>>,
    },
}

impl AbsorbedChangeset {
    /// The new changeset.
    pub fn node(&self) -> Option<Node> {
        match &self.outcome {
            AbsorbOutcome::Dropped => None,
            AbsorbOutcome::Committed { node, .. } => Some(*node),
        }
    }
}

/// Commits the changesets again, moves their bookmarks, and makes the last one the parent of the working copy, all in
/// one transaction. Bookmarks of dropped changesets go. The old changesets stay for the caller to end; it holds the lock
/// of the working copy.
///
/// # Errors
/// As of [`crate::commit`].
pub fn absorb(
    repository: &Repository,
    mut batch: CommitBatch,
    dirstate: &mut Dirstate,
    request: &AbsorbRequest<'_>,
) -> Result<Vec<AbsorbedChangeset>, WorkdirError> {
    let mut made: Vec<AbsorbedChangeset> = Vec::new();
    let changelog = request.view.changelog();
    // The changeset below the next one: the newest that was made or stays. As in Mercurial, what follows a dropped bottom
    // of the stack stays on it.
    let mut base = None;
    for rev in &request.stack.revs {
        request.stop.check()?;
        match rewrite(&mut batch, request, (*rev, base), &made)? {
            Some(done) => {
                base = done.node().or(base);
                made.push(done);
            }
            None => base = Some(changelog.node(*rev)),
        }
    }
    if made.is_empty() {
        return Ok(made);
    }
    move_bookmarks(&mut batch, &made)?;
    let below = made
        .first()
        .and_then(|first| changelog.parents(first.rev)[0]);
    let parent = base.unwrap_or_else(|| changelog.node_or_null(below));
    let mut after = dirstate.clone();
    let tree = Tree::of_text(request.view, parent, batch.manifest_text(&parent)?);
    let old = Tree::of(request.view, request.stack.revs.last().copied())?;
    compare_entries(&mut after, (&old, &tree), &Matcher::everything())?;
    after.set_parents([parent, Node::NULL]);
    after.write_within(repository, batch.transaction())?;
    batch.finish()?;
    *dirstate = after;
    dirstate.write(repository)?;
    leave_deleted_bookmark(repository)?;
    Ok(made)
}

/// Commits one changeset on `base`, or on its own parent. `None` if it stays.
fn rewrite(
    batch: &mut CommitBatch,
    request: &AbsorbRequest<'_>,
    (rev, base): (Rev, Option<Node>),
    made: &[AbsorbedChangeset],
) -> Result<Option<AbsorbedChangeset>, WorkdirError> {
    let view = request.view;
    let overlays = request.files.iter();
    let overlays: BTreeMap<&[u8], &[u8]> = overlays.filter_map(|file| file.overlay(rev)).collect();
    let changelog = view.changelog();
    let below = changelog.node_or_null(changelog.parents(rev)[0]);
    let parent = base.unwrap_or(below);
    if parent == below && overlays.is_empty() {
        return Ok(None);
    }
    let mut metadata = ChangesetMetadata::read(view, rev)?;
    let files = NewFiles::of(view, rev, overlays)?;
    let done = |outcome| AbsorbedChangeset {
        rev,
        old: changelog.node(rev),
        changed: files.overlays.len(),
        outcome,
    };
    let below = Tree::of_text(view, parent, batch.manifest_text(&parent)?);
    let is_empty = becomes_empty((view, batch), (rev, &below), &files)?;
    if is_empty && !request.keeps_empty {
        return Ok(Some(done(AbsorbOutcome::Dropped)));
    }
    let replaced = made.iter().map(|done| (done.old, done.node()));
    let references = HashReferences {
        replaced: &replaced.collect(),
    };
    let stale = references.update(view, &mut metadata.description)?;
    if request.names_source {
        metadata.set_absorb_source(&changelog.node(rev));
    }
    let mut paths = Vec::new();
    for path in files.paths() {
        // A file that goes may be one that a dropped changeset had brought.
        if files.tree.get(path)?.is_some() || below.get(path)?.is_some() {
            paths.push(path);
        }
    }
    let metadata = (&metadata, view.phases().of(rev));
    let parents = [parent, Node::NULL];
    let node = recommit(batch, parents, metadata, paths.iter().copied(), |path| {
        files.read(path)
    })?;
    let mut written = Vec::new();
    for path in paths {
        if files.tree.get(path)?.is_some() {
            written.push(path.to_vec());
        }
    }
    Ok(Some(done(AbsorbOutcome::Committed {
        node,
        is_empty,
        files: written,
        has_manifest: !batch.same_files(&parent, &node)?,
        stale,
    })))
}

/// The files of the old changeset and those with another content.
struct NewFiles<'a> {
    view: &'a RepoView,
    tree: Tree<'a>,
    named: BTreeSet<Vec<u8>>,
    overlays: BTreeMap<&'a [u8], &'a [u8]>,
}

impl<'a> NewFiles<'a> {
    fn of(
        view: &'a RepoView,
        rev: Rev,
        overlays: BTreeMap<&'a [u8], &'a [u8]>,
    ) -> Result<Self, WorkdirError> {
        let named = view.with_changeset(rev, |changeset| {
            changeset.files().map(<[u8]>::to_vec).collect()
        })?;
        Ok(NewFiles {
            tree: Tree::of(view, Some(rev))?,
            view,
            named,
            overlays,
        })
    }

    fn paths(&self) -> BTreeSet<&[u8]> {
        let named = self.named.iter().map(Vec::as_slice);
        named.chain(self.overlays.keys().copied()).collect()
    }

    /// One of them; `None` if it goes.
    fn read(&self, path: &[u8]) -> Result<Option<NewFile>, WorkdirError> {
        let Some((node, kind)) = self.tree.get(path)? else {
            return Ok(None);
        };
        let content = match self.overlays.get(path) {
            Some(content) => content.to_vec(),
            None => self.view.file_content(path, &node)?,
        };
        let copied_from = match self.named.contains(path) {
            true => recorded_source(self.view, path, &node)?,
            false => None,
        };
        Ok(Some(NewFile {
            content,
            kind,
            copied_from,
        }))
    }
}

/// True if nothing is left of what a changeset has changed. One that was empty before, or that changes or closes its
/// branch, says something all the same.
fn becomes_empty(
    (view, batch): (&RepoView, &CommitBatch),
    (rev, parent): (Rev, &Tree<'_>),
    files: &NewFiles<'_>,
) -> Result<bool, WorkdirError> {
    let branch = |rev: Option<Rev>| match rev {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned()),
        None => Ok(varve_repo::DEFAULT_BRANCH.to_vec()),
    };
    let below = view.changelog().parents(rev)[0];
    if view.with_changeset(rev, |changeset| changeset.files().next().is_none())?
        || branch(Some(rev))? != branch(below)?
        || view.with_changeset(rev, |changeset| changeset.closes_branch())?
    {
        return Ok(false);
    }
    for path in files.paths() {
        let is_same = match (parent.get(path)?, files.read(path)?) {
            (None, None) => true,
            (Some((node, kind)), Some(new)) => {
                kind == new.kind && batch.file_content(path, &node)? == new.content
            }
            _ => false,
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn move_bookmarks(batch: &mut CommitBatch, made: &[AbsorbedChangeset]) -> Result<(), WorkdirError> {
    let before = batch.bookmarks().clone();
    let mut after = before.clone();
    for done in made {
        after.retain(|_, at| *at != done.old || done.node().is_some());
        if let Some(node) = done.node() {
            let moved = after.values_mut().filter(|at| **at == done.old);
            moved.for_each(|at| *at = node);
        }
    }
    if after != before {
        batch.transaction().set_bookmarks(&after)?;
    }
    Ok(())
}

/// The active bookmark may have been that of a dropped changeset.
fn leave_deleted_bookmark(repository: &Repository) -> Result<(), WorkdirError> {
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    if let Some(active) = crate::active_bookmark(repository)?
        && !view.bookmarks().contains_key(&active)
    {
        crate::set_active_bookmark(repository, None)?;
    }
    Ok(())
}
