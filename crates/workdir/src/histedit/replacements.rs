//! From single steps to the result: which original changesets others have replaced, and which were only made on the way.

use super::HisteditState;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::Node;

/// The result of all steps so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HisteditResult {
    /// The changesets that were there before, with those in whose place they are; none if they were dropped.
    pub replaced: BTreeMap<Node, BTreeSet<Node>>,
    /// Changesets that were made and have been replaced again.
    pub temporary: BTreeSet<Node>,
    /// Changesets that were made and stay.
    pub made: BTreeSet<Node>,
}

impl HisteditState {
    /// The result of all steps so far.
    pub fn result(&self) -> HisteditResult {
        let mut steps: BTreeMap<Node, BTreeSet<Node>> = BTreeMap::new();
        for (old, new) in &self.replacements {
            steps.entry(*old).or_default().extend(new);
        }
        let all: BTreeSet<Node> = steps.values().flatten().copied().collect();
        let mut result = HisteditResult::default();
        for node in &all {
            match steps.contains_key(node) {
                true => result.temporary.insert(*node),
                false => result.made.insert(*node),
            };
        }
        for old in steps.keys().filter(|old| !all.contains(old)) {
            result.replaced.insert(*old, last(&steps, old));
        }
        result
    }
}

/// The changesets at the end of all steps from one.
fn last(steps: &BTreeMap<Node, BTreeSet<Node>>, old: &Node) -> BTreeSet<Node> {
    let mut seen = BTreeSet::new();
    let mut pending = vec![*old];
    let mut found = BTreeSet::new();
    while let Some(node) = pending.pop() {
        if !seen.insert(node) {
            continue;
        }
        match steps.get(&node) {
            Some(next) => pending.extend(next),
            None => drop(found.insert(node)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_end_with_what_stays() {
        let node = |byte| Node([byte; 20]);
        let mut state = HisteditState::new(node(0), node(4), false);
        for (old, new) in [
            (2, vec![5]),
            (3, vec![6]),
            (5, vec![7]),
            (6, vec![7]),
            (4, vec![]),
        ] {
            let new = new.into_iter().map(node).collect();
            state.replacements.push((node(old), new));
        }
        let result = state.result();
        assert_eq!(result.made, BTreeSet::from([node(7)]));
        assert_eq!(result.temporary, BTreeSet::from([node(5), node(6)]));
        let seven = BTreeSet::from([node(7)]);
        let expected = [
            (node(2), seven.clone()),
            (node(3), seven),
            (node(4), BTreeSet::new()),
        ];
        assert_eq!(result.replaced, BTreeMap::from(expected));
        // A damaged state ends too.
        state.replacements = vec![(node(2), vec![node(3)]), (node(3), vec![node(2)])];
        assert!(state.result().replaced.is_empty());
    }
}
