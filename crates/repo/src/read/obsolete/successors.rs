//! Successors of changesets, by way of any number of markers.

use crate::format::obsstore::Marker;
use std::collections::{BTreeSet, HashMap, HashSet};
use varve_revlog::Node;

/// Alternatives for one changeset that are looked at; markers of many splits could claim any number.
const MOST_SETS: usize = 256;

/// One alternative: changesets that replace one together.
pub(super) type SuccessorSet = Vec<Node>;

/// Markers by the changeset that they make obsolete.
pub(super) struct Successors<'a> {
    markers: &'a [Marker],
    by_old: HashMap<Node, Vec<usize>>,
    /// Whether a changeset is there.
    is_there: &'a dyn Fn(&Node) -> bool,
    /// Whether the way ends at the first changeset that is there.
    nearest: bool,
    known: HashMap<Node, Vec<SuccessorSet>>,
}

impl<'a> Successors<'a> {
    pub fn new(markers: &'a [Marker], is_there: &'a dyn Fn(&Node) -> bool, nearest: bool) -> Self {
        let mut by_old: HashMap<Node, Vec<usize>> = HashMap::new();
        for (at, marker) in markers.iter().enumerate() {
            by_old.entry(marker.old).or_default().push(at);
        }
        for of_node in by_old.values_mut() {
            of_node.sort_by_key(|at| &markers[*at].successors);
        }
        Successors {
            markers,
            by_old,
            is_there,
            nearest,
            known: HashMap::new(),
        }
    }

    /// All alternatives for a changeset, the smallest first; none if it was dropped.
    pub fn of(&mut self, start: &Node) -> Vec<SuccessorSet> {
        if self.nearest {
            self.known.clear();
        }
        let (mut way, mut entered) = (vec![*start], HashSet::new());
        while let Some(node) = way.last().copied() {
            if self.known.contains_key(&node) {
                way.pop();
            } else if entered.insert(node) {
                let next = self.steps(&node, start).iter();
                let next = next.flat_map(|at| &self.markers[*at].successors);
                // An entered and unknown node lies on the way: circles lead nowhere.
                let is_new =
                    |next: &&Node| !self.known.contains_key(*next) && !entered.contains(*next);
                let next: Vec<Node> = next.filter(is_new).copied().collect();
                way.extend(next);
            } else {
                let sets = self.joined(&node, start);
                self.known.insert(node, sets);
            }
        }
        self.known.get(start).cloned().unwrap_or_default()
    }

    /// The markers by which the way goes on.
    fn steps(&self, node: &Node, start: &Node) -> &[usize] {
        match self.by_old.get(node) {
            Some(_) if self.nearest && node != start && (self.is_there)(node) => &[],
            Some(steps) => steps,
            None => &[],
        }
    }

    fn joined(&self, node: &Node, start: &Node) -> Vec<SuccessorSet> {
        let steps = self.steps(node, start);
        if steps.is_empty() {
            return Vec::from_iter((self.is_there)(node).then_some(vec![*node]));
        }
        let mut sets: Vec<SuccessorSet> = Vec::new();
        for at in steps {
            let mut products: Vec<SuccessorSet> = vec![Vec::new()];
            for successor in &self.markers[*at].successors {
                let parts = self.known.get(successor).map_or(&[][..], Vec::as_slice);
                if parts.is_empty() {
                    // What was dropped takes nothing from those that stand beside it.
                    continue;
                }
                let pairs = products
                    .iter()
                    .flat_map(|one| parts.iter().map(move |two| both(one, two)));
                products = pairs.take(MOST_SETS).collect();
            }
            sets.append(&mut products);
        }
        distinct(sets)
    }

    /// The markers, by their numbers, on all ways from a changeset to some of its successors.
    pub fn markers_to(&self, start: &Node, set: &[Node]) -> BTreeSet<usize> {
        let mut by_new: HashMap<Node, Vec<usize>> = HashMap::new();
        let (mut wanted, mut seen) = (vec![*start], HashSet::from([*start]));
        while let Some(node) = wanted.pop() {
            for at in self.steps(&node, start) {
                for new in &self.markers[*at].successors {
                    by_new.entry(*new).or_default().push(*at);
                    wanted.extend(seen.insert(*new).then_some(*new));
                }
            }
        }
        let (mut wanted, mut found) = (set.to_vec(), BTreeSet::new());
        while let Some(node) = wanted.pop() {
            for at in by_new.remove(&node).unwrap_or_default() {
                if found.insert(at) {
                    wanted.push(self.markers[at].old);
                }
            }
        }
        found
    }
}

fn both(one: &[Node], other: &[Node]) -> SuccessorSet {
    let mut joined = one.to_vec();
    joined.extend(other.iter().filter(|node| !one.contains(node)));
    joined
}

/// Without sets that are empty or part of another one, the smallest first.
fn distinct(mut sets: Vec<SuccessorSet>) -> Vec<SuccessorSet> {
    sets.retain(|set| !set.is_empty());
    sets.sort_by_key(|set| std::cmp::Reverse(set.len()));
    let mut found: Vec<SuccessorSet> = Vec::new();
    for set in sets {
        let is_in = |larger: &SuccessorSet| set.iter().all(|node| larger.contains(node));
        if found.len() < MOST_SETS && !found.iter().any(is_in) {
            found.push(set);
        }
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_lang::date::Date;

    fn marker(old: u8, successors: &[u8]) -> Marker {
        Marker {
            old: Node([old; 20]),
            successors: successors.iter().map(|byte| Node([*byte; 20])).collect(),
            parents: Vec::new(),
            range: 0..0,
            is_bumped_fix: false,
            date: Date { time: 0, zone: 0 },
            metadata: Vec::new(),
        }
    }

    fn sets(markers: &[Marker], start: u8, nearest: bool) -> Vec<Vec<u8>> {
        let is_there = |node: &Node| node.0[0] < 100;
        let mut successors = Successors::new(markers, &is_there, nearest);
        let sets = successors.of(&Node([start; 20])).into_iter();
        sets.map(|set| set.iter().map(|node| node.0[0]).collect())
            .collect()
    }

    #[test]
    fn splits_and_rewrites_are_followed_to_their_ends() {
        let markers = [
            marker(1, &[2]),
            marker(2, &[3, 4]),
            marker(4, &[5]),
            marker(1, &[6]),
            marker(7, &[]),
            marker(8, &[200]),
            marker(10, &[11, 12]),
            marker(12, &[11]),
            marker(20, &[21, 22]),
            marker(22, &[]),
        ];
        assert_eq!(sets(&markers, 1, false), [vec![6], vec![3, 5]]);
        assert_eq!(sets(&markers, 1, true), [[6], [2]]);
        assert!(sets(&markers, 7, false).is_empty());
        assert!(sets(&markers, 8, false).is_empty());
        assert_eq!(sets(&markers, 9, false), [[9]]);
        assert_eq!(sets(&markers, 10, false), [[11]]);
        assert_eq!(sets(&markers, 20, false), [[21]]);
    }

    #[test]
    fn circles_and_long_ways_end() {
        let circle = [marker(1, &[2]), marker(2, &[1])];
        assert!(sets(&circle, 1, false).is_empty());
        let node = |at: u32| {
            let mut bytes = [0; 20];
            bytes[16..].copy_from_slice(&at.to_be_bytes());
            Node(bytes)
        };
        let long: Vec<Marker> = (0..100_000)
            .map(|at| Marker {
                old: node(at),
                successors: vec![node(at + 1)],
                ..marker(0, &[])
            })
            .collect();
        let mut successors = Successors::new(&long, &|_| true, false);
        assert_eq!(successors.of(&node(0)), [[node(100_000)]]);
        assert_eq!(successors.markers_to(&node(0), &[node(9)]).len(), 9);
    }
}
