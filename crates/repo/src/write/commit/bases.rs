//! Ancestors of revisions of files, for merges.

use varve_revlog::{Appender, Rev};

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
