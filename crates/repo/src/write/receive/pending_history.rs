//! The history as it will be after the transaction, for checks that run before it is final.

use super::Receiver;
use std::collections::{BTreeMap, HashMap};
use varve_revlog::{Appender, Node, Rev, Revlog};

/// Changesets that are there and that have come, and where bookmarks are by now.
#[derive(Debug)]
pub struct PendingHistory<'a> {
    known: &'a Revlog,
    new: &'a HashMap<Node, Rev>,
    log: &'a Appender,
    bookmarks: &'a BTreeMap<Vec<u8>, Node>,
}

impl Receiver {
    /// Whether a changeset is there or has come.
    pub fn knows(&self, node: &Node) -> bool {
        self.number(node).is_some()
    }

    /// The history so far. Each changegroup must be [ended](Receiver::end_changegroup).
    pub fn pending_history(&mut self) -> PendingHistory<'_> {
        PendingHistory {
            known: self.view.changelog(),
            new: &self.numbers,
            log: &self.changesets.handler().log,
            bookmarks: self.bookmarks.as_ref().unwrap_or(self.view.bookmarks()),
        }
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

    /// All bookmarks.
    pub fn bookmarks(&self) -> &BTreeMap<Vec<u8>, Node> {
        self.bookmarks
    }
}
