//! Parents in the graph that only a subset of changesets makes.

use super::Printer;
use std::collections::HashSet;
use varve_repo::Rev;

impl Printer {
    /// The nearest ancestors of a changeset in `subset` that are not ancestors of each other, those by first parents
    /// before others; none if the changeset does not belong to the subset. The null revision counts as the parent of
    /// changesets without one, and of itself.
    pub(super) fn parents_in_subset(
        &self,
        rev: Option<Rev>,
        subset: &HashSet<Option<Rev>>,
    ) -> Vec<Option<Rev>> {
        if !subset.contains(&rev) {
            return Vec::new();
        }
        let above = |rev: Option<Rev>| {
            let [first, second] = self.parents_of(rev);
            // The next to be visited stands last.
            second.map(Some).into_iter().chain([first])
        };
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut work: Vec<Option<Rev>> = above(rev).collect();
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            match subset.contains(&next) {
                true => found.push(next),
                false => work.extend(above(next)),
            }
        }
        let all = found.clone();
        let is_ancestor = |rev: Option<Rev>, other: Option<Rev>| match (rev, other) {
            (None, other) => other.is_some(),
            (Some(rev), Some(other)) => self.view.is_descendant(other, rev),
            (Some(_), None) => false,
        };
        found.retain(|rev| !all.iter().any(|other| is_ancestor(*rev, *other)));
        found
    }
}
