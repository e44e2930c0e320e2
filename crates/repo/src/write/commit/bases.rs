//! Common ancestors of two changesets, for merges.

use std::collections::BTreeMap;
use varve_revlog::{Appender, Rev};

const OF_FIRST: u8 = 1;
const OF_SECOND: u8 = 2;
const OF_BOTH: u8 = OF_FIRST | OF_SECOND;
/// Below a common ancestor that was found: not one of the newest.
const OLDER: u8 = 4;

/// The common ancestors of two revisions that are no ancestors of another one. Looks at no
/// revision older than the oldest that matters.
pub(super) fn common_heads(revlog: &Appender, first: Rev, second: Rev) -> Vec<Rev> {
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
        for parent in revlog.parents(rev).into_iter().flatten() {
            *marks.entry(parent).or_default() |= mark;
        }
    }
    heads
}

/// Whether `old` is `new` or one of its ancestors.
pub(super) fn is_ancestor(revlog: &Appender, old: Rev, new: Rev) -> bool {
    let mut wanted = vec![new];
    let mut seen = std::collections::HashSet::new();
    while let Some(rev) = wanted.pop() {
        if rev == old {
            return true;
        }
        let parents = revlog.parents(rev).into_iter().flatten();
        wanted.extend(parents.filter(|parent| *parent >= old && seen.insert(*parent)));
    }
    false
}
