//! Checks of a push that is not forced, before anything is sent.

use super::heads::BranchHeads;
use crate::ExchangeError;
use crate::error::{NewHeads, PushRefusal};
use std::collections::BTreeSet;
use varve_repo::{DEFAULT_BRANCH, RepoView};
use varve_revlog::{Node, Rev};

/// The changesets of a push, with the history that they are checked against.
#[derive(Clone, Copy, Debug)]
pub struct PushChecks<'a> {
    /// The repository as its owner sees it.
    pub view: &'a RepoView,
    /// The repository with all hidden changesets.
    pub all: &'a RepoView,
    /// The changesets to be sent, oldest first.
    pub missing: &'a [Rev],
}

impl PushChecks<'_> {
    /// Refuses heads that are obsolete, orphaned or divergent.
    ///
    /// # Errors
    /// [`PushRefusal::Unstable`] for the newest of them; damaged markers.
    pub fn refuse_unstable(&self) -> Result<(), ExchangeError> {
        let unstable = self.all.instabilities()?;
        let changelog = self.view.changelog();
        let parents = |rev: &Rev| changelog.parents(*rev).into_iter().flatten();
        let followed: BTreeSet<Rev> = self.missing.iter().flat_map(parents).collect();
        let heads = self.missing.iter().rev();
        for rev in heads.filter(|rev| !followed.contains(rev)) {
            let instability = match unstable.obsolete.contains(rev) {
                true => Some("obsolete"),
                false => unstable.names(*rev).next(),
            };
            if let Some(instability) = instability {
                let node = changelog.node(*rev);
                return Err(PushRefusal::Unstable { node, instability }.into());
            }
        }
        Ok(())
    }

    /// Refuses branches that the other side does not have.
    ///
    /// # Errors
    /// [`PushRefusal::NewBranches`]; a damaged changeset.
    pub fn refuse_new_branches(&self, branches: &[BranchHeads]) -> Result<(), ExchangeError> {
        let new = branches.iter().filter(|branch| branch.before.is_none());
        let names: Vec<Vec<u8>> = new.map(|branch| branch.name.clone()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let own = self.view.branchmap()?;
        let is_closed = |name: &&Vec<u8>| {
            let branch = own.get(*name);
            branch
                .is_some_and(|branch| branch.heads.iter().all(|head| branch.closed.contains(head)))
        };
        let closed = names.iter().filter(is_closed).count();
        Err(PushRefusal::NewBranches { names, closed }.into())
    }

    /// Heads that a branch would get besides those that it has, without the `accepted` ones; `None` if it would not
    /// have more heads than before, or one if it is new.
    pub fn new_heads(&self, branch: &BranchHeads, accepted: &BTreeSet<Node>) -> Option<NewHeads> {
        let heads: Vec<Node> = match &branch.before {
            None if branch.after.len() > 1 => branch.after.clone(),
            Some(before) if branch.after.len() > before.len() => {
                let added = branch.added().filter(|node| !accepted.contains(node));
                let added: BTreeSet<Node> = added.copied().collect();
                added.into_iter().collect()
            }
            _ => Vec::new(),
        };
        let first = heads.first()?;
        let mut bookmarks = self.view.bookmarks().iter();
        let bookmark = bookmarks.find(|(_, node)| *node == first);
        Some(NewHeads {
            branch: branch.name.clone(),
            is_new_branch: branch.before.is_none(),
            bookmark: bookmark
                .filter(|_| branch.name == DEFAULT_BRANCH)
                .map(|(name, _)| name.clone()),
            has_unknown: !branch.unknown.is_empty(),
            heads,
        })
    }
}
