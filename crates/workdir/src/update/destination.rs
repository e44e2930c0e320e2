//! The destination of an update that names no revision, and the state of its branch.

use crate::WorkdirError;
use crate::branch_and_bookmark::{active_bookmark, branch};
use std::collections::HashSet;
use varve_repo::{BranchHeads, DEFAULT_BRANCH, Node, RepoView, Repository, Rev};

/// The bookmark that an update without a revision uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DestinationBookmark {
    /// The update goes to the active bookmark, from which the working copy has moved away.
    Follows(Vec<u8>),
    /// The active bookmark is at the parent of the working copy, and goes along.
    Moves(Vec<u8>),
}

/// The destination of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// The changeset; `None` is the null revision.
    pub rev: Option<Rev>,
    /// The bookmark that decides it or goes along.
    pub bookmark: Option<DestinationBookmark>,
}

/// The destination of an update that names no revision: the active bookmark if it is elsewhere, else the
/// [`destination`] on the branch of the working copy.
///
/// # Errors
/// Damage in the repository; a failure of the storage.
pub fn default_destination(
    repository: &Repository,
    view: &RepoView,
) -> Result<Destination, WorkdirError> {
    let from = working_parent(view)?;
    let active = active_bookmark(repository)?;
    let active = active.and_then(|name| Some((*view.bookmarks().get(&name)?, name)));
    let mut bookmark = None;
    if let Some((node, name)) = active {
        let rev = view.changelog().rev(&node);
        if rev != from {
            let bookmark = Some(DestinationBookmark::Follows(name));
            return Ok(Destination { rev, bookmark });
        }
        bookmark = Some(DestinationBookmark::Moves(name));
    }
    let rev = destination(view, &branch(repository)?, from)?;
    Ok(Destination { rev, bookmark })
}

/// The bookmark that a new clone is updated to if it exists.
const CLONE_BOOKMARK: &[u8] = b"@";

/// The destination of the first update of a clone: the bookmark `@`, else the newest head of the default branch, else
/// the newest changeset.
///
/// # Errors
/// Damage in the repository.
pub fn clone_destination(view: &RepoView) -> Result<Destination, WorkdirError> {
    if let Some(node) = view.bookmarks().get(CLONE_BOOKMARK) {
        return Ok(Destination {
            rev: view.changelog().rev(node),
            bookmark: Some(DestinationBookmark::Follows(CLONE_BOOKMARK.to_vec())),
        });
    }
    let branch = view.branchmap()?.get(DEFAULT_BRANCH);
    Ok(Destination {
        rev: branch.and_then(BranchHeads::tip).or(view.tip()),
        bookmark: None,
    })
}

/// The change of a bookmark after an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookmarkChange {
    /// A bookmark moves to the new parent of the working copy.
    Move {
        /// Name of the bookmark.
        name: Vec<u8>,
        /// The new parent.
        to: Node,
    },
    /// A bookmark becomes the active one.
    Activate(Vec<u8>),
    /// This bookmark is no longer active.
    Deactivate(Vec<u8>),
}

/// Effect of an update to `destination` on bookmarks. `typed` is the name of the revision as the user gave it.
///
/// # Errors
/// A failure of the storage.
pub fn bookmark_change(
    repository: &Repository,
    view: &RepoView,
    destination: &Destination,
    typed: Option<&[u8]>,
) -> Result<Option<BookmarkChange>, WorkdirError> {
    if let Some(DestinationBookmark::Moves(name)) = &destination.bookmark {
        let to = view.changelog().node_or_null(destination.rev);
        if view.bookmarks().get(name) != Some(&to) {
            let name = name.clone();
            return Ok(Some(BookmarkChange::Move { name, to }));
        }
    }
    let Some(typed) = typed else {
        return Ok(None);
    };
    let active = active_bookmark(repository)?;
    let active = active.filter(|name| view.bookmarks().contains_key(name));
    Ok(match view.bookmarks().contains_key(typed) {
        true if active.as_deref() == Some(typed) => None,
        true => Some(BookmarkChange::Activate(typed.to_vec())),
        false => active.map(BookmarkChange::Deactivate),
    })
}

/// The heads of the branch of the working copy, next to its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherHeads {
    /// Name of the branch.
    pub branch: Vec<u8>,
    /// The parent of the working copy.
    pub at: Rev,
    /// Whether the parent closes the branch.
    pub at_is_closed: bool,
    /// Number of open heads of the branch without the parent.
    pub others: usize,
}

/// Looks for heads that an update without a revision could have gone to instead. `None` if an active bookmark has
/// decided the destination, or the branch has no changeset.
///
/// # Errors
/// Damage in the repository; a failure of the storage.
pub fn other_heads(
    repository: &Repository,
    view: &RepoView,
) -> Result<Option<OtherHeads>, WorkdirError> {
    let active = active_bookmark(repository)?;
    if active.is_some_and(|name| view.bookmarks().contains_key(&name)) {
        return Ok(None);
    }
    let Some(at) = working_parent(view)? else {
        return Ok(None);
    };
    let branch = branch(repository)?;
    let Some(heads) = view.branchmap()?.get(&branch) else {
        return Ok(None);
    };
    let others = heads.heads.iter().filter(|head| **head != at);
    let others = others.filter(|head| !heads.closed.contains(head)).count();
    Ok(Some(OtherHeads {
        at_is_closed: heads.closed.contains(&at),
        branch,
        at,
        others,
    }))
}

/// The first parent of the working copy.
fn working_parent(view: &RepoView) -> Result<Option<Rev>, WorkdirError> {
    let parents = view.working_parents()?;
    Ok(parents.first().and_then(|node| view.changelog().rev(node)))
}

/// The newest open head of `branch` among `from` (`None` is the null revision) and its descendants;
/// else the newest closed one; else `from` itself.
///
/// # Errors
/// Damage in the repository.
pub fn destination(
    view: &RepoView,
    branch: &[u8],
    from: Option<Rev>,
) -> Result<Option<Rev>, WorkdirError> {
    let branches = view.branchmap()?;
    let Some(BranchHeads { heads, closed }) = branches.get(branch) else {
        let is_unborn = branch == DEFAULT_BRANCH && from.is_none();
        return Ok(if is_unborn { view.tip() } else { from });
    };
    let reachable = descendants(view, from);
    let newest = |wanted: &dyn Fn(&Rev) -> bool| {
        let below = |rev: &Rev| reachable.as_ref().is_none_or(|revs| revs.contains(rev));
        heads.iter().copied().filter(below).filter(wanted).max()
    };
    let open = newest(&|rev| !closed.contains(rev));
    Ok(open.or_else(|| newest(&|_| true)).or(from))
}

/// A changeset and all that descends from it; `None` for everything.
fn descendants(view: &RepoView, from: Option<Rev>) -> Option<HashSet<Rev>> {
    let from = from?;
    let mut found = HashSet::from([from]);
    for rev in view.changelog().revs().skip(from.index() + 1) {
        let parents = view.changelog().parents(rev);
        if parents
            .into_iter()
            .flatten()
            .any(|parent| found.contains(&parent))
        {
            found.insert(rev);
        }
    }
    Some(found)
}
