//! Which obsolescence markers belong to a set of changesets, so that they travel with them.

use crate::format::RepoError;
use crate::format::obsstore::{self, Marker};
use crate::read::RepoView;
use std::collections::{HashMap, HashSet};
use varve_revlog::Node;

impl RepoView {
    /// The markers that led to `nodes`, by way of any others, and those that dropped one of these
    /// or a child of one without a successor. In the form of `store/obsstore`, its first byte
    /// included; nothing if there are none.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn relevant_markers(&self, nodes: &[Node]) -> Result<Vec<u8>, RepoError> {
        let (markers, file) = obsstore::read_with_file(self.storage(), &self.context.store())?;
        let chosen = relevant(&markers, &file, nodes);
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let mut out = vec![obsstore::VERSION];
        for bytes in chosen {
            out.extend_from_slice(bytes);
        }
        Ok(out)
    }
}

/// The bytes of the relevant markers, each once.
pub(super) fn relevant<'a>(markers: &[Marker], file: &'a [u8], nodes: &[Node]) -> Vec<&'a [u8]> {
    let mut near: HashMap<Node, Vec<usize>> = HashMap::new();
    for (at, marker) in markers.iter().enumerate() {
        let dropped = marker.successors.is_empty().then_some(&marker.old);
        let parents = dropped.iter().flat_map(|_| &marker.parents);
        for node in marker.successors.iter().chain(dropped).chain(parents) {
            near.entry(*node).or_default().push(at);
        }
    }
    let mut seen: HashSet<Node> = nodes.iter().copied().collect();
    let mut wanted = nodes.to_vec();
    let mut chosen = HashSet::new();
    while let Some(node) = wanted.pop() {
        for at in near.get(&node).into_iter().flatten() {
            let old = markers[*at].old;
            if chosen.insert(*at) && seen.insert(old) {
                wanted.push(old);
            }
        }
    }
    let mut found: Vec<(Node, &[Node], &[u8])> = Vec::with_capacity(chosen.len());
    for marker in chosen.into_iter().map(|at| &markers[at]) {
        let bytes = file.get(marker.range.clone()).unwrap_or_default();
        found.push((marker.old, &marker.successors, bytes));
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, _, bytes)| bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(byte: u8) -> Node {
        Node([byte; 20])
    }

    /// Stands for the byte `number` of the file.
    fn marker(number: usize, old: u8, successors: &[u8], parents: &[u8]) -> Marker {
        Marker {
            old: node(old),
            successors: successors.iter().copied().map(node).collect(),
            parents: parents.iter().copied().map(node).collect(),
            range: number..number + 1,
            is_bumped_fix: false,
            date: varve_lang::date::Date::default(),
            metadata: Vec::new(),
        }
    }

    #[test]
    fn markers_that_led_here_and_those_that_dropped() {
        let markers = [
            marker(0, 5, &[], &[]),
            marker(1, 4, &[], &[3]),
            marker(2, 2, &[3], &[]),
            marker(3, 1, &[2], &[]),
            marker(4, 9, &[1], &[]),
            marker(5, 1, &[9], &[3]),
            marker(6, 8, &[7], &[]),
            marker(6, 8, &[7], &[]),
        ];
        let file = [0, 1, 2, 3, 4, 5, 6];
        let chosen = |nodes: &[u8]| {
            let nodes: Vec<Node> = nodes.iter().copied().map(node).collect();
            relevant(&markers, &file, &nodes).concat()
        };
        assert_eq!(chosen(&[3]), [3, 5, 2, 1, 4]);
        assert_eq!(chosen(&[5, 7]), [0, 6]);
        assert!(chosen(&[8]).is_empty());
    }
}
