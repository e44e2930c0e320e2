//! Setting, renaming and removing bookmarks of a working copy.

use crate::branch_and_bookmark::{active_bookmark, branch, set_active_bookmark};
use crate::{BookmarkRefusal, WorkdirError};
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_repo::{Lock, Node, RepoView, Repository, Rev, ViewFilter};

/// All bookmarks and the active one, before and after a change that is not stored yet.
#[derive(Debug)]
pub struct BookmarkEdit {
    view: Arc<RepoView>,
    before: BTreeMap<Vec<u8>, Node>,
    after: BTreeMap<Vec<u8>, Node>,
    active_before: Option<Vec<u8>>,
    active: Option<Vec<u8>>,
    /// First parent of the working copy.
    parent: Option<Rev>,
    /// Branch of the next commit.
    branch: Vec<u8>,
    force: bool,
}

impl BookmarkEdit {
    /// Reads the present bookmarks; with `force`, no name is refused because it is taken. The caller holds the lock
    /// of the working copy.
    ///
    /// # Errors
    /// Damage in the repository; a failure of the storage.
    pub fn new(
        repository: &Repository,
        view: Arc<RepoView>,
        force: bool,
    ) -> Result<BookmarkEdit, WorkdirError> {
        let all = repository.view_for(ViewFilter::Unfiltered)?;
        let before = all.bookmarks().clone();
        let active = active_bookmark(repository)?.filter(|name| before.contains_key(name));
        let parents = view.working_parents()?;
        Ok(BookmarkEdit {
            after: before.clone(),
            before,
            active_before: active.clone(),
            active,
            parent: parents.first().and_then(|node| view.changelog().rev(node)),
            branch: branch(repository)?,
            view,
            force,
        })
    }

    /// Whether the repository had no bookmark.
    pub fn was_empty(&self) -> bool {
        self.before.is_empty()
    }

    /// First parent of the working copy.
    pub fn working_parent(&self) -> Option<Rev> {
        self.parent
    }

    /// Whether there is a bookmark of this name.
    pub fn has(&self, name: &[u8]) -> bool {
        self.after.contains_key(name)
    }

    /// The active bookmark.
    pub fn active(&self) -> Option<&[u8]> {
        self.active.as_deref()
    }

    /// Leaves no bookmark active. Returns whether one was.
    pub fn deactivate(&mut self) -> bool {
        self.active.take().is_some()
    }

    /// Removes a bookmark, also as the active one.
    ///
    /// # Errors
    /// [`BookmarkRefusal::Unknown`].
    pub fn remove(&mut self, name: &[u8]) -> Result<(), WorkdirError> {
        self.after.remove(name).ok_or_else(|| unknown(name))?;
        self.active.take_if(|active| active == name);
        Ok(())
    }

    /// Gives a bookmark another name; the active one stays active.
    ///
    /// # Errors
    /// [`BookmarkRefusal`]; damage in the repository.
    pub fn rename(&mut self, old: &[u8], new: &[u8]) -> Result<(), WorkdirError> {
        let node = *self.after.get(old).ok_or_else(|| unknown(old))?;
        if !self.force && self.after.contains_key(new) {
            return Err(exists(new));
        }
        self.refuse_branch_name(new)?;
        self.after.insert(new.to_vec(), node);
        if self.active() == Some(old) {
            self.active = Some(new.to_vec());
        }
        self.after.remove(old);
        Ok(())
    }

    /// Sets a bookmark to `target`; `None` is the null revision. Returns the earlier changeset of a bookmark that
    /// moves to a descendant.
    ///
    /// # Errors
    /// [`BookmarkRefusal::Exists`] for a move to another changeset than a descendant;
    /// [`BookmarkRefusal::BranchName`]; damage in the repository.
    pub fn set(&mut self, name: &[u8], target: Option<Rev>) -> Result<Option<Node>, WorkdirError> {
        let moved = match self.after.get(name).copied() {
            _ if self.force => None,
            Some(node) => self.moved_forward(name, node, target)?,
            None => {
                self.refuse_branch_name(name)?;
                None
            }
        };
        let node = self.view.changelog().node_or_null(target);
        self.after.insert(name.to_vec(), node);
        Ok(moved)
    }

    /// Chooses the active bookmark after the bookmarks of one command were set, of which `first` is the first. It
    /// becomes active if it `follows` the working copy; if it was active and is now elsewhere, no bookmark is.
    pub fn activate(&mut self, first: Option<Vec<u8>>, target: Option<Rev>, follows: bool) {
        if follows {
            self.active = first;
        } else if target != self.parent && first.is_some() && first == self.active {
            self.active = None;
        }
    }

    /// Stores the active bookmark, which hooks of [`BookmarkEdit::store`] see already.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn store_active(&self, repository: &Repository) -> Result<(), WorkdirError> {
        match self.active != self.active_before {
            true => set_active_bookmark(repository, self.active()),
            false => Ok(()),
        }
    }

    /// Whether [`BookmarkEdit::store`] has anything to write.
    pub fn changes_bookmarks(&self) -> bool {
        self.after != self.before
    }

    /// Stores the bookmarks in a transaction under the store's lock.
    ///
    /// # Errors
    /// A hook that refuses; a failure of the storage.
    pub fn store(&self, repository: &Repository, lock: Lock) -> Result<(), WorkdirError> {
        let mut transaction = repository.transaction(lock, "bookmark")?;
        transaction.set_bookmarks(&self.after)?;
        Ok(transaction.finish()?)
    }

    /// Refuses to move a bookmark from `node` elsewhere than forward. At the working parent it may be set again.
    fn moved_forward(
        &self,
        name: &[u8],
        node: Node,
        target: Option<Rev>,
    ) -> Result<Option<Node>, WorkdirError> {
        let present = self.view.changelog().rev(&node);
        match (present, target) {
            _ if present == target && target == self.parent => Ok(None),
            (None, Some(_)) => Ok(Some(node)),
            (Some(present), Some(target)) if self.view.is_descendant(target, present) => {
                Ok(Some(node))
            }
            _ => Err(exists(name)),
        }
    }

    fn refuse_branch_name(&self, name: &[u8]) -> Result<(), WorkdirError> {
        let is_branch = self.branch == name || self.view.branchmap()?.contains_key(name);
        match is_branch && !self.force {
            true => Err(BookmarkRefusal::BranchName.into()),
            false => Ok(()),
        }
    }
}

fn unknown(name: &[u8]) -> WorkdirError {
    BookmarkRefusal::Unknown(String::from_utf8_lossy(name).into_owned()).into()
}

fn exists(name: &[u8]) -> WorkdirError {
    BookmarkRefusal::Exists(String::from_utf8_lossy(name).into_owned()).into()
}
