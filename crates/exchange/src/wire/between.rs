//! `between`: what old clients find common changesets with, and what every client sends over ssh to
//! see that a repository answers at all.

use super::answers::visible_rev;
use super::request::{WireRequest, node_from_hex};
use crate::ExchangeError;
use varve_repo::RepoView;
use varve_revlog::Node;

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

fn way(view: &RepoView, top: &Node, bottom: &Node) -> Result<Vec<Node>, ExchangeError> {
    let changelog = view.changelog();
    let mut at = match top.is_null() {
        true => None,
        false => {
            let rev = visible_rev(view, top);
            Some(rev.ok_or_else(|| ExchangeError::UnknownRevision(top.to_string()))?)
        }
    };
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
