//! How shown changesets descend from each other when those between them are not shown.

use std::collections::{HashMap, HashSet};
use varve_repo::Rev;
use varve_revlog::Revlog;
use varve_revset::WORKING_COPY;

/// A changeset, or the null revision, and how it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ancestor {
    /// A parent that is shown.
    Parent(Option<Rev>),
    /// The nearest shown changeset along parents that are not shown.
    Distant(Option<Rev>),
    /// A parent that is not shown, and nothing that is shown is below it.
    Missing(Rev),
}

/// The shown changesets.
pub(super) struct Lineage<'a> {
    changelog: &'a Revlog,
    /// Parents of the working copy.
    working: [Option<Rev>; 2],
    shown: HashSet<Option<Rev>>,
    /// Nothing that is shown is older.
    oldest: Option<Rev>,
    /// Nearest shown ancestors of parents that are not shown.
    nearest: HashMap<Rev, Vec<Option<Rev>>>,
}

impl<'a> Lineage<'a> {
    pub(super) fn new(
        changelog: &'a Revlog,
        working: [Option<Rev>; 2],
        shown: &[Option<Rev>],
    ) -> Lineage<'a> {
        Lineage {
            changelog,
            working,
            shown: shown.iter().copied().collect(),
            oldest: shown.iter().copied().min().flatten(),
            nearest: HashMap::new(),
        }
    }

    /// Ancestors of a shown changeset, each named once: first its own parents, ascending.
    pub(super) fn of(&mut self, rev: Option<Rev>) -> Vec<Ancestor> {
        let Some(rev) = rev else { return Vec::new() };
        let [first, second] = match rev {
            WORKING_COPY => self.working,
            stored => self.changelog.parents(stored),
        };
        let mut parents: Vec<Option<Rev>> =
            std::iter::once(first).chain(second.map(Some)).collect();
        let mut shown = parents.clone();
        shown.retain(|parent| self.shown.contains(parent));
        shown.sort_unstable();
        shown.dedup();
        parents.retain(|parent| !shown.contains(parent));
        let mut seen: HashSet<Option<Rev>> = shown.iter().copied().collect();
        let mut found: Vec<Ancestor> = shown.into_iter().map(Ancestor::Parent).collect();
        for parent in parents.into_iter().flatten() {
            let nearest = self.nearest(parent);
            if nearest.is_empty() && seen.insert(Some(parent)) {
                found.push(Ancestor::Missing(parent));
            }
            let nearest = nearest.into_iter().filter(|one| seen.insert(*one));
            found.extend(nearest.map(Ancestor::Distant));
        }
        found
    }

    /// Ascending.
    fn nearest(&mut self, from: Rev) -> Vec<Option<Rev>> {
        if let Some(known) = self.nearest.get(&from) {
            return known.clone();
        }
        let with_null = self.shown.contains(&None);
        let mut found = Vec::new();
        let (mut visited, mut open) = (HashSet::from([from]), vec![from]);
        while let Some(rev) = open.pop() {
            for parent in self.changelog.parents(rev) {
                match parent {
                    None if with_null => found.push(None),
                    Some(_) if self.shown.contains(&parent) => found.push(parent),
                    Some(parent)
                        if self.oldest.is_none_or(|oldest| parent > oldest)
                            && visited.insert(parent) =>
                    {
                        open.push(parent);
                    }
                    _ => {}
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        self.nearest.insert(from, found.clone());
        found
    }
}
