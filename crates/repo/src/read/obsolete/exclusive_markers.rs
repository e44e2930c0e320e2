//! The obsolescence markers that would speak of nothing once a set of changesets is gone.

use crate::format::RepoError;
use crate::format::obsstore::{self, Marker, raw_markers};
use crate::read::RepoView;
use std::collections::{BTreeSet, HashMap, HashSet};
use varve_revlog::Node;

impl RepoView {
    /// Places in the file, from 0, of the markers that led to `nodes` and to no other changeset that is here, and of
    /// those that dropped one of `nodes`. Without them a predecessor is not obsolete any more once `nodes` are gone.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn exclusive_markers(&self, nodes: &[Node]) -> Result<BTreeSet<usize>, RepoError> {
        let (markers, file) = obsstore::read_with_file(self.storage(), &self.context.store())?;
        if markers.is_empty() {
            return Ok(BTreeSet::new());
        }
        let is_there = |node: &Node| self.changelog().rev(node).is_some();
        let chosen = exclusive(&markers, nodes, &is_there);
        // Markers of other kinds of hashes have a place in the file too.
        let mut offset = 1;
        let starts = raw_markers(&file).map(|marker| {
            offset += marker.len();
            offset - marker.len()
        });
        let places: HashMap<usize, usize> =
            starts.enumerate().map(|(at, from)| (from, at)).collect();
        let place = |at: usize| places.get(&markers[at].range.start).copied();
        Ok(chosen.into_iter().filter_map(place).collect())
    }
}

/// Markers by the changesets that they name.
#[derive(Default)]
struct ByNode<'a> {
    of_old: HashMap<&'a Node, Vec<usize>>,
    of_successor: HashMap<&'a Node, Vec<usize>>,
    /// Markers without successors, by the old changeset and by its parents.
    dropped: HashMap<&'a Node, Vec<usize>>,
}

impl<'a> ByNode<'a> {
    fn new(markers: &'a [Marker]) -> ByNode<'a> {
        let mut all = ByNode::default();
        for (at, marker) in markers.iter().enumerate() {
            if marker.successors.is_empty() {
                for node in std::iter::once(&marker.old).chain(&marker.parents) {
                    all.dropped.entry(node).or_default().push(at);
                }
                continue;
            }
            all.of_old.entry(&marker.old).or_default().push(at);
            for node in &marker.successors {
                all.of_successor.entry(node).or_default().push(at);
            }
        }
        all
    }
}

/// Walks from those of `nodes` that have no successor to their predecessors. A predecessor that is here and stays ends
/// the walk; one that is not here, or goes too, is passed once all markers from it are chosen.
fn exclusive(
    markers: &[Marker],
    nodes: &[Node],
    is_there: &dyn Fn(&Node) -> bool,
) -> BTreeSet<usize> {
    let known = ByNode::new(markers);
    let going: HashSet<&Node> = nodes.iter().collect();
    let is_last = |node: &&Node| !known.of_old.contains_key(*node);
    let mut wanted: Vec<&Node> = going.iter().copied().filter(is_last).collect();
    let mut seen: HashSet<&Node> = wanted.iter().copied().collect();
    let mut chosen = BTreeSet::new();
    // Markers with successors that are not chosen, by the old changeset.
    let counts = known
        .of_old
        .iter()
        .map(|(old, markers)| (*old, markers.len()));
    let mut left: HashMap<&Node, usize> = counts.collect();
    while let Some(node) = wanted.pop() {
        let near = [&known.of_successor, &known.dropped];
        for at in near.iter().filter_map(|map| map.get(node)).flatten() {
            let marker = &markers[*at];
            let (old, drops) = (&marker.old, marker.successors.is_empty());
            // A child that was dropped is reached first, and its marker chosen if it goes itself.
            let is_new = (!drops || *old == *node) && chosen.insert(*at);
            if is_new
                && !drops
                && let Some(count) = left.get_mut(old)
            {
                *count -= 1;
            }
            if seen.contains(old) || is_there(old) && !going.contains(old) {
                continue;
            }
            if left.get(old).is_none_or(|count| *count == 0) {
                seen.insert(old);
                wanted.push(old);
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(byte: u8) -> Node {
        Node([byte; 20])
    }

    fn marker(old: u8, successors: &[u8], parents: &[u8]) -> Marker {
        Marker {
            old: node(old),
            successors: successors.iter().copied().map(node).collect(),
            parents: parents.iter().copied().map(node).collect(),
            range: 0..0,
            is_bumped_fix: false,
            date: varve_lang::date::Date::default(),
            metadata: Vec::new(),
        }
    }

    #[track_caller]
    fn chosen(markers: &[Marker], nodes: &[u8], here: &[u8]) -> Vec<usize> {
        let nodes: Vec<Node> = nodes.iter().copied().map(node).collect();
        let is_there = |wanted: &Node| here.iter().any(|byte| node(*byte) == *wanted);
        exclusive(markers, &nodes, &is_there).into_iter().collect()
    }

    #[test]
    fn the_walk_ends_at_a_predecessor_that_stays() {
        let chain = [marker(1, &[2], &[]), marker(2, &[3], &[])];
        assert_eq!(chosen(&chain, &[3], &[1, 2, 3]), [1]);
        assert_eq!(chosen(&chain, &[3], &[1, 3]), [0, 1]);
        assert_eq!(chosen(&chain, &[2, 3], &[1, 2, 3]), [0, 1]);
    }

    #[test]
    fn what_has_a_successor_elsewhere_keeps_its_markers() {
        let chain = [marker(1, &[2], &[]), marker(2, &[3], &[])];
        assert!(chosen(&chain, &[2], &[1, 2, 3]).is_empty());
        let divergent = [
            marker(9, &[1], &[]),
            marker(1, &[2], &[]),
            marker(1, &[3], &[]),
        ];
        assert_eq!(chosen(&divergent, &[2], &[2, 3]), [1]);
        assert_eq!(chosen(&divergent, &[2, 3], &[2, 3]), [0, 1, 2]);
    }

    #[test]
    fn drops_go_with_what_they_dropped() {
        let drops = [marker(1, &[], &[0]), marker(5, &[1], &[])];
        assert_eq!(chosen(&drops, &[1], &[0, 1]), [0, 1]);
        // The parent goes, its dropped child never came here.
        assert_eq!(chosen(&drops, &[0], &[0]), [0, 1]);
        assert!(chosen(&drops, &[0], &[0, 1]).is_empty());
    }

    #[test]
    fn a_predecessor_is_passed_once_all_its_markers_are_chosen() {
        let mut repeated = vec![marker(9, &[8], &[])];
        repeated.extend((0..100_000).map(|_| marker(8, &[1], &[])));
        assert_eq!(chosen(&repeated, &[1], &[1]).len(), repeated.len());
        repeated.push(marker(8, &[2], &[]));
        assert_eq!(chosen(&repeated, &[1], &[1, 2]).len(), 100_000);
    }

    #[test]
    fn circles_end() {
        let circle = [marker(1, &[2], &[]), marker(2, &[1], &[])];
        assert!(chosen(&circle, &[1, 2], &[1, 2]).is_empty());
    }
}
