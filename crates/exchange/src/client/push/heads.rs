//! Which heads a push makes on the branches of the other side.

use crate::ExchangeError;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Phase, RepoView};
use varve_revlog::{Node, Rev};

/// A branch that a push changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchHeads {
    /// Name of the branch, as the repository stores it.
    pub name: Vec<u8>,
    /// Its heads there, closed ones too; `None` if it is new there.
    pub before: Option<Vec<Node>>,
    /// Its heads there afterwards.
    pub after: Vec<Node>,
    /// Heads there that are not known here.
    pub unknown: Vec<Node>,
    /// Heads there that stop being heads because the push has their successors.
    pub replaced: Vec<Node>,
}

impl BranchHeads {
    /// Heads that are new, without those that were there.
    pub fn added(&self) -> impl Iterator<Item = &Node> {
        let before = self.before.iter().flatten().collect::<BTreeSet<_>>();
        self.after.iter().filter(move |node| !before.contains(node))
    }

    /// Heads there that this push changes.
    pub fn changed(&self) -> impl Iterator<Item = Node> + '_ {
        let before = self.before.iter().flatten();
        let gone = before.filter(|node| !self.after.contains(node) || self.replaced.contains(node));
        gone.copied()
    }
}

/// Looks at the branches of `missing`, which is about to be sent. `there` are the heads of the
/// other side's branches; `view` shows everything, hidden changesets too.
///
/// # Errors
/// A damaged changeset.
pub fn branch_heads(
    view: &RepoView,
    missing: &[Rev],
    there: &BTreeMap<Vec<u8>, Vec<Node>>,
) -> Result<Vec<BranchHeads>, ExchangeError> {
    let mut sent: BTreeMap<Vec<u8>, Vec<Rev>> = BTreeMap::new();
    for rev in missing {
        let branch = view.with_changeset(*rev, |changeset| changeset.branch().into_owned())?;
        sent.entry(branch).or_default().push(*rev);
    }
    let known = there.values().flatten();
    let push = Push {
        view,
        missing,
        there: known
            .filter_map(|node| view.changelog().rev(node))
            .collect(),
    };
    let mut found = Vec::new();
    for (name, revs) in sent {
        let before = there.get(&name).cloned();
        found.push(push.one_branch(name, &revs, before)?);
    }
    Ok(found)
}

struct Push<'a> {
    view: &'a RepoView,
    /// The changesets that are sent, ascending.
    missing: &'a [Rev],
    /// The heads of all branches of the other side, as far as they are known here.
    there: Vec<Rev>,
}

impl Push<'_> {
    fn one_branch(
        &self,
        name: Vec<u8>,
        revs: &[Rev],
        before: Option<Vec<Node>>,
    ) -> Result<BranchHeads, ExchangeError> {
        let view = self.view;
        let changelog = view.changelog();
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for node in before.iter().flatten() {
            match changelog.rev(node) {
                Some(rev) => known.push(rev),
                None => unknown.push(*node),
            }
        }
        unknown.sort_unstable();
        let candidates: BTreeSet<Rev> = known.iter().chain(revs).copied().collect();
        let mut after = heads_of(view, &candidates);
        let mut replaced = Vec::new();
        for head in known {
            if after.contains(&head) && self.is_replaced(head, &after)? {
                after.remove(&head);
                replaced.push(changelog.node(head));
            }
        }
        let mut after: Vec<Node> = after.into_iter().map(|rev| changelog.node(rev)).collect();
        after.extend(&unknown);
        Ok(BranchHeads {
            name,
            before,
            after,
            unknown,
            replaced,
        })
    }

    /// True of a head there that is obsolete with all that only it builds on, when something that is sent, or is there
    /// already, stands in its place.
    fn is_replaced(&self, head: Rev, heads: &BTreeSet<Rev>) -> Result<bool, ExchangeError> {
        let view = self.view;
        if view.phases().of(head) == Phase::Public || !view.obsolete()?.contains(&head) {
            return Ok(false);
        }
        for rev in only(view, head, heads) {
            let is_mutable = view.phases().of(rev) > Phase::Public;
            let mut successors = match is_mutable {
                true => view.with_successors(&[rev])?,
                false => BTreeSet::new(),
            };
            successors.remove(&rev);
            if !successors.iter().any(|rev| self.will_be_there(*rev)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn will_be_there(&self, rev: Rev) -> bool {
        let is_sent = self.missing.binary_search(&rev).is_ok();
        is_sent || self.view.missing_ancestors(&[rev], &self.there).is_empty()
    }
}

/// Those of `revs` on which no other one of them builds.
fn heads_of(view: &RepoView, revs: &BTreeSet<Rev>) -> BTreeSet<Rev> {
    let mut heads = revs.clone();
    let Some(first) = revs.first() else {
        return heads;
    };
    let mut below = revs.clone();
    while let Some(rev) = below.pop_last() {
        let parents = view.changelog().parents(rev).into_iter().flatten();
        for parent in parents.filter(|parent| parent >= first) {
            heads.remove(&parent);
            below.insert(parent);
        }
    }
    heads
}

/// `head` and its ancestors, without the ancestors of another one of `heads`, down to the public
/// ones.
fn only(view: &RepoView, head: Rev, heads: &BTreeSet<Rev>) -> Vec<Rev> {
    let parents = |rev: Rev| view.changelog().parents(rev).into_iter().flatten();
    let is_mutable = |rev: &Rev| view.phases().of(*rev) > Phase::Public;
    let mut below = BTreeMap::from([(head, true)]);
    below.extend(
        heads
            .iter()
            .filter(|rev| **rev != head && is_mutable(rev))
            .map(|rev| (*rev, false)),
    );
    let mut found = Vec::new();
    while let Some((rev, is_own)) = below.pop_last() {
        if is_own {
            found.push(rev);
        }
        for parent in parents(rev).filter(is_mutable) {
            *below.entry(parent).or_insert(is_own) &= is_own;
        }
    }
    found
}
