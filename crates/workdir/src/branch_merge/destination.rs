//! The changeset that a merge without a revision takes.

use crate::{Dirstate, WorkdirError, active_bookmark, branch};
use std::collections::BTreeSet;
use varve_repo::{DEFAULT_BRANCH, RepoView, Repository, Rev};

/// The other head, or the reason why there is none to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeDestination {
    /// The only other head.
    Found(Rev),
    /// There is one head, and the working copy is not at it.
    OnlyUpdate,
    /// The working copy is not at a head of its branch.
    NotAtHead,
    /// There are several other heads.
    SeveralHeads {
        /// The branch.
        branch: Vec<u8>,
        /// Number of its heads.
        heads: usize,
    },
    /// Bookmarks name all other heads.
    AllBookmarked,
    /// The branch has no other head, but another branch has one.
    OneHead {
        /// The branch.
        branch: Vec<u8>,
    },
    /// There is no other head.
    Nothing,
    /// The active bookmark diverged in several ways.
    SeveralBookmarks,
    /// The active bookmark has not diverged.
    NoBookmark,
}

/// Looks for the head that a merge takes by itself: from the parent of the working copy, or from `sources`.
///
/// # Errors
/// Damage in the repository.
pub fn merge_destination(
    repository: &Repository,
    view: &RepoView,
    dirstate: &Dirstate,
    sources: Option<&[Rev]>,
) -> Result<MergeDestination, WorkdirError> {
    if let Some(sources) = sources {
        let branch = branch_of_roots(view, sources)?;
        return of_branch(view, branch, sources);
    }
    let active = active_bookmark(repository)?;
    match active.filter(|name| view.bookmarks().contains_key(name)) {
        Some(name) => Ok(of_bookmark(view, dirstate, &name)),
        None => {
            let current = view.changelog().rev(&dirstate.parents()[0]);
            let sources: Vec<Rev> = current.into_iter().collect();
            of_branch(view, branch(repository)?, &sources)
        }
    }
}

/// The branch of the first root of changesets; the usual one if there are none.
fn branch_of_roots(view: &RepoView, revs: &[Rev]) -> Result<Vec<u8>, WorkdirError> {
    Ok(match view.roots(revs).first() {
        Some(root) => view.with_changeset(*root, |root| root.branch().into_owned())?,
        None => DEFAULT_BRANCH.to_vec(),
    })
}

/// The part of a bookmark's name before `@`, by which diverged ones know each other.
fn stem(name: &[u8]) -> &[u8] {
    match name.iter().position(|byte| *byte == b'@') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

fn of_bookmark(view: &RepoView, dirstate: &Dirstate, active: &[u8]) -> MergeDestination {
    let current = view.changelog().rev(&dirstate.parents()[0]);
    let diverged = view.bookmarks().iter();
    let diverged = diverged.filter(|(name, _)| stem(name) == stem(active));
    let revs: BTreeSet<Rev> = diverged
        .filter_map(|(_, node)| view.changelog().rev(node))
        .collect();
    let mut others = revs.iter().filter(|rev| Some(**rev) != current);
    match (revs.len(), others.next()) {
        (2, Some(other)) => MergeDestination::Found(*other),
        (0..=2, _) => MergeDestination::NoBookmark,
        _ => MergeDestination::SeveralBookmarks,
    }
}

/// The other head of a branch than `sources`, which must be heads of it.
fn of_branch(
    view: &RepoView,
    branch: Vec<u8>,
    sources: &[Rev],
) -> Result<MergeDestination, WorkdirError> {
    let heads = open_heads(view, &branch)?;
    if sources.is_empty() || !sources.iter().all(|rev| heads.contains(rev)) {
        return Ok(match heads.len() {
            0 | 1 => MergeDestination::OnlyUpdate,
            _ => MergeDestination::NotAtHead,
        });
    }
    Ok(other_head(view, branch, heads, sources))
}

/// Looks for the changeset that a rebase goes to by itself: from the parent of the working copy, or from `sources`.
///
/// # Errors
/// Damage in the repository.
pub fn rebase_destination(
    repository: &Repository,
    view: &RepoView,
    dirstate: &Dirstate,
    sources: Option<&[Rev]>,
) -> Result<MergeDestination, WorkdirError> {
    let current = view.changelog().rev(&dirstate.parents()[0]);
    let (sources, branch) = match sources {
        Some(sources) => (sources.to_vec(), branch_of_roots(view, sources)?),
        None => {
            let active = active_bookmark(repository)?;
            if let Some(name) = active.filter(|name| view.bookmarks().contains_key(name)) {
                return Ok(of_bookmark(view, dirstate, &name));
            }
            (current.into_iter().collect(), branch(repository)?)
        }
    };
    // Everything follows from the null changeset.
    let heads = match sources.is_empty() {
        true => Vec::new(),
        false => open_heads(view, &branch)?,
    };
    let is_at_head = sources.iter().any(|rev| heads.contains(rev));
    Ok(match other_head(view, branch, heads, &sources) {
        MergeDestination::Nothing if !is_at_head => MergeDestination::OnlyUpdate,
        found => found,
    })
}

/// Heads of a branch that are not closed.
fn open_heads(view: &RepoView, branch: &[u8]) -> Result<Vec<Rev>, WorkdirError> {
    let found = view.branchmap()?.get(branch);
    Ok(found.map_or_else(Vec::new, |found| {
        let heads = found.heads.iter();
        let open = heads.filter(|head| !found.closed.contains(head));
        open.copied().collect()
    }))
}

/// The only one of `heads` that follows from none of `sources`.
fn other_head(
    view: &RepoView,
    branch: Vec<u8>,
    heads: Vec<Rev>,
    sources: &[Rev],
) -> MergeDestination {
    let follows = |head: Rev| {
        let mut sources = sources.iter();
        sources.any(|source| head == *source || view.is_descendant(head, *source))
    };
    let others: Vec<Rev> = heads.into_iter().filter(|head| !follows(*head)).collect();
    let bookmarked: BTreeSet<Rev> = view
        .bookmarks()
        .values()
        .filter_map(|node| view.changelog().rev(node))
        .collect();
    let mut anonymous = others.iter().filter(|head| !bookmarked.contains(head));
    match (anonymous.next(), anonymous.next()) {
        (Some(only), None) => MergeDestination::Found(*only),
        (Some(_), Some(_)) => MergeDestination::SeveralHeads {
            branch,
            heads: others.len() + 1,
        },
        (None, _) if !others.is_empty() => MergeDestination::AllBookmarked,
        (None, _) if view.heads().len() > 1 => MergeDestination::OneHead { branch },
        (None, _) => MergeDestination::Nothing,
    }
}
