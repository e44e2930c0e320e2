//! Ancestors and descendants among the changesets of one view.

use crate::read::RepoView;
use std::collections::{BTreeMap, HashSet};
use varve_revlog::Rev;

const OF_FIRST: u8 = 1;
const OF_SECOND: u8 = 2;
const OF_BOTH: u8 = OF_FIRST | OF_SECOND;
/// Below a common ancestor that was found: not one of the newest.
const OLDER: u8 = 4;

/// The common ancestors of two revisions that are no ancestors of another one, newest first. Looks at no revision older
/// than the oldest that matters.
pub(crate) fn common_heads(
    parents: impl Fn(Rev) -> [Option<Rev>; 2],
    first: Rev,
    second: Rev,
) -> Vec<Rev> {
    let mut marks = BTreeMap::from([(first, OF_FIRST)]);
    *marks.entry(second).or_default() |= OF_SECOND;
    let mut heads = Vec::new();
    // Newest first: all children of a revision are seen before it.
    while marks.values().any(|mark| mark & OLDER == 0)
        && let Some((rev, mut mark)) = marks.pop_last()
    {
        if mark == OF_BOTH {
            heads.push(rev);
            mark |= OLDER;
        }
        for parent in parents(rev).into_iter().flatten() {
            *marks.entry(parent).or_default() |= mark;
        }
    }
    heads
}

impl RepoView {
    /// The ancestors of `heads` that are no ancestors of `common`, oldest first. A changeset counts as its own
    /// ancestor.
    pub fn missing_ancestors(&self, heads: &[Rev], common: &[Rev]) -> Vec<Rev> {
        let changelog = self.changelog();
        let mut wanted = vec![false; changelog.len()];
        let mut had = vec![false; changelog.len()];
        for rev in heads {
            wanted[rev.index()] = true;
        }
        for rev in common {
            had[rev.index()] = true;
        }
        let mut missing = Vec::new();
        // Parents have lower numbers than their children.
        for rev in changelog.revs().rev() {
            let (is_wanted, is_had) = (wanted[rev.index()], had[rev.index()]);
            for parent in changelog.parents(rev).into_iter().flatten() {
                wanted[parent.index()] |= is_wanted;
                had[parent.index()] |= is_had;
            }
            if is_wanted && !is_had {
                missing.push(rev);
            }
        }
        missing.reverse();
        missing
    }

    /// Those of `revs` that are in `roots` or descend from them by way of other `revs`. `revs` is oldest first, and
    /// so is the result.
    pub fn descendants_among(&self, revs: &[Rev], roots: &[Rev]) -> Vec<Rev> {
        let mut chosen: HashSet<Rev> = roots.iter().copied().collect();
        let mut found = Vec::new();
        for rev in revs {
            let mut parents = self.changelog().parents(*rev).into_iter().flatten();
            if chosen.contains(rev) || parents.any(|parent| chosen.contains(&parent)) {
                chosen.insert(*rev);
                found.push(*rev);
            }
        }
        found
    }

    /// Those of `revs` of which no parent is among them.
    pub fn roots(&self, revs: &[Rev]) -> Vec<Rev> {
        let all: HashSet<Rev> = revs.iter().copied().collect();
        let is_root = |rev: &Rev| {
            let mut parents = self.changelog().parents(*rev).into_iter().flatten();
            !parents.any(|parent| all.contains(&parent))
        };
        revs.iter().copied().filter(is_root).collect()
    }

    /// `revs` and what descends from them, as far as it is visible; oldest first.
    pub fn with_descendants(&self, revs: &[Rev]) -> Vec<Rev> {
        let Some(first) = revs.iter().min() else {
            return Vec::new();
        };
        let later = self.changelog().revs().skip(first.index());
        let later: Vec<Rev> = later.filter(|rev| self.is_visible(*rev)).collect();
        self.descendants_among(&later, revs)
    }

    /// Whether `rev` is a descendant of `ancestor`, and not the same changeset.
    pub fn is_descendant(&self, rev: Rev, ancestor: Rev) -> bool {
        let (mut wanted, mut seen) = (vec![rev], HashSet::new());
        while let Some(rev) = wanted.pop() {
            let parents = self.changelog().parents(rev).into_iter().flatten();
            // Parents have lower numbers than their children.
            for parent in parents.filter(|parent| *parent >= ancestor) {
                if parent == ancestor {
                    return true;
                }
                if seen.insert(parent) {
                    wanted.push(parent);
                }
            }
        }
        false
    }

    /// The common ancestors of two changesets that are no ancestors of another one, oldest first. There are several
    /// after two lines of history were merged into each other.
    pub fn common_ancestor_heads(&self, one: Rev, other: Rev) -> Vec<Rev> {
        let mut heads = common_heads(|rev| self.changelog().parents(rev), one, other);
        heads.reverse();
        heads
    }

    /// Number of visible changesets that descend from `rev` by way of visible ones.
    pub fn count_descendants(&self, rev: Rev) -> usize {
        let mut descends = vec![false; self.changelog().len() - rev.index()];
        descends[0] = true;
        for later in self.changelog().revs().skip(rev.index() + 1) {
            let mut parents = self.changelog().parents(later).into_iter().flatten();
            let is_descendant = |parent: Rev| {
                let at = parent.index().checked_sub(rev.index());
                at.is_some_and(|at| descends[at])
            };
            descends[later.index() - rev.index()] =
                self.is_visible(later) && parents.any(is_descendant);
        }
        descends
            .iter()
            .skip(1)
            .filter(|descends| **descends)
            .count()
    }
}
