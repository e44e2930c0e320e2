//! The history as it will be after the transaction, for checks that run before it is final.

use super::Receiver;
use crate::format::{RepoError, obsstore};
use std::collections::{BTreeMap, HashMap};
use varve_revlog::{Appender, Node, Rev, Revlog};

/// Changesets that are there and that have come, and where bookmarks are by now.
#[derive(Debug)]
pub struct PendingHistory<'a> {
    known: &'a Revlog,
    new: &'a HashMap<Node, Rev>,
    log: &'a Appender,
    bookmarks: &'a BTreeMap<Vec<u8>, Node>,
    successors: HashMap<Node, Vec<Node>>,
}

impl Receiver {
    /// Whether a changeset is there or has come.
    pub fn knows(&self, node: &Node) -> bool {
        self.number(node).is_some()
    }

    /// The history so far. Each changegroup must be [ended](Receiver::end_changegroup).
    ///
    /// # Errors
    /// If obsolescence markers are damaged.
    pub fn pending_history(&mut self) -> Result<PendingHistory<'_>, RepoError> {
        let mut successors = self.view.successors_by_changeset()?;
        for received in &self.received_markers {
            let stored = obsstore::to_stored_form(received)?;
            let markers = obsstore::parse(&stored).unwrap_or_default();
            obsstore::add_successors(markers, &mut successors);
        }
        Ok(PendingHistory {
            known: self.view.changelog(),
            new: &self.numbers,
            log: &self.changesets.handler().log,
            bookmarks: self.bookmarks.as_ref().unwrap_or(self.view.bookmarks()),
            successors,
        })
    }
}

impl PendingHistory<'_> {
    /// The number of a changeset.
    pub fn rev(&self, node: &Node) -> Option<Rev> {
        let new = self.new.get(node).copied();
        new.or_else(|| self.known.rev(node))
    }

    /// Parents of a changeset.
    pub fn parents(&self, rev: Rev) -> [Option<Rev>; 2] {
        self.log.parents(rev)
    }

    /// How many changesets there are.
    #[expect(
        clippy::len_without_is_empty,
        reason = "nothing asks for an empty history"
    )]
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Successors, as obsolescence markers name them.
    pub fn successors(&self) -> &HashMap<Node, Vec<Node>> {
        &self.successors
    }

    /// All bookmarks.
    pub fn bookmarks(&self) -> &BTreeMap<Vec<u8>, Node> {
        self.bookmarks
    }
}
