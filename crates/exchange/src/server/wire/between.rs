//! `between` and `branches`: old clients find common changesets with them. Every client also sends the
//! first over ssh to see that a repository answers at all.

use super::answers::visible_rev;
use super::request::{WireRequest, node_from_hex};
use crate::ExchangeError;
use varve_repo::RepoView;
use varve_revlog::{Node, Rev};

/// Pairs in one request; old clients send ten.
const MAX_PAIRS: usize = 100;

/// Per pair a line with the changesets at distances 1, 2, 4 … on the way along first parents from
/// the first of the pair down to the second.
pub(super) fn between(view: &RepoView, request: &WireRequest) -> Result<Vec<u8>, ExchangeError> {
    let bad = || request.bad("pairs", "a list of pairs of nodes");
    let pairs = request.need("pairs")?;
    let pairs = pairs
        .split(|byte| *byte == b' ')
        .filter(|it| !it.is_empty());
    let mut out = Vec::new();
    for (number, pair) in pairs.enumerate() {
        let (top, bottom) = match (pair.get(..40), pair.get(40), pair.get(41..)) {
            (Some(top), Some(b'-'), Some(bottom)) if number < MAX_PAIRS => (top, bottom),
            _ => return Err(bad()),
        };
        let node = |hex| node_from_hex(hex).map(Node).ok_or_else(bad);
        let (top, bottom) = (node(top)?, node(bottom)?);
        for (number, node) in way(view, &top, &bottom)?.iter().enumerate() {
            if number > 0 {
                out.push(b' ');
            }
            out.extend_from_slice(&node.to_hex());
        }
        out.push(b'\n');
    }
    Ok(out)
}

/// Per node a line: it, the nearest changeset on the way along first parents that is a merge or
/// has no parent, and the parents of that. Without nodes it is about the newest changeset.
pub(super) fn branches(view: &RepoView, request: &WireRequest) -> Result<Vec<u8>, ExchangeError> {
    request.need("nodes")?;
    let mut nodes = request.nodes("nodes")?.unwrap_or_default();
    if nodes.is_empty() {
        let tip = view.tip().map(|rev| view.changelog().node(rev));
        nodes.push(tip.unwrap_or(Node::NULL).0);
    }
    let mut out = Vec::new();
    for node in nodes.into_iter().map(Node) {
        let line = segment(view, node)?.map(|node| node.to_string());
        out.extend_from_slice(line.join(" ").as_bytes());
        out.push(b'\n');
    }
    Ok(out)
}

fn segment(view: &RepoView, top: Node) -> Result<[Node; 4], ExchangeError> {
    let changelog = view.changelog();
    let mut at = shown(view, &top)?;
    while let Some(rev) = at {
        let [first, second] = changelog.parents(rev);
        if first.is_none() || second.is_some() {
            let parent = |rev: Option<Rev>| rev.map_or(Node::NULL, |rev| changelog.node(rev));
            return Ok([top, changelog.node(rev), parent(first), parent(second)]);
        }
        at = first;
    }
    Ok([top, Node::NULL, Node::NULL, Node::NULL])
}

/// A changeset that the client names, unless it is the null changeset.
fn shown(view: &RepoView, node: &Node) -> Result<Option<Rev>, ExchangeError> {
    if node.is_null() {
        return Ok(None);
    }
    let visible = visible_rev(view, node);
    let unknown = || ExchangeError::UnknownRevision(node.to_string());
    visible.map(Some).ok_or_else(unknown)
}

fn way(view: &RepoView, top: &Node, bottom: &Node) -> Result<Vec<Node>, ExchangeError> {
    let changelog = view.changelog();
    let mut at = shown(view, top)?;
    let end = visible_rev(view, bottom);
    let (mut found, mut distance, mut wanted) = (Vec::new(), 0_usize, 1);
    while let Some(rev) = at.filter(|rev| Some(*rev) != end) {
        if distance == wanted {
            found.push(changelog.node(rev));
            wanted *= 2;
        }
        at = changelog.parents(rev)[0];
        distance += 1;
    }
    Ok(found)
}
