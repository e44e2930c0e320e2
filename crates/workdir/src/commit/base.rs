//! The state of repository and working copy that a commit builds on.

use crate::branch_and_bookmark;
use crate::{AmendRefusal, CloseRefusal, Dirstate, WorkdirError};
use std::sync::Arc;
use varve_repo::{Changeset, DEFAULT_BRANCH, Evolution, Node, RepoView, Repository, Rev};

/// Parents, branch and bookmark of the next changeset, before it is committed.
#[derive(Debug)]
pub struct CommitBase {
    view: Arc<RepoView>,
    parents: Vec<Rev>,
    branch: Vec<u8>,
    bookmark: Option<Vec<u8>>,
}

/// How a commit closes its branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseOptions {
    /// Whether a changeset that is no head of its branch may be closed too.
    pub forced: bool,
    /// Whether the commit replaces the parent of the working copy.
    pub amends: bool,
    /// Whether no file changes; then a closed head cannot be closed again.
    pub nothing_changed: bool,
}

/// Effect of a commit on the heads of its branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadChanges {
    /// Whether the branch has one more head.
    pub created: bool,
    /// Parents that closed the branch, which is open again.
    pub reopened: Vec<Rev>,
}

impl CommitBase {
    /// Reads the state of `repository`, of which `view` was read under the lock of its store.
    ///
    /// # Errors
    /// [`WorkdirError::UnknownParent`]; a failure of the storage.
    pub fn read(
        repository: &Repository,
        view: Arc<RepoView>,
        dirstate: &Dirstate,
    ) -> Result<CommitBase, WorkdirError> {
        let nodes = dirstate.parents();
        let nodes = nodes.iter().filter(|node| !node.is_null());
        let known = |node: &Node| {
            let rev = view.changelog().rev(node);
            rev.ok_or(WorkdirError::UnknownParent(*node))
        };
        let parents = nodes.map(known).collect::<Result<Vec<Rev>, _>>()?;
        let active = branch_and_bookmark::active_bookmark(repository)?;
        Ok(CommitBase {
            branch: branch_and_bookmark::branch(repository)?,
            bookmark: active.filter(|name| {
                let at = view.bookmarks().get(name);
                at.is_some_and(|at| dirstate.parents().contains(at))
            }),
            view,
            parents,
        })
    }

    /// The repository before the commit.
    pub fn view(&self) -> &Arc<RepoView> {
        &self.view
    }

    /// The branch of the new changeset.
    pub fn branch(&self) -> &[u8] {
        &self.branch
    }

    /// The active bookmark, if it is at a parent.
    pub fn bookmark(&self) -> Option<&[u8]> {
        self.bookmark.as_deref()
    }

    /// Whether the working copy has two parents.
    pub fn is_merge(&self) -> bool {
        self.parents.len() > 1
    }

    /// Whether the new changeset is on another branch than its first parent.
    pub fn changes_branch(&self) -> bool {
        let old = self.parents.first().and_then(|rev| self.branch_of(*rev));
        old.unwrap_or_else(|| DEFAULT_BRANCH.to_vec()) != self.branch
    }

    /// The changeset that an amendment replaces: the only parent of the working copy.
    ///
    /// # Errors
    /// [`WorkdirError::CannotAmend`]; damage in the repository.
    pub fn amendable(&self, evolution: Evolution) -> Result<Rev, WorkdirError> {
        let old = match self.parents[..] {
            [] => return Err(AmendRefusal::NullParent.into()),
            [old] => old,
            _ => return Err(AmendRefusal::Merge.into()),
        };
        let node = self.view.changelog().node(old);
        match self.view.rewrite_refusal(old, evolution)? {
            Some(reason) => Err(AmendRefusal::Rewrite { node, reason }.into()),
            None => Ok(old),
        }
    }

    /// Checks that the commit may close its branch.
    ///
    /// # Errors
    /// [`WorkdirError::CannotClose`]; damage in the repository.
    pub fn check_close(&self, options: CloseOptions) -> Result<(), WorkdirError> {
        let parent = self.parents.first().copied();
        if parent.is_some_and(|rev| self.closes(rev)) {
            return match options.nothing_changed {
                true => Err(CloseRefusal::AlreadyClosed.into()),
                false => Ok(()),
            };
        }
        let heads = self.open_heads()?;
        if heads.is_empty() {
            return Err(CloseRefusal::NoHeads.into());
        }
        if options.amends {
            // The amended changeset goes; the branch must have begun before it.
            let parents = parent.map(|rev| self.view.changelog().parents(rev));
            let mut parents = parents.into_iter().flatten().flatten();
            // The null revision is on the default branch.
            let begins = self.branch == DEFAULT_BRANCH;
            return match begins || parents.any(|rev| self.is_on_branch(rev)) {
                true => Ok(()),
                false => Err(CloseRefusal::NotAHead.into()),
            };
        }
        let is_inside = |rev: Rev| self.is_on_branch(rev) && !heads.contains(&rev);
        if !options.forced && parent.is_some_and(is_inside) {
            return Err(CloseRefusal::NotAHead.into());
        }
        Ok(())
    }

    /// Effect of the commit on the heads of its branch, if it does not amend; `closes` tells whether it closes the
    /// branch.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn head_changes(&self, closes: bool) -> Result<HeadChanges, WorkdirError> {
        let parents = self.parents.iter().copied();
        let parents: Vec<Rev> = parents.filter(|rev| self.is_on_branch(*rev)).collect();
        let mut changes = HeadChanges::default();
        // The heads of all branches are read only if no parent is certainly an open head.
        let obsolete = self.view.obsolete()?;
        let is_open_head =
            |rev: &Rev| self.is_childless(*rev) && !self.closes(*rev) && !obsolete.contains(rev);
        if !parents.iter().any(is_open_head) {
            let heads = self.open_heads()?;
            changes.created = !heads.is_empty() && !parents.iter().any(|rev| heads.contains(rev));
        }
        if !closes {
            changes.reopened = parents
                .into_iter()
                .filter(|rev| self.closes(*rev))
                .collect();
        }
        Ok(changes)
    }

    fn branch_of(&self, rev: Rev) -> Option<Vec<u8>> {
        let read = |changeset: Changeset<'_>| changeset.branch().into_owned();
        self.view.with_changeset(rev, read).ok()
    }

    fn is_on_branch(&self, rev: Rev) -> bool {
        self.branch_of(rev).as_deref() == Some(&self.branch[..])
    }

    fn closes(&self, rev: Rev) -> bool {
        let read = |changeset: Changeset<'_>| changeset.closes_branch();
        self.view.with_changeset(rev, read).unwrap_or(false)
    }

    fn open_heads(&self) -> Result<Vec<Rev>, WorkdirError> {
        let branches = self.view.branchmap()?;
        let Some(found) = branches.get(&self.branch) else {
            return Ok(Vec::new());
        };
        let heads = found.heads.iter();
        let open = heads.filter(|head| !found.closed.contains(head));
        Ok(open.copied().collect())
    }

    fn is_childless(&self, rev: Rev) -> bool {
        let changelog = self.view.changelog();
        let mut later = changelog.revs().skip(rev.index() + 1);
        !later.any(|child| changelog.parents(child).contains(&Some(rev)))
    }
}
