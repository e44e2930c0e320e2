//! Obsfate: successors of an obsolete changeset, dates and users, as Mercurial shows it.

use super::successors::Successors;
use crate::format::RepoError;
use crate::format::obsstore::{Marker, read};
use crate::read::RepoView;
use std::collections::BTreeSet;
use varve_lang::date::Date;
use varve_revlog::{Node, Rev};

/// One thing that became of a changeset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObsFate {
    /// Its visible successors; empty if it was dropped.
    pub successors: Vec<Node>,
    /// Names of the commands that rewrote it.
    pub operations: BTreeSet<Vec<u8>>,
    /// The users that did it.
    pub users: BTreeSet<Vec<u8>>,
    /// When, first and last.
    pub dates: [Date; 2],
}

impl ObsFate {
    fn of<'m>(successors: Vec<Node>, markers: impl Iterator<Item = &'m Marker>) -> Option<ObsFate> {
        let markers: Vec<&Marker> = markers.collect();
        let facts = |key: &[u8]| {
            let values = markers
                .iter()
                .filter_map(|marker| marker.metadata_value(key));
            values.map(<[u8]>::to_vec).collect()
        };
        let dates = || markers.iter().map(|marker| marker.date);
        Some(ObsFate {
            successors,
            operations: facts(b"operation"),
            users: facts(b"user"),
            dates: [
                dates().min_by_key(|date| date.time)?,
                dates().max_by_key(|date| date.time)?,
            ],
        })
    }
}

/// Successors that are named; of further ones only the number is shown.
const MOST_NAMED: usize = 2;

impl RepoView {
    /// The obsfate of a hidden changeset, to stand behind its name in a message; empty if it was not
    /// rewritten.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn obsfate_text(&self, rev: Rev) -> Result<String, RepoError> {
        let markers = read(self.storage(), &self.context.store())?;
        let is_there = |node: &Node| self.changelog().rev(node).is_some();
        let node = self.changelog().node(rev);
        let sets = Successors::new(&markers, &is_there, false).of(&node);
        let [set] = &sets[..] else {
            return Ok(match sets.is_empty() {
                true => " is pruned".to_owned(),
                false => " has diverged".to_owned(),
            });
        };
        let short = |node: &Node| node.to_string()[..12].to_owned();
        Ok(match &set[..] {
            [same] if *same == node => String::new(),
            [one] => format!(" was rewritten as: {}", short(one)),
            several if several.len() <= MOST_NAMED => {
                let names: Vec<String> = several.iter().map(short).collect();
                format!(" was split as: {}", names.join(", "))
            }
            several => {
                let names: Vec<String> = several[..MOST_NAMED].iter().map(short).collect();
                let more = several.len() - MOST_NAMED;
                format!(" was split as: {} and {more} more", names.join(", "))
            }
        })
    }

    /// The fates of an obsolete changeset; several if it was rewritten several times.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn obsfates(&self, rev: Rev) -> Result<Vec<ObsFate>, RepoError> {
        let markers = read(self.storage(), &self.context.store())?;
        let is_there = |node: &Node| {
            let rev = self.changelog().rev(node);
            rev.is_some_and(|rev| self.is_visible(rev))
        };
        let node = self.changelog().node(rev);
        let mut successors = Successors::new(&markers, &is_there, true);
        let sets = successors.of(&node);
        if sets.is_empty() {
            let own = markers.iter().filter(|marker| marker.old == node);
            return Ok(Vec::from_iter(ObsFate::of(Vec::new(), own)));
        }
        let obsfates = sets.into_iter().filter_map(|set| {
            let on_the_way = successors.markers_to(&node, &set);
            ObsFate::of(set, on_the_way.iter().map(|at| &markers[*at]))
        });
        Ok(obsfates.collect())
    }
}
