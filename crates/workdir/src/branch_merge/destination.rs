//! The changeset that a merge without a revision takes.

use crate::{Dirstate, WorkdirError, active_bookmark, branch};
use std::collections::BTreeSet;
use varve_repo::{RepoView, Repository, Rev};

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

/// Looks for the head that a merge takes by itself.
///
/// # Errors
/// Damage in the repository.
pub fn merge_destination(
    repository: &Repository,
    view: &RepoView,
    dirstate: &Dirstate,
) -> Result<MergeDestination, WorkdirError> {
    let active = active_bookmark(repository)?;
    match active.filter(|name| view.bookmarks().contains_key(name)) {
        Some(name) => Ok(of_bookmark(view, dirstate, &name)),
        None => of_branch(repository, view, dirstate),
    }
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

fn of_branch(
    repository: &Repository,
    view: &RepoView,
    dirstate: &Dirstate,
) -> Result<MergeDestination, WorkdirError> {
    let current = view.changelog().rev(&dirstate.parents()[0]);
    let branch = branch(repository)?;
    let found = view.branchmap()?.get(&branch);
    let heads: Vec<Rev> = found.map_or_else(Vec::new, |found| {
        let open = found
            .heads
            .iter()
            .filter(|head| !found.closed.contains(head));
        open.copied().collect()
    });
    let Some(current) = current.filter(|rev| heads.contains(rev)) else {
        return Ok(match heads.len() {
            0 | 1 => MergeDestination::OnlyUpdate,
            _ => MergeDestination::NotAtHead,
        });
    };
    let is_other = |head: &Rev| *head != current && !view.is_descendant(*head, current);
    let others: Vec<Rev> = heads.into_iter().filter(is_other).collect();
    let bookmarked: BTreeSet<Rev> = view
        .bookmarks()
        .values()
        .filter_map(|node| view.changelog().rev(node))
        .collect();
    let mut anonymous = others.iter().filter(|head| !bookmarked.contains(head));
    Ok(match (anonymous.next(), anonymous.next()) {
        (Some(only), None) => MergeDestination::Found(*only),
        (Some(_), Some(_)) => MergeDestination::SeveralHeads {
            branch,
            heads: others.len() + 1,
        },
        (None, _) if !others.is_empty() => MergeDestination::AllBookmarked,
        (None, _) if view.heads().len() > 1 => MergeDestination::OneHead { branch },
        (None, _) => MergeDestination::Nothing,
    })
}
