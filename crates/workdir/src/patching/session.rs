//! Importing several patches, one after the other.

use super::PatchObserver;
use super::checkout::{self, CheckedOut};
use super::memory::{MemoryTarget, PatchedChangeset};
use super::working::{PatchedFiles, WorkingTarget};
use crate::commit::{note_committed, store_changes};
use crate::tree::Tree;
use crate::{
    CommitMetadata, Dirstate, Status, WorkdirError, WorkingFiles, branch_and_bookmark, clear_merge,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use varve_base::Interrupt;
use varve_patch::{ApplyOptions, PatchError, apply};
use varve_repo::{CommitBatch, DEFAULT_BRANCH, Node, RepoView, Repository};

/// The repository at the start of an import.
pub struct SessionStart<'a> {
    /// The repository; the caller holds the lock of its working copy.
    pub repository: &'a Repository,
    /// Its changesets.
    pub view: &'a RepoView,
    /// The dirstate, read under the lock.
    pub dirstate: Dirstate,
    /// The transaction of the new changesets; `None` if nothing is committed.
    pub batch: Option<CommitBatch>,
    /// Ends the work early.
    pub stop: &'a Interrupt,
}

/// An import.
pub struct PatchSession<'a> {
    repository: &'a Repository,
    view: &'a RepoView,
    /// The dirstate as it will be.
    pub dirstate: Dirstate,
    batch: Option<CommitBatch>,
    stop: &'a Interrupt,
    /// The branch of the working copy as it will be.
    branch: Vec<u8>,
    /// Bookmarks as they will be, if any moved.
    bookmarks: BTreeMap<Vec<u8>, Node>,
    /// The branch of each new changeset.
    made: HashMap<Node, Vec<u8>>,
}

impl<'a> PatchSession<'a> {
    /// Begins an import.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn begin(start: SessionStart<'a>) -> Result<PatchSession<'a>, WorkdirError> {
        let bookmarks = start.batch.as_ref().map(|batch| batch.bookmarks().clone());
        Ok(PatchSession {
            repository: start.repository,
            view: start.view,
            dirstate: start.dirstate,
            stop: start.stop,
            branch: branch_and_bookmark::branch(start.repository)?,
            bookmarks: bookmarks.unwrap_or_default(),
            batch: start.batch,
            made: HashMap::new(),
        })
    }

    /// Whether a changeset is there, in the repository or among the new ones.
    pub fn has(&self, node: &Node) -> bool {
        node.is_null() || self.made.contains_key(node) || self.view.changelog().rev(node).is_some()
    }

    /// How many changesets are new.
    pub fn made(&self) -> usize {
        self.made.len()
    }

    /// The branch of the working copy.
    pub fn branch(&self) -> &[u8] {
        &self.branch
    }

    /// Sets the branch of the working copy.
    pub fn set_branch(&mut self, name: &[u8]) {
        self.branch = name.to_vec();
    }

    /// The branch of a changeset.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn branch_of(&self, node: &Node) -> Result<Vec<u8>, WorkdirError> {
        if let Some(branch) = self.made.get(node) {
            return Ok(branch.clone());
        }
        match self.view.changelog().rev(node) {
            Some(rev) => Ok(self
                .view
                .with_changeset(rev, |changeset| changeset.branch().into_owned())?),
            None => Ok(DEFAULT_BRANCH.to_vec()),
        }
    }

    fn tree(&self, node: &Node) -> Result<Tree<'a>, WorkdirError> {
        match &self.batch {
            Some(batch) => Ok(Tree::of_text(self.view, *node, batch.manifest_text(node)?)),
            None => Tree::of(self.view, self.view.changelog().rev(node)),
        }
    }

    /// Gives the working copy, which has no changes, the files of another changeset.
    ///
    /// # Errors
    /// Damage in the repository; a failure of the file system.
    pub fn check_out(&mut self, target: Node) -> Result<CheckedOut, WorkdirError> {
        let (from, to) = (self.tree(&self.dirstate.parents()[0])?, self.tree(&target)?);
        self.branch = self.branch_of(&target)?;
        let batch = self.batch.as_ref();
        let trees = (&from, &to);
        checkout::check_out(self.repository, &mut self.dirstate, trees, batch, target)
    }

    /// Applies a patch to the working copy. Files that were touched before a fault are noted in the dirstate too.
    ///
    /// # Errors
    /// A failure of the file system; those of the patch are in the result.
    pub fn apply(
        &mut self,
        text: &[u8],
        options: &ApplyOptions,
        similarity: f64,
        observer: PatchObserver<'_>,
    ) -> Result<PatchedFiles, WorkdirError> {
        self.stop.check()?;
        let mut target = WorkingTarget::new(self.repository, &self.dirstate, observer);
        let outcome = apply(text, &mut target, options);
        let changes = target.into_changes();
        let tree = self.tree(&self.dirstate.parents()[0])?;
        let store = (self.batch.as_ref(), self.view);
        let mut files = changes.note(&mut self.dirstate, &tree, store, similarity)?;
        files.fault = match outcome {
            Ok(outcome) => outcome.has_rejects.then_some(PatchError::Rejected),
            Err(WorkdirError::Patch(error)) => Some(error),
            Err(error) => return Err(error),
        };
        Ok(files)
    }

    /// Changes of some files of the working copy against its first parent.
    ///
    /// # Errors
    /// Damage in the repository; a failure of the file system.
    pub fn status(&self, files: &BTreeSet<Vec<u8>>) -> Result<Status, WorkdirError> {
        let tree = self.tree(&self.dirstate.parents()[0])?;
        let working = WorkingFiles::of(self.repository);
        let mut status = Status::default();
        for path in files {
            let is_tracked = self.dirstate.is_tracked(path);
            let exists = working.stat(path)?.is_some();
            match (tree.get(path)?, is_tracked) {
                (Some(_), false) => status.removed.push(path.clone()),
                (None, true) if exists => status.added.push(path.clone()),
                (Some((node, kind)), true) if exists => {
                    let before = match &self.batch {
                        Some(batch) => batch.file_content(path, &node)?,
                        None => self.view.file_content(path, &node)?,
                    };
                    let is_copy = self.dirstate.copy_source(path).is_some();
                    if is_copy || working.read(path)? != (before, kind) {
                        status.modified.push(path.clone());
                    }
                }
                _ => {}
            }
        }
        Ok(status)
    }

    /// Commits changes of the working copy, to whose dirstate they belong from then on.
    ///
    /// # Errors
    /// A failure to read or write.
    pub fn commit(
        &mut self,
        status: &Status,
        metadata: &CommitMetadata<'_>,
    ) -> Result<Option<Node>, WorkdirError> {
        let Some(batch) = &mut self.batch else {
            return Ok(None);
        };
        let boundary = Dirstate::clock(self.repository)?;
        let work = (self.repository, self.stop, None);
        let parents = self.dirstate.parents();
        let (node, seen) = store_changes(batch, work, &self.dirstate, status, metadata)?;
        note_committed(&mut self.dirstate, &seen, status, boundary);
        self.dirstate.set_parents([node, Node::NULL]);
        self.move_bookmark(parents, node)?;
        self.made.insert(node, metadata.branch.to_vec());
        Ok(Some(node))
    }

    /// Applies a patch to the files of a changeset, without the working copy.
    ///
    /// # Errors
    /// A patch that cannot be read or applied; damage in the repository.
    pub fn apply_to(
        &self,
        parent: &Node,
        text: &[u8],
        options: &ApplyOptions,
        observer: PatchObserver<'_>,
    ) -> Result<PatchedChangeset, WorkdirError> {
        self.stop.check()?;
        let Some(batch) = &self.batch else {
            return Ok(PatchedChangeset::default());
        };
        let mut target = MemoryTarget {
            contents: &|path, node| Ok(batch.file_content(path, node)?),
            rejects: None,
            tree: self.tree(parent)?,
            observer,
            changes: PatchedChangeset::default(),
        };
        match apply(text, &mut target, options)?.has_rejects {
            true => Err(PatchError::Rejected.into()),
            false => Ok(target.changes),
        }
    }

    /// The files that such changes modify, add and remove in `parent`.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn status_in(
        &self,
        parent: &Node,
        changes: &PatchedChangeset,
    ) -> Result<Status, WorkdirError> {
        let tree = self.tree(parent)?;
        let mut status = Status {
            removed: changes.removed().cloned().collect(),
            ..Status::default()
        };
        for path in changes.written() {
            match tree.get(path)? {
                Some(_) => status.modified.push(path.clone()),
                None => status.added.push(path.clone()),
            }
        }
        Ok(status)
    }

    /// Commits such changes.
    ///
    /// # Errors
    /// As of [`CommitBatch::commit`].
    pub fn commit_to(
        &mut self,
        parents: [Node; 2],
        changes: &PatchedChangeset,
        metadata: &CommitMetadata<'_>,
    ) -> Result<Option<Node>, WorkdirError> {
        let Some(batch) = &mut self.batch else {
            return Ok(None);
        };
        let node = changes.commit(batch, parents, metadata)?;
        self.made.insert(node, metadata.branch.to_vec());
        Ok(Some(node))
    }

    /// The active bookmark follows from a parent to the new changeset.
    fn move_bookmark(&mut self, parents: [Node; 2], node: Node) -> Result<(), WorkdirError> {
        let active = branch_and_bookmark::active_bookmark(self.repository)?;
        let at = active.and_then(|active| self.bookmarks.get_mut(&active));
        if let Some(at) = at
            && (parents.contains(at) || at.is_null())
        {
            *at = node;
            if let Some(batch) = &mut self.batch {
                batch.transaction().set_bookmarks(&self.bookmarks)?;
            }
        }
        Ok(())
    }

    /// Stores the new changesets, then the dirstate. Dropped without it, a session leaves the repository as it was.
    ///
    /// # Errors
    /// A failure of the storage; a hook that refuses.
    pub fn finish(mut self) -> Result<(), WorkdirError> {
        let repository = self.repository;
        let is_new = !self.made.is_empty();
        if let Some(mut batch) = self.batch.filter(|_| is_new) {
            self.dirstate
                .write_within(repository, batch.transaction())?;
            batch.finish()?;
        }
        branch_and_bookmark::set_branch(repository, &self.branch)?;
        self.dirstate.write(repository)?;
        if is_new {
            clear_merge(repository)?;
        }
        Ok(())
    }
}
