//! Payloads of the small parts of a bundle.

use crate::ExchangeError;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Phase, RepoView};
use varve_revlog::{Node, Rev};

/// Per branch, sorted: u32 length of its name, u32 number of changesets, u32 number of those that
/// close it, name, nodes, nodes of those that close it, each sorted.
pub(crate) fn encode_branches(view: &RepoView, revs: &[Rev]) -> Result<Vec<u8>, ExchangeError> {
    let mut branches: BTreeMap<Vec<u8>, [Vec<Node>; 2]> = BTreeMap::new();
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
    let mut out = Vec::new();
    for (name, mut nodes) in branches {
        for len in [name.len(), nodes[0].len(), nodes[1].len()] {
            out.extend_from_slice(&(len as u32).to_be_bytes());
        }
        out.extend_from_slice(&name);
        for nodes in &mut nodes {
            nodes.sort_unstable();
        }
        for node in nodes.iter().flatten() {
            out.extend_from_slice(&node.0);
        }
    }
    Ok(out)
}

/// Per phase and head among the changesets of this phase: u32 phase, node.
pub(crate) fn encode_phases(view: &RepoView, revs: &[Rev]) -> Vec<u8> {
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
    let mut out = Vec::new();
    for (phase, rev) in heads {
        out.extend_from_slice(&u32::from(phase.number()).to_be_bytes());
        out.extend_from_slice(&view.changelog().node(rev).0);
    }
    out
}

/// Per head: its node, and that of its `.hgtags`. Only what a cache knows, since it is only meant
/// for a cache.
pub(crate) fn encode_tag_files(view: &RepoView, heads: &[Rev]) -> Result<Vec<u8>, ExchangeError> {
    let node = |rev| view.changelog().node(rev);
    let known = view.cached_tag_files(heads)?.into_iter();
    let pairs: Vec<[Node; 2]> = known.map(|(rev, file)| [node(rev), file]).collect();
    Ok(pairs.iter().flatten().flat_map(|node| node.0).collect())
}
