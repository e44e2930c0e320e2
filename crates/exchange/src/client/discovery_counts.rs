//! Numbers of a discovery.

use super::discovery::DiscoveryResult;
use std::collections::BTreeSet;
use varve_repo::RepoView;
use varve_revlog::{Node, Rev};

/// A set of changesets: how many it has, and how many of them have no child or no parent in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetSize {
    /// All.
    pub all: usize,
    /// Those without a child in the set.
    pub heads: usize,
    /// Those without a parent in the set.
    pub roots: usize,
}

/// How the changesets and heads of both sides relate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscoveryCounts {
    /// Heads of the common changesets.
    pub common_heads: Vec<Node>,
    /// Those of them that are heads here, there, and on both sides.
    pub common_heads_local: usize,
    /// See above.
    pub common_heads_remote: usize,
    /// See above.
    pub common_heads_both: usize,
    /// Heads here.
    pub local_heads: usize,
    /// Heads there; an empty repository has the null changeset as its head.
    pub remote_heads: usize,
    /// Changesets here that both have.
    pub common: SetSize,
    /// Changesets that are only here.
    pub missing: SetSize,
    /// Changesets that the heads of both sides say nothing about.
    pub undecided: SetSize,
    /// How many of them are common.
    pub undecided_common: usize,
}

impl DiscoveryCounts {
    /// Counts over the changesets of which `exists` is true, as their ancestors are.
    pub fn of(
        view: &RepoView,
        exists: &dyn Fn(Rev) -> bool,
        found: &DiscoveryResult,
    ) -> DiscoveryCounts {
        let changelog = view.changelog();
        let known = |node: &Node| changelog.rev(node).filter(|rev| exists(*rev));
        let common_heads: BTreeSet<Rev> = found.common_heads.iter().filter_map(known).collect();
        let all: BTreeSet<Rev> = changelog.revs().filter(|rev| exists(*rev)).collect();
        let local = heads_of(view, &all);
        let remote: BTreeSet<Rev> = found.remote_heads.iter().filter_map(known).collect();
        let here: Vec<Rev> = common_heads.intersection(&local).copied().collect();
        let there: Vec<Rev> = common_heads.intersection(&remote).copied().collect();
        let heads: Vec<Rev> = common_heads.iter().copied().collect();
        let ancestors = |heads: &[Rev]| -> BTreeSet<Rev> {
            view.missing_ancestors(heads, &[]).into_iter().collect()
        };
        let common = ancestors(&heads);
        let decided = ancestors(&there);
        let missing: BTreeSet<Rev> = all.difference(&common).copied().collect();
        let mut undecided: BTreeSet<Rev> = all.difference(&decided).copied().collect();
        undecided.retain(|rev| !here.contains(rev));
        DiscoveryCounts {
            common_heads: heads.iter().map(|rev| changelog.node(*rev)).collect(),
            common_heads_local: here.len(),
            common_heads_remote: there.len(),
            common_heads_both: here.iter().filter(|rev| there.contains(rev)).count(),
            local_heads: local.len(),
            remote_heads: found.remote_heads.len(),
            undecided_common: undecided.intersection(&common).count(),
            common: size(view, &common),
            missing: size(view, &missing),
            undecided: size(view, &undecided),
        }
    }
}

fn heads_of(view: &RepoView, set: &BTreeSet<Rev>) -> BTreeSet<Rev> {
    let mut heads = set.clone();
    for rev in set {
        for parent in view.changelog().parents(*rev).into_iter().flatten() {
            heads.remove(&parent);
        }
    }
    heads
}

fn size(view: &RepoView, set: &BTreeSet<Rev>) -> SetSize {
    let mut parents = BTreeSet::new();
    let mut roots = 0;
    for rev in set {
        let all = view.changelog().parents(*rev).into_iter().flatten();
        let within: Vec<Rev> = all.filter(|parent| set.contains(parent)).collect();
        roots += usize::from(within.is_empty());
        parents.extend(within);
    }
    SetSize {
        all: set.len(),
        heads: set.len() - parents.len(),
        roots,
    }
}
