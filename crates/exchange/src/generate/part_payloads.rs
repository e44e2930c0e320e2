//! Payloads of the small parts of a bundle, from a repository.

use crate::ExchangeError;
use crate::format::part::branch_cache::{self, Branches};
use crate::format::part::{phase_heads, tags_fnodes as tags_fnodes_part};
use std::collections::BTreeSet;
use varve_repo::{Phase, RepoView};
use varve_revlog::{Node, Rev};

/// Payload of `cache:rev-branch-cache` for some changesets.
pub(crate) fn branches(view: &RepoView, revs: &[Rev]) -> Result<Vec<u8>, ExchangeError> {
    let mut branches = Branches::new();
    for rev in revs {
        view.with_changeset(*rev, |changeset| {
            let name = changeset.branch();
            let closes = usize::from(changeset.closes_branch());
            let node = view.changelog().node(*rev);
            match branches.get_mut(&*name) {
                Some(nodes) => nodes[closes].push(node),
                None => branches.entry(name.into_owned()).or_default()[closes].push(node),
            }
        })?;
    }
    Ok(branch_cache::encode(branches))
}

/// Payload of `phase-heads` for a bundle that is a file: the heads among the changesets of each phase.
pub(crate) fn own_phase_heads(view: &RepoView, revs: &[Rev]) -> Vec<u8> {
    let phase = |rev: Rev| view.phases().of(rev);
    let followed: BTreeSet<(Phase, Rev)> = revs
        .iter()
        .flat_map(|rev| {
            let parents = view.changelog().parents(*rev).into_iter().flatten();
            parents.map(|parent| (phase(*rev), parent))
        })
        .collect();
    let mut heads: Vec<(Phase, Rev)> = revs.iter().map(|rev| (phase(*rev), *rev)).collect();
    heads.retain(|head| !followed.contains(head));
    heads.sort_unstable();
    let heads = heads.into_iter();
    phase_heads::encode(heads.map(|(phase, rev)| (phase, view.changelog().node(rev))))
}

/// Payload of `hgtagsfnodes`: the heads that the cache of tags has. It is meant for the reader's cache, so the others
/// are not computed for it.
pub(crate) fn tags_fnodes(view: &RepoView, heads: &[Rev]) -> Result<Vec<u8>, ExchangeError> {
    let node = |rev| view.changelog().node(rev);
    let known = view.cached_tag_files(heads)?.into_iter();
    let pairs: Vec<[Node; 2]> = known.map(|(rev, file)| [node(rev), file]).collect();
    Ok(tags_fnodes_part::encode(&pairs))
}
