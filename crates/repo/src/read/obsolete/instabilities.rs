//! Changesets that obsolescence leaves without their parents, or in competition.

use super::successors::Successors;
use crate::format::RepoError;
use crate::format::obsstore::{Marker, read};
use crate::read::RepoView;
use std::collections::{BTreeSet, HashMap, HashSet};
use varve_revlog::{Node, Rev};

/// The obsolete and the unstable changesets of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instabilities {
    /// Changesets with a marker, unless public.
    pub obsolete: BTreeSet<Rev>,
    /// Changesets that are not obsolete, with an obsolete ancestor.
    pub orphans: BTreeSet<Rev>,
    /// Successors of public changesets.
    pub phase_divergent: BTreeSet<Rev>,
    /// They stand in one place with others.
    pub content_divergent: BTreeSet<Rev>,
}

impl Instabilities {
    /// Mercurial's names for the instabilities of a changeset.
    pub fn names(&self, rev: Rev) -> impl Iterator<Item = &'static str> {
        let kinds = [
            (&self.orphans, "orphan"),
            (&self.phase_divergent, "phase-divergent"),
            (&self.content_divergent, "content-divergent"),
        ];
        let of_rev = kinds
            .into_iter()
            .filter(move |(revs, _)| revs.contains(&rev));
        of_rev.map(|(_, name)| name)
    }
}

/// Markers by their successors.
pub(super) struct Predecessors<'a>(HashMap<Node, Vec<&'a Marker>>);

impl<'a> Predecessors<'a> {
    pub(super) fn new(markers: &'a [Marker]) -> Self {
        let mut by_new: HashMap<Node, Vec<&Marker>> = HashMap::new();
        for marker in markers {
            for new in &marker.successors {
                by_new.entry(*new).or_default().push(marker);
            }
        }
        Predecessors(by_new)
    }

    /// All that a changeset stands in the place of, by way of the markers that are `followed`, the nearest first.
    pub(super) fn of(&self, node: &Node, followed: impl Fn(&Marker) -> bool) -> Vec<Node> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let (mut at, mut next) = (Some(*node), 0);
        while let Some(new) = at {
            let markers = self.0.get(&new).into_iter().flatten();
            let old = markers.filter(|marker| followed(marker)).map(|m| m.old);
            found.extend(old.filter(|old| seen.insert(*old)));
            at = found.get(next).copied();
            next += 1;
        }
        found
    }
}

impl RepoView {
    /// The instabilities of all changesets, hidden ones included.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn instabilities(&self) -> Result<Instabilities, RepoError> {
        let markers = read(self.storage(), &self.context.store())?;
        if markers.is_empty() {
            return Ok(Instabilities::default());
        }
        let mut found = Instabilities {
            obsolete: self.obsolete()?,
            orphans: self.orphans()?,
            ..Instabilities::default()
        };
        let is_there = |node: &Node| self.changelog().rev(node).is_some();
        let mut successors = Successors::new(&markers, &is_there, false);
        let predecessors = Predecessors::new(&markers);
        let is_public = |node: &Node| self.is_public(node);
        for new in predecessors.0.keys() {
            let Some(rev) = self.changelog().rev(new) else {
                continue;
            };
            if is_public(new) || found.obsolete.contains(&rev) {
                continue;
            }
            let unmended = predecessors.of(new, |marker| !marker.is_bumped_fix);
            if unmended.iter().any(is_public) {
                found.phase_divergent.insert(rev);
            }
            let all = predecessors.of(new, |_| true);
            let competes = |old: &Node| {
                let sets = successors.of(old);
                sets.len() > 1 && sets.iter().any(|set| !set.contains(new))
            };
            if all.iter().filter(|old| *old != new).any(competes) {
                found.content_divergent.insert(rev);
            }
        }
        Ok(found)
    }

    /// The changesets, and all that stand in their place, by way of any others.
    ///
    /// # Errors
    /// As of [`RepoView::instabilities`].
    pub fn with_successors(&self, revs: &[Rev]) -> Result<BTreeSet<Rev>, RepoError> {
        let markers = read(self.storage(), &self.context.store())?;
        let mut next: HashMap<Node, Vec<&[Node]>> = HashMap::new();
        for marker in &markers {
            next.entry(marker.old).or_default().push(&marker.successors);
        }
        let mut wanted: Vec<Node> = revs.iter().map(|rev| self.changelog().node(*rev)).collect();
        let mut seen: HashSet<Node> = wanted.iter().copied().collect();
        let mut found: BTreeSet<Rev> = revs.iter().copied().collect();
        while let Some(at) = wanted.pop() {
            found.extend(self.changelog().rev(&at));
            let successors = next.get(&at).into_iter().flatten().copied().flatten();
            wanted.extend(successors.filter(|node| seen.insert(**node)));
        }
        Ok(found)
    }
}
