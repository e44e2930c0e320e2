//! Lists of obsolescence markers, and of what they say about one changeset.

use super::relevant_markers::relevant;
use super::successors::Successors;
use crate::format::RepoError;
use crate::format::obsstore::{self, ListedMarker, Marker};
use crate::read::RepoView;
use std::collections::{BTreeSet, HashMap, HashSet};
use varve_revlog::Node;

/// The successors of a changeset, and the markers that lead to them.
pub type SuccessorsWithMarkers = (Vec<Node>, Vec<ListedMarker>);

impl RepoView {
    /// All markers with their places in the file, or those that concern `nodes`.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn listed_markers(
        &self,
        nodes: Option<&[Node]>,
    ) -> Result<Vec<(usize, ListedMarker)>, RepoError> {
        let (markers, file) = obsstore::read_with_file(self.storage(), &self.context.store())?;
        let chosen: Option<HashSet<&[u8]>> =
            nodes.map(|nodes| relevant(&markers, &file, nodes).into_iter().collect());
        let is_chosen = |marker: &Marker| {
            let bytes = file.get(marker.range.clone()).unwrap_or_default();
            chosen.as_ref().is_none_or(|chosen| chosen.contains(bytes))
        };
        let listed = markers.iter().enumerate();
        let listed = listed.filter(|(_, marker)| is_chosen(marker));
        Ok(listed
            .map(|(at, marker)| (at, marker.listed(&file)))
            .collect())
    }

    /// Alternatives for a changeset: sets of changesets that stand in its place by now, or with `closest` the first
    /// visible ones on the way. None if it was dropped.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn successor_sets(&self, node: &Node, closest: bool) -> Result<Vec<Vec<Node>>, RepoError> {
        let markers = obsstore::read(self.storage(), &self.context.store())?;
        let is_there = |node: &Node| self.is_there(node, closest);
        Ok(Successors::new(&markers, &is_there, closest).of(node))
    }

    /// The closest visible successors of a changeset with the markers on the way to them.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn successors_with_markers(
        &self,
        node: &Node,
    ) -> Result<Vec<SuccessorsWithMarkers>, RepoError> {
        let (markers, file) = obsstore::read_with_file(self.storage(), &self.context.store())?;
        let is_there = |node: &Node| self.is_there(node, true);
        let mut successors = Successors::new(&markers, &is_there, true);
        let sets = successors.of(node);
        if sets.is_empty() {
            let own = markers.iter().filter(|marker| marker.old == *node);
            let own: Vec<ListedMarker> = own.map(|marker| marker.listed(&file)).collect();
            return Ok(match own.is_empty() {
                true => Vec::new(),
                false => vec![(Vec::new(), own)],
            });
        }
        let with_markers = sets.into_iter().map(|set| {
            let way = successors.markers_to(node, &set);
            let way = way.iter().map(|at| markers[*at].listed(&file)).collect();
            (set, way)
        });
        Ok(with_markers.collect())
    }

    /// The closest visible changesets that a changeset replaces, by way of any others.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn closest_predecessors(&self, node: &Node) -> Result<Vec<Node>, RepoError> {
        let markers = obsstore::read(self.storage(), &self.context.store())?;
        let mut by_new: HashMap<Node, BTreeSet<Node>> = HashMap::new();
        for marker in &markers {
            for new in &marker.successors {
                by_new.entry(*new).or_default().insert(marker.old);
            }
        }
        let (mut wanted, mut seen) = (vec![*node], HashSet::from([*node]));
        let mut found = BTreeSet::new();
        while let Some(at) = wanted.pop() {
            for old in by_new.get(&at).into_iter().flatten() {
                if !seen.insert(*old) {
                    continue;
                }
                match self.is_there(old, true) {
                    true => drop(found.insert(*old)),
                    false => wanted.push(*old),
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    fn is_there(&self, node: &Node, visible: bool) -> bool {
        let rev = self.changelog().rev(node);
        rev.is_some_and(|rev| !visible || self.is_visible(rev))
    }
}
