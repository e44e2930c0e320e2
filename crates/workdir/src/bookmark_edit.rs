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
    /// moves to a descendant. Those that a pull has kept beside it, as `name@path`, are removed where the bookmark is
    /// then, or behind it.
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

    /// Refuses to move a bookmark from `node` elsewhere than forward, or to one that was kept beside it. At the working
    /// parent it may be set again.
    fn moved_forward(
        &mut self,
        name: &[u8],
        node: Node,
        target: Option<Rev>,
    ) -> Result<Option<Node>, WorkdirError> {
        let present = self.view.changelog().rev(&node);
        if present == target && target == self.parent {
            return Ok(None);
        }
        let Some(target) = target else {
            return Err(exists(name));
        };
        let is_forward = present.is_none_or(|old| self.view.is_descendant(target, old));
        let beside = self.kept_beside(name);
        // Another line of development is taken over if a pull has left a bookmark on it.
        if !is_forward && !beside.iter().any(|(_, rev)| *rev == Some(target)) {
            return Err(exists(name));
        }
        for (other, rev) in beside {
            let is_behind = |rev: Rev| is_forward && self.view.is_descendant(target, rev);
            if rev.is_some_and(|rev| rev == target || is_behind(rev)) {
                self.after.remove(&other);
            }
        }
        Ok(is_forward.then_some(node))
    }

    /// Bookmarks that a pull has kept beside another, and where they are.
    fn kept_beside(&self, name: &[u8]) -> Vec<(Vec<u8>, Option<Rev>)> {
        let base = |name: &[u8]| name.split(|byte| *byte == b'@').next().map(<[u8]>::to_vec);
        let is_beside = |other: &[u8]| {
            other != b"@" && other.contains(&b'@') && other != name && base(other) == base(name)
        };
        let beside = self.after.iter().filter(|(other, _)| is_beside(other));
        let rev = |node: &Node| self.view.changelog().rev(node);
        beside
            .map(|(other, node)| (other.clone(), rev(node)))
            .collect()
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
