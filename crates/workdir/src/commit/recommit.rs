//! Committing contents that the working copy does not have, with the metadata of an earlier changeset.

use super::{ChangesetMetadata, CommitMetadata, compare_entries, recorded_source};
use crate::tree::{Difference, Tree, differences};
use crate::{Dirstate, WorkdirError};
use std::collections::{BTreeMap, BTreeSet};
use varve_lang::patterns::Matcher;
use varve_repo::{CommitBatch, FileChange, FileKind, Node, Phase, RepoView, Repository, Rev};

/// A file of a new changeset.
pub(crate) struct NewFile {
    pub(crate) content: Vec<u8>,
    pub(crate) kind: FileKind,
    /// File of the first parent that it was copied from.
    pub(crate) copied_from: Option<Vec<u8>>,
}

/// Commits the files at `paths` on parents that may be of the batch; all others are those of the first parent. `read` is
/// asked for one file after the other, so that only one is in memory; `None` removes a file of a parent.
pub(crate) fn recommit<'p>(
    batch: &mut CommitBatch,
    parents: [Node; 2],
    (metadata, phase): (&ChangesetMetadata, Phase),
    paths: impl Iterator<Item = &'p [u8]>,
    mut read: impl FnMut(&[u8]) -> Result<Option<NewFile>, WorkdirError>,
) -> Result<Node, WorkdirError> {
    let mut files = batch.files_from(parents)?;
    for path in paths {
        let file = read(path)?;
        let change = match &file {
            None => FileChange::Remove { path },
            Some(file) => FileChange::Write {
                path,
                content: &file.content,
                kind: file.kind,
                copied_from: file.copied_from.as_deref(),
            },
        };
        batch.change(&mut files, &change)?;
    }
    let extras = metadata.extras.iter();
    let extras: Vec<(&[u8], &[u8])> = extras.map(|(key, value)| (&key[..], &value[..])).collect();
    let words = CommitMetadata {
        user: &metadata.user,
        date: metadata.date,
        branch: &metadata.branch,
        extras: &extras,
        description: &metadata.description,
        phase,
    };
    Ok(batch.commit_files(files, &words.changeset(parents))?)
}

/// A changeset that was committed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecommittedChangeset {
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
}

/// Differences of a changeset to the one that it is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileEdits<'a> {
    /// New contents by path.
    pub(crate) contents: Option<&'a BTreeMap<Vec<u8>, Vec<u8>>>,
    /// Sources of copies by path; `None` makes a copy a file of its own.
    pub(crate) sources: Option<&'a BTreeMap<Vec<u8>, Option<Vec<u8>>>>,
}

impl FileEdits<'_> {
    fn paths(&self) -> impl Iterator<Item = &Vec<u8>> {
        let contents = self.contents.iter().flat_map(|contents| contents.keys());
        contents.chain(self.sources.iter().flat_map(|sources| sources.keys()))
    }
}

/// Commits a changeset once more with its own files and those edits, on parents that may be of the batch.
pub(crate) fn recommit_changeset(
    batch: &mut CommitBatch,
    (view, rev): (&RepoView, Rev),
    parents: [Node; 2],
    metadata: &ChangesetMetadata,
    edits: FileEdits<'_>,
) -> Result<RecommittedChangeset, WorkdirError> {
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
    written.extend(edits.paths());
    let all: BTreeSet<&Vec<u8>> = written.iter().copied().chain(&removed).collect();
    let metadata = (metadata, view.phases().of(rev));
    let [first, second] = view.changelog().parents(rev);
    let before = [Tree::of(view, first)?, Tree::of(view, second)?];
    let paths = all.iter().map(|path| &path[..]);
    let node = recommit(batch, parents, metadata, paths, |path| {
        new_file(&before, &tree, path, edits)
    })?;
    Ok(RecommittedChangeset {
        old: view.changelog().node(rev),
        node,
        files: written.into_iter().cloned().collect(),
        removed,
        differing,
        has_manifest: !batch.same_files(&parents[0], &node)?,
    })
}

/// Puts the working copy on the changesets in the place of its parents; its files stay. To be written within the batch.
pub(crate) fn move_working_copy(
    repository: &Repository,
    batch: &mut CommitBatch,
    dirstate: &mut Dirstate,
    (view, replaced): (&RepoView, impl Fn(Node) -> Node),
) -> Result<(), WorkdirError> {
    let old = dirstate.parents();
    let parents = old.map(replaced);
    if parents == old {
        return Ok(());
    }
    let before = Tree::of(view, view.changelog().rev(&old[0]))?;
    let after = Tree::of_text(view, parents[0], batch.manifest_text(&parents[0])?);
    compare_entries(dirstate, (&before, &after), &Matcher::everything())?;
    dirstate.set_parents(parents);
    dirstate.write_within(repository, batch.transaction())
}

/// A file of the changeset with the tree `own`; `None` if it goes.
fn new_file(
    parents: &[Tree<'_>; 2],
    own: &Tree<'_>,
    path: &[u8],
    edits: FileEdits<'_>,
) -> Result<Option<NewFile>, WorkdirError> {
    let Some((node, kind)) = own.get(path)? else {
        return Ok(None);
    };
    let has_it = |parent: &Tree<'_>| -> Result<bool, WorkdirError> {
        Ok(parent.get(path)?.is_some_and(|entry| entry.0 == node))
    };
    let copied_from = match edits.sources.and_then(|sources| sources.get(path)) {
        Some(source) => source.clone(),
        // A file that the changeset leaves as a parent has it does not come from elsewhere here.
        None if has_it(&parents[0])? || has_it(&parents[1])? => None,
        None => recorded_source(own.view(), path, &node)?,
    };
    Ok(Some(NewFile {
        content: match edits.contents.and_then(|contents| contents.get(path)) {
            Some(content) => content.clone(),
            None => own.content(path, &node)?,
        },
        kind,
        copied_from,
    }))
}
