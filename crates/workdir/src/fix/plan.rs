//! The places whose files are fixed, and the changesets that these are compared with.

use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{RepoView, Rev};

/// A changeset, or the working copy, which comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FixPlace {
    /// A changeset.
    Rev(Rev),
    /// The working copy.
    Working,
}

/// Places in order, and their bases. `None` is the null revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixPlan(BTreeMap<FixPlace, BTreeSet<Option<Rev>>>);

impl FixPlan {
    /// Plans changesets, and the working copy if it is given by its parents.
    ///
    /// A fix of an earlier changeset is not forgotten in a later one: each is compared with the nearest ancestors that are
    /// not fixed themselves, unless `bases` are given for all.
    pub fn new(
        view: &RepoView,
        revs: &BTreeSet<Rev>,
        working: Option<[Option<Rev>; 2]>,
        bases: Option<&BTreeSet<Option<Rev>>>,
    ) -> FixPlan {
        let mut plan = FixPlan::default();
        for rev in revs {
            let parents = view.changelog().parents(*rev);
            plan.add(FixPlace::Rev(*rev), parents, bases);
        }
        if let Some(parents) = working {
            plan.add(FixPlace::Working, parents, bases);
        }
        plan
    }

    fn add(
        &mut self,
        place: FixPlace,
        [first, second]: [Option<Rev>; 2],
        bases: Option<&BTreeSet<Option<Rev>>>,
    ) {
        let found = match bases {
            Some(bases) => bases.clone(),
            None => {
                let second = second.map(Some);
                let parents = std::iter::once(first).chain(second);
                parents.flat_map(|parent| self.reached(parent)).collect()
            }
        };
        self.0.insert(place, found);
    }

    /// The parent, or its own bases if it is fixed too.
    fn reached(&self, parent: Option<Rev>) -> BTreeSet<Option<Rev>> {
        let planned = parent.and_then(|rev| self.0.get(&FixPlace::Rev(rev)));
        planned.cloned().unwrap_or_else(|| BTreeSet::from([parent]))
    }

    /// The places in order, with their bases.
    pub fn places(&self) -> impl Iterator<Item = (FixPlace, &BTreeSet<Option<Rev>>)> {
        self.0.iter().map(|(place, bases)| (*place, bases))
    }

    /// The changesets, ascending.
    pub fn revs(&self) -> impl Iterator<Item = Rev> {
        self.0.keys().filter_map(|place| match place {
            FixPlace::Rev(rev) => Some(*rev),
            FixPlace::Working => None,
        })
    }

    /// True if the working copy is fixed.
    pub fn has_working_copy(&self) -> bool {
        self.0.contains_key(&FixPlace::Working)
    }
}
