//! Committing the working copy.

mod amend;
mod base;
mod branch_change;
mod chosen;
mod copy_change;
pub mod message;
mod metadata;
mod named_files;
mod recommit;
mod replace_parent;
mod uncommit;

pub use amend::{
    AMEND, AmendContext, AmendMarker, AmendRequest, AmendResult, amend, amended_status,
};
pub use base::{CloseOptions, CommitBase, HeadChanges};
pub use branch_change::{BranchChange, RebranchedChangeset, change_branch};
pub use chosen::ChosenFiles;
pub use copy_change::change_copies;
pub use metadata::{ChangesetMetadata, CommitMetadata};
pub use named_files::{add_and_remove, check_named_files};
pub use recommit::RecommittedChangeset;
pub(crate) use recommit::{FileEdits, NewFile, move_working_copy, recommit, recommit_changeset};
pub use replace_parent::{
    ParentReplacement, PartialChangeset, ReplaceContext, replace_parent, return_to_parent,
};
pub(crate) use replace_parent::{compare_entries, recorded_source};
pub use uncommit::{UncommitObstacle, UncommitRefusal, uncommit_refusal};

use crate::branch_and_bookmark;
use crate::{
    Dirstate, PathAuditor, Stat, Status, Timestamp, Tracking, WorkdirError, WorkingFiles,
    clear_merge,
};
use std::collections::BTreeMap;
use varve_base::Interrupt;
use varve_lang::patterns::PathCheck;
use varve_repo::{
    CommitBatch, FileChange, FileKind, Lock, Node, RepoView, Repository, ViewFilter, WriteOptions,
};

/// The repository, locks and options of a commit.
#[derive(Debug)]
pub struct CommitContext<'a> {
    /// The repository; the caller holds the lock of its working copy.
    pub repository: &'a Repository,
    /// The lock of its store.
    pub lock: Lock,
    /// The repository as it was read under that lock.
    pub seen: &'a RepoView,
    /// Contents that are committed instead of those in the working copy, where only some changes were chosen.
    pub chosen: Option<&'a ChosenFiles>,
    /// How revisions are stored.
    pub options: WriteOptions,
    /// Ends the work early.
    pub stop: &'a Interrupt,
}

/// Commits the changes in `status` and makes the new changeset the parent of the working
/// copy. The active bookmark goes along if it was at a parent.
///
/// # Errors
/// A failure to read or write; the store and the dirstate are then unchanged.
pub fn commit(
    place: CommitContext<'_>,
    dirstate: &mut Dirstate,
    status: &Status,
    words: &CommitMetadata<'_>,
) -> Result<Node, WorkdirError> {
    let repository = place.repository;
    let boundary = Dirstate::clock(repository)?;
    let mut batch = repository.begin_with_view(place.lock, place.seen, place.options)?;
    let work = (repository, place.stop, place.chosen);
    let (node, seen) = store_changes(&mut batch, work, dirstate, status, words)?;
    move_bookmark(repository, &mut batch, dirstate.parents(), node)?;
    let mut after = dirstate.clone();
    note_committed(&mut after, &seen, status, boundary);
    after.set_parents([node, Node::NULL]);
    after.write_within(repository, batch.transaction())?;
    batch.finish()?;
    *dirstate = after;
    dirstate.write(repository)?;
    clear_merge(repository)?;
    Ok(node)
}

/// Files that were read for a commit, each with its stat from before; without one if it may still differ.
pub(crate) type SeenFiles = Vec<(Vec<u8>, Option<Stat>)>;

/// The repository, the signal that ends the work early, and the chosen contents.
pub(crate) type CommitWork<'a> = (&'a Repository, &'a Interrupt, Option<&'a ChosenFiles>);

/// Adds a changeset with the changes in `status` to a batch. The dirstate, whose parents it gets, stays as it is.
///
/// # Errors
/// A failure to read or write.
pub(crate) fn store_changes(
    batch: &mut CommitBatch,
    work: CommitWork<'_>,
    dirstate: &Dirstate,
    status: &Status,
    words: &CommitMetadata<'_>,
) -> Result<(Node, SeenFiles), WorkdirError> {
    let mut files = batch.files_from(dirstate.parents())?;
    let removed = status.removed.iter();
    for path in removed.filter(|path| is_in_parents(dirstate, path)) {
        batch.change(&mut files, &FileChange::Remove { path })?;
    }
    let mut reading = Reading::new(work);
    for path in status.modified.iter().chain(&status.added) {
        let (content, kind) = reading.read(path)?;
        let copied_from = dirstate.copy_source(path).filter(|from| from != path);
        let write = FileChange::Write {
            path,
            content: &content,
            kind,
            copied_from,
        };
        batch.change(&mut files, &write)?;
    }
    let node = batch.commit_files(files, &words.changeset(dirstate.parents()))?;
    Ok((node, reading.seen))
}

fn is_in_parents(dirstate: &Dirstate, path: &[u8]) -> bool {
    dirstate.get(path).is_some_and(|item| {
        let tracking = item.tracking();
        tracking.p1 || tracking.p2_info
    })
}

/// Reads files of the working copy, one at a time, and keeps the stat from before each read.
struct Reading<'a> {
    working: WorkingFiles,
    auditor: PathAuditor,
    stop: &'a Interrupt,
    chosen: Option<&'a ChosenFiles>,
    seen: SeenFiles,
}

impl<'a> Reading<'a> {
    fn new((repository, stop, chosen): CommitWork<'a>) -> Self {
        Reading {
            working: WorkingFiles::of(repository),
            auditor: PathAuditor::new(repository.root()),
            stop,
            chosen,
            seen: Vec::new(),
        }
    }

    fn read(&mut self, path: &[u8]) -> Result<(Vec<u8>, FileKind), WorkdirError> {
        self.stop.check()?;
        let chosen = self.chosen.and_then(|chosen| chosen.written.get(path));
        if let Some((content, kind)) = chosen {
            self.seen.push((path.to_vec(), None));
            return Ok((content.clone(), *kind));
        }
        self.auditor.check(path)?;
        let missing = || WorkdirError::Vanished(String::from_utf8_lossy(path).into_owned());
        let seen = self.working.stat(path)?.ok_or_else(missing)?;
        self.seen.push((path.to_vec(), Some(seen)));
        self.working.read(path)
    }
}

/// The active bookmark follows from a parent to the new changeset.
fn move_bookmark(
    repository: &Repository,
    batch: &mut CommitBatch,
    parents: [Node; 2],
    node: Node,
) -> Result<(), WorkdirError> {
    let Some(active) = branch_and_bookmark::active_bookmark(repository)? else {
        return Ok(());
    };
    let mut bookmarks = batch.bookmarks().clone();
    if let Some(at) = bookmarks.get_mut(&active)
        && (parents.contains(at) || at.is_null())
    {
        *at = node;
        let merged = merged_divergent(repository, &bookmarks, &active, parents)?;
        bookmarks.retain(|name, _| !merged.contains(name));
        batch.transaction().set_bookmarks(&bookmarks)?;
    }
    Ok(())
}

/// The new parent has the file, perhaps with another content.
fn note_partly_committed(dirstate: &mut Dirstate, path: &[u8]) {
    let (working, p1, p2_info) = (true, true, false);
    let tracking = Tracking {
        working,
        p1,
        p2_info,
    };
    dirstate.set_tracking(path, tracking);
    dirstate.copy(path, None);
    dirstate.set_possibly_dirty(path);
}

/// Bookmarks of the form `NAME@OTHER` whose changesets a commit on these parents contains.
fn merged_divergent(
    repository: &Repository,
    bookmarks: &BTreeMap<Vec<u8>, Node>,
    name: &[u8],
    parents: [Node; 2],
) -> Result<Vec<Vec<u8>>, WorkdirError> {
    let base = [name, b"@"].concat();
    let mut divergent = bookmarks
        .iter()
        .filter(|(other, _)| other.starts_with(&base));
    if divergent.clone().next().is_none() {
        return Ok(Vec::new());
    }
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let parents = parents.map(|parent| view.changelog().rev(&parent));
    let is_below = |node: &Node| {
        let rev = view.changelog().rev(node);
        let mut parents = parents.iter().flatten();
        rev.is_some_and(|rev| {
            parents.any(|parent| *parent == rev || view.is_descendant(*parent, rev))
        })
    };
    let merged = divergent
        .by_ref()
        .filter(|(_, node)| is_below(node))
        .map(|(other, _)| other.clone());
    Ok(merged.collect())
}

/// Notes in the dirstate that the changes in `status` are those of the new parent.
pub(crate) fn note_committed(
    dirstate: &mut Dirstate,
    seen: &[(Vec<u8>, Option<Stat>)],
    status: &Status,
    boundary: Timestamp,
) {
    for (path, seen) in seen {
        match seen {
            Some(seen) => dirstate.set_clean(path, seen, boundary),
            None => note_partly_committed(dirstate, path),
        }
    }
    for path in &status.removed {
        dirstate.forget(path);
    }
    // After a merge the remaining files are as in the only parent.
    let merged: Vec<Vec<u8>> = dirstate
        .iter()
        .filter(|(_, item)| item.tracking().p2_info)
        .map(|(path, _)| path.to_vec())
        .collect();
    for path in merged {
        let working = dirstate.is_tracked(&path);
        let (p1, p2_info) = (true, false);
        dirstate.set_tracking(
            &path,
            Tracking {
                working,
                p1,
                p2_info,
            },
        );
    }
}
