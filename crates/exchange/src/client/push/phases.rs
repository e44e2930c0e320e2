//! Phases of the other side, as far as its changesets are here.

use crate::format::part::phase_heads;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Phase, RepoView};
use varve_revlog::{Node, Rev};

/// The keys of `phases`, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemotePhases {
    /// Whether all that comes there becomes public.
    pub publishes: bool,
    /// Changesets that are public there, and with them all that they build on: of each line of
    /// descent that both sides have, the newest one.
    pub public_heads: Vec<Rev>,
    /// Changesets that are draft there, with all that builds on them.
    pub draft_roots: Vec<Rev>,
}

impl RemotePhases {
    /// Reads the keys. `common` are the newest changesets that both sides have.
    pub fn read(
        view: &RepoView,
        keys: &BTreeMap<Vec<u8>, Vec<u8>>,
        common: &[Rev],
    ) -> RemotePhases {
        let draft = Phase::Draft.number().to_string();
        let is_draft = |value: &&Vec<u8>| value.as_slice() == draft.as_bytes();
        let drafts = keys.iter().filter(|(_, value)| is_draft(value));
        let nodes = drafts.filter_map(|(key, _)| Node::from_hex(key));
        let mut draft_roots: Vec<Rev> = nodes
            .filter_map(|node| view.changelog().rev(&node))
            .collect();
        draft_roots.sort_unstable();
        RemotePhases {
            publishes: is_publishing(keys),
            public_heads: public_heads(view, common, &draft_roots),
            draft_roots,
        }
    }

    /// Heads of those `changesets` and ancestors of them that are to become public there: those that
    /// are draft or missing there, and public here; with `publish`, all of them.
    pub fn outdated(
        &self,
        view: &RepoView,
        (heads, missing): (&[Rev], &[Rev]),
        publish: bool,
    ) -> Vec<Node> {
        let changelog = view.changelog();
        let parents = |rev: Rev| changelog.parents(rev).into_iter().flatten();
        let starts: BTreeSet<Rev> = self.draft_roots.iter().chain(missing).copied().collect();
        let Some(first) = starts.first().copied() else {
            return Vec::new();
        };
        let (mut below, mut drafts) = (BTreeSet::new(), BTreeSet::new());
        below.extend(heads.iter().copied());
        for rev in (first.0..changelog.len() as u32).rev().map(Rev) {
            if below.contains(&rev) {
                below.extend(parents(rev).filter(|parent| *parent >= first));
            }
        }
        for rev in below {
            if starts.contains(&rev) || parents(rev).any(|parent| drafts.contains(&parent)) {
                drafts.insert(rev);
            }
        }
        let all = publish || self.publishes;
        let outdated: BTreeSet<Rev> = drafts
            .into_iter()
            .filter(|rev| all || view.phases().of(*rev) == Phase::Public)
            .collect();
        let followed: BTreeSet<Rev> = outdated.iter().flat_map(|rev| parents(*rev)).collect();
        let heads = outdated.difference(&followed);
        heads.map(|rev| changelog.node(*rev)).collect()
    }

    /// Payload of `check:phases`.
    pub(super) fn encode(&self, view: &RepoView) -> Vec<u8> {
        let node = |rev: &Rev| view.changelog().node(*rev);
        let sorted = |revs: &[Rev]| {
            let mut nodes: Vec<Node> = revs.iter().map(node).collect();
            nodes.sort_unstable();
            nodes
        };
        let public = sorted(&self.public_heads).into_iter();
        let draft = sorted(&self.draft_roots).into_iter();
        let public = public.map(|node| (Phase::Public, node));
        phase_heads::encode(public.chain(draft.map(|node| (Phase::Draft, node))))
    }
}

/// Whether the keys of `phases` say that changesets which arrive there become public.
pub fn is_publishing(keys: &BTreeMap<Vec<u8>, Vec<u8>>) -> bool {
    let value = keys.get(&b"publishing"[..]);
    value.is_some_and(|value| value == b"True")
}

/// The newest changesets up to `heads` that are none of `roots` and build on none of them.
fn public_heads(view: &RepoView, heads: &[Rev], roots: &[Rev]) -> Vec<Rev> {
    let changelog = view.changelog();
    let parents = |rev: Rev| changelog.parents(rev).into_iter().flatten();
    let mut found: BTreeSet<Rev> = heads.iter().copied().collect();
    let Some(first) = roots.first().copied() else {
        return found.into_iter().collect();
    };
    let mut drafts: BTreeSet<Rev> = roots.iter().copied().collect();
    for rev in (first.0..changelog.len() as u32).map(Rev) {
        if parents(rev).any(|parent| drafts.contains(&parent)) {
            drafts.insert(rev);
        }
    }
    let mut below = found.clone();
    while let Some(rev) = below.pop_last() {
        if drafts.contains(&rev) {
            found.remove(&rev);
            for parent in parents(rev) {
                found.insert(parent);
                below.insert(parent);
            }
        }
    }
    found.into_iter().collect()
}
