//! Which changesets are obsolete, and their successors.

mod causes;
mod evolution;
mod exclusive_markers;
mod instabilities;
mod listing;
mod obsfates;
mod relevant_markers;
mod rewrite;
mod successors;

pub use causes::InstabilityCause;
pub use evolution::Evolution;
pub use instabilities::Instabilities;
pub use listing::SuccessorsWithMarkers;
pub use obsfates::ObsFate;
pub use rewrite::RewriteRefusal;

use crate::format::obsstore::{self, read};
use crate::format::{Phase, RepoError};
use crate::read::{RepoView, Repository};
use std::collections::{BTreeSet, HashMap, HashSet};
use varve_revlog::{Node, Rev};

impl Repository {
    /// How often a changeset was said to be obsolete.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn count_markers(&self) -> Result<usize, RepoError> {
        Ok(read(self.storage().as_ref(), &self.context().store())?.len())
    }
}

impl RepoView {
    fn is_mutable(&self, rev: Rev) -> bool {
        self.phases().of(rev) > Phase::Public
    }

    /// Successors of each changeset, as obsolescence markers name them.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn successors_by_changeset(&self) -> Result<HashMap<Node, Vec<Node>>, RepoError> {
        let mut successors = HashMap::new();
        let markers = read(self.storage(), &self.context.store())?;
        obsstore::add_successors(markers, &mut successors);
        Ok(successors)
    }

    /// Obsolete changesets: those with a marker. Public ones never are.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn obsolete(&self) -> Result<BTreeSet<Rev>, RepoError> {
        let markers = read(self.storage(), &self.context.store())?;
        let revs = markers.iter().filter_map(|m| self.changelog().rev(&m.old));
        Ok(revs.filter(|rev| self.is_mutable(*rev)).collect())
    }

    /// Obsolete changesets on which nothing builds but others.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn extinct(&self) -> Result<BTreeSet<Rev>, RepoError> {
        let mut obsolete = self.obsolete()?;
        let Some(first) = obsolete.first().copied() else {
            return Ok(obsolete);
        };
        let changelog = self.changelog();
        let mut kept = BTreeSet::new();
        let newest_first = changelog.revs().skip(first.index()).collect::<Vec<_>>();
        for rev in newest_first.into_iter().rev() {
            if !obsolete.contains(&rev) || kept.contains(&rev) {
                kept.extend(changelog.parents(rev).into_iter().flatten());
            }
        }
        obsolete.retain(|rev| !kept.contains(rev));
        Ok(obsolete)
    }

    /// Changesets that are not obsolete themselves and build on one that is.
    ///
    /// # Errors
    /// As of [`RepoView::obsolete`].
    pub fn orphans(&self) -> Result<BTreeSet<Rev>, RepoError> {
        let obsolete = self.obsolete()?;
        let Some(first) = obsolete.first() else {
            return Ok(BTreeSet::new());
        };
        let mut orphans = BTreeSet::new();
        for rev in self.changelog().revs().skip(first.index()) {
            let mut parents = self.changelog().parents(rev).into_iter().flatten();
            let unstable = parents.any(|p| obsolete.contains(&p) || orphans.contains(&p));
            if unstable && self.is_mutable(rev) {
                orphans.insert(rev);
            }
        }
        Ok(orphans.difference(&obsolete).copied().collect())
    }

    /// The changesets that stand in the place of one by now, by way of any others.
    ///
    /// # Errors
    /// As of [`RepoView::obsolete`].
    pub fn latest_successors(&self, node: Node) -> Result<Vec<Rev>, RepoError> {
        let mut followed: HashMap<Node, Vec<Node>> = HashMap::new();
        for marker in read(self.storage(), &self.context.store())? {
            followed
                .entry(marker.old)
                .or_default()
                .extend(marker.successors);
        }
        let (mut wanted, mut seen) = (vec![node], HashSet::from([node]));
        let mut latest = BTreeSet::new();
        while let Some(at) = wanted.pop() {
            match followed.get(&at) {
                Some(next) => wanted.extend(next.iter().filter(|next| seen.insert(**next))),
                None => latest.extend(self.changelog().rev(&at)),
            }
        }
        Ok(latest.into_iter().collect())
    }

    /// The changesets in whose place one stands by a single step, in the order of their markers; one that several
    /// markers name is there as often.
    ///
    /// # Errors
    /// As of [`RepoView::obsolete`].
    pub fn predecessors(&self, node: &Node) -> Result<Vec<Node>, RepoError> {
        let markers = read(self.storage(), &self.context.store())?;
        let of_node = markers.iter().filter(|m| m.successors.contains(node));
        Ok(of_node.map(|marker| marker.old).collect())
    }

    /// All markers in version 0, each without the version's byte, sorted as Mercurial sorts them.
    /// Markers that the version cannot express are left out.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn markers_v0(&self) -> Result<Vec<Vec<u8>>, RepoError> {
        let (markers, file) = obsstore::read_with_file(self.storage(), &self.context.store())?;
        Ok(obsstore::as_version_0(markers, &file))
    }
}
