//! Whether the tree of access says of documents what their texts do.

use super::{Hit, Part, Verifier};
use crate::access::names_in;
use crate::record::{ACCESS, AccessLeaf, rows};
use crate::revtree::{Node, Stored};
use crate::{DocdbError, RevTree};

/// Leaves of one document, while their bodies are read.
#[derive(Default)]
pub(super) struct ReadLeaves {
    leaves: Vec<AccessLeaf>,
}

impl Verifier<'_, '_> {
    /// Takes the names of a leaf from its text, which was just read.
    pub(super) fn read_access(&self, node: &Node, stored: &Stored, leaves: &mut ReadLeaves) {
        if self.snapshot.has_access() {
            let leaf = AccessLeaf::new(node, stored, names_in(&self.text));
            leaves.leaves.push(leaf);
        }
    }

    /// Adds the rows that a document must have.
    pub(super) fn expect_access(&mut self, id: &str, tree: &RevTree, leaves: &ReadLeaves) {
        if leaves.leaves.len() < tree.leaves().count() {
            self.is_access_unknown = true;
            return;
        }
        for (key, value) in rows(id, &leaves.leaves) {
            self.sums.expect_row(&key, &value);
        }
    }

    /// Checks the tree of access, where there is one. Documents whose texts cannot be read are reported themselves; what
    /// their rows should be is then not known.
    pub(super) fn access(&mut self) -> Result<(), DocdbError> {
        if !self.snapshot.has_access() {
            return Ok(());
        }
        self.walk(ACCESS, |this, key, value, _| {
            this.sums.add_row(key, value);
            Ok(())
        })?;
        if !self.is_access_unknown && !self.sums.rows_agree() {
            let reason =
                "its rows are not those of the documents' `_access`; `--salvage` makes them anew";
            self.find(Part::Access, None, Hit::Database, reason);
        }
        Ok(())
    }
}
