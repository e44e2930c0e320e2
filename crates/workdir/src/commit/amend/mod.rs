//! Amending: a changeset that replaces the working copy's parent, with the changes since.

mod status;

pub use status::amended_status;

use super::{ChangesetMetadata, ChosenFiles, CommitMetadata, Reading, note_committed};
use crate::{Dirstate, Status, Tree, WorkdirError, status_between};
use std::collections::{BTreeMap, BTreeSet};
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{
    CommitBatch, CommitFiles, FileChange, FileKind, FileText, Lock, NewMarker, Node, Phase,
    RepoView, Repository, Rev,
};

/// Name of the transaction in which changesets are amended.
pub const AMEND: &str = "amend";

/// The repository and batch of an amendment.
#[derive(Debug)]
pub struct AmendContext<'a> {
    /// The repository whose changeset is amended.
    pub repository: &'a Repository,
    /// Nothing is in it yet; of the name [`AMEND`].
    pub batch: CommitBatch,
    /// As in a commit: contents that were chosen.
    pub chosen: Option<&'a ChosenFiles>,
    /// Ends the work between two files.
    pub stop: &'a Interrupt,
}

/// The changeset to amend, and the metadata of the new one.
#[derive(Clone, Copy, Debug)]
pub struct AmendRequest<'a> {
    /// The repository as it is, hidden changesets included.
    pub view: &'a RepoView,
    /// The only parent of the working copy.
    pub old: Rev,
    /// The metadata of the new changeset; the extra that names the old one is added.
    pub metadata: &'a ChangesetMetadata,
    /// The least phase; a higher one of the parents wins.
    pub phase: Phase,
    /// The obsolescence marker of the old changeset; `None` writes none.
    pub marker: Option<&'a AmendMarker<'a>>,
}

/// Metadata of the obsolescence marker that an amendment writes.
#[derive(Clone, Copy, Debug)]
pub struct AmendMarker<'a> {
    /// Seconds since 1970 and seconds west of UTC.
    pub date: (i64, i32),
    /// Name of the committer, usually with a mail address.
    pub user: &'a [u8],
    /// Note of the user, at most 255 bytes.
    pub note: Option<&'a [u8]>,
}

/// The result of an amendment.
#[derive(Debug)]
pub struct AmendResult {
    /// The new changeset.
    pub node: Node,
    /// The store's lock, still held; `None` if nothing had to be written.
    pub lock: Option<Lock>,
}

/// A file of the new changeset: from the working copy, or as the old changeset has it.
#[derive(Clone, Copy, Debug)]
enum ContentSource {
    Working,
    Old(Node, FileKind),
}

/// Commits the changes of the old changeset to its parents, together with the later ones of
/// `status`. The new changeset becomes the parent of the working copy; all bookmarks at the
/// old one move to it.
///
/// # Errors
/// As of [`super::commit`].
pub fn amend(
    place: AmendContext<'_>,
    dirstate: &mut Dirstate,
    status: &Status,
    what: &AmendRequest<'_>,
) -> Result<AmendResult, WorkdirError> {
    let repository = place.repository;
    let boundary = Dirstate::clock(repository)?;
    let old = Old::read(what, status)?;
    let mut batch = place.batch;
    let mut files = batch.files_from(old.parents)?;
    let mut reading = Reading::new((repository, place.stop, place.chosen));
    for (path, source) in old.files(status)? {
        let Some(source) = source else {
            batch.change(&mut files, &FileChange::Remove { path: &path })?;
            continue;
        };
        let (content, kind) = match source {
            ContentSource::Working => reading.read(&path)?,
            ContentSource::Old(node, kind) => (what.view.file_content(&path, &node)?, kind),
        };
        let copied_from = old.copy_source(&path, source, dirstate)?;
        let write = FileChange::Write {
            path: &path,
            content: &content,
            kind,
            copied_from: copied_from.as_deref(),
        };
        batch.change(&mut files, &write)?;
    }
    let node = commit_files(&mut batch, files, &old, what)?;
    let mut bookmarks = batch.bookmarks().clone();
    let at_old = bookmarks.values_mut().filter(|at| **at == old.node);
    if at_old.map(|at| *at = node).count() > 0 {
        batch.transaction().set_bookmarks(&bookmarks)?;
    }
    if let Some(marker) = what.marker {
        let mut effects = what
            .metadata
            .effects(&ChangesetMetadata::read(what.view, what.old)?);
        if !batch.same_files(&node, &old.node)? {
            effects |= ChangesetMetadata::CONTENT;
        }
        let effects = effects.to_string();
        let mut facts: Vec<(&[u8], &[u8])> = vec![(b"ef1", effects.as_bytes())];
        facts.extend(marker.note.map(|note| (&b"note"[..], note)));
        facts.extend([(&b"operation"[..], &b"amend"[..]), (b"user", marker.user)]);
        batch.transaction().add_markers(&[NewMarker {
            old: old.node,
            successors: &[node],
            parents: None,
            flags: 0,
            date: marker.date,
            metadata: &facts,
        }])?;
    }
    let mut after = dirstate.clone();
    note_committed(&mut after, &reading.seen, status, boundary);
    after.set_parents([node, Node::NULL]);
    after.write_within(repository, batch.transaction())?;
    let (node, lock) = batch.finish_locked()?;
    *dirstate = after;
    dirstate.write(repository)?;
    Ok(AmendResult { node, lock })
}

fn commit_files(
    batch: &mut CommitBatch,
    files: CommitFiles,
    old: &Old<'_>,
    what: &AmendRequest<'_>,
) -> Result<Node, WorkdirError> {
    let mut metadata = what.metadata.clone();
    metadata.set_amend_source(&old.node);
    let extras = metadata.extras.iter();
    let extras: Vec<(&[u8], &[u8])> = extras.map(|(key, value)| (&key[..], &value[..])).collect();
    let metadata = CommitMetadata {
        user: &metadata.user,
        date: metadata.date,
        branch: &metadata.branch,
        extras: &extras,
        description: &metadata.description,
        phase: what.phase,
    };
    Ok(batch.commit_files(files, &metadata.changeset(old.parents))?)
}

/// The changeset that is amended.
struct Old<'a> {
    view: &'a RepoView,
    rev: Rev,
    node: Node,
    parents: [Node; 2],
    first_parent: Option<Rev>,
    tree: Tree<'a>,
    parent_trees: [Tree<'a>; 2],
    /// Files that it names.
    named: BTreeSet<Vec<u8>>,
    /// Whether only its words change.
    only_words: bool,
}

impl<'a> Old<'a> {
    fn read(what: &AmendRequest<'a>, status: &Status) -> Result<Self, WorkdirError> {
        let (view, rev) = (what.view, what.old);
        let parents = view.changelog().parents(rev);
        let named = view.with_changeset(rev, |changeset| {
            changeset.files().map(<[u8]>::to_vec).collect()
        })?;
        Ok(Old {
            view,
            rev,
            node: view.changelog().node(rev),
            parents: parents.map(|parent| view.changelog().node_or_null(parent)),
            first_parent: parents[0],
            tree: Tree::of(view, Some(rev))?,
            parent_trees: [Tree::of(view, parents[0])?, Tree::of(view, parents[1])?],
            named,
            only_words: [&status.modified, &status.added, &status.removed]
                .iter()
                .all(|list| list.is_empty()),
        })
    }

    /// Files that differ from the first parent, or may, with their source; `None` is removed.
    fn files(
        &self,
        status: &Status,
    ) -> Result<BTreeMap<Vec<u8>, Option<ContentSource>>, WorkdirError> {
        let all = Matcher::everything();
        let before = status_between(self.view, self.first_parent, Some(self.rev), &all, false)?;
        let mut files = BTreeMap::new();
        for path in before.modified.into_iter().chain(before.added) {
            let there = self.tree.get(&path)?;
            files.insert(
                path,
                there.map(|(node, kind)| ContentSource::Old(node, kind)),
            );
        }
        files.extend(before.removed.into_iter().map(|path| (path, None)));
        let written = status.modified.iter().chain(&status.added);
        files.extend(written.map(|path| (path.clone(), Some(ContentSource::Working))));
        for path in &status.removed {
            if self.is_in_parents(path)? {
                files.insert(path.clone(), None);
            } else {
                files.remove(path);
            }
        }
        Ok(files)
    }

    fn is_in_parents(&self, path: &[u8]) -> Result<bool, WorkdirError> {
        let [p1, p2] = &self.parent_trees;
        Ok(p1.get(path)?.is_some() || p2.get(path)?.is_some())
    }

    /// Where a file of the new changeset was copied from, seen from the parents.
    fn copy_source(
        &self,
        path: &[u8],
        source: ContentSource,
        dirstate: &Dirstate,
    ) -> Result<Option<Vec<u8>>, WorkdirError> {
        let copied = match source {
            ContentSource::Working => dirstate.copy_source(path),
            ContentSource::Old(..) => None,
        };
        // A copy in the old changeset may have been copied again.
        let near = copied.unwrap_or(path);
        let from = self.old_copy_source(near)?;
        let from = from.or_else(|| copied.map(<[u8]>::to_vec));
        match from.filter(|from| from != path) {
            Some(from) if self.is_in_parents(&from)? => Ok(Some(from)),
            _ => Ok(None),
        }
    }

    /// The copy source that the old changeset recorded for a file.
    fn old_copy_source(&self, path: &[u8]) -> Result<Option<Vec<u8>>, WorkdirError> {
        let there = self.tree.get(path)?.filter(|_| self.named.contains(path));
        let Some((node, _)) = there else {
            return Ok(None);
        };
        // As Mercurial has it: a copy over a file of the parent is forgotten with other changes.
        if !self.only_words && self.parent_trees[0].get(path)?.is_some() {
            return Ok(None);
        }
        let filelog = self.view.filelog(path)?;
        // A copied file has no first parent.
        let rev = filelog.rev(&node);
        let rev = rev.filter(|rev| filelog.parents(*rev)[0].is_none());
        let Some(rev) = rev else {
            return Ok(None);
        };
        let text = filelog.text(rev)?;
        let copied = FileText::parse(&text).copied_from;
        Ok(copied.map(|(source, _)| source.to_vec()))
    }
}
