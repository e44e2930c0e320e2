//! The tree of access, made anew from the names in the texts that could be read.

use super::Salvage;
use crate::access::names_in;
use crate::compact::Sorter;
use crate::record::{ACCESS, AccessLeaf, rows};
use crate::{DocdbError, RevTree};
use varve_btree::Loader;

impl Salvage<'_, '_> {
    /// Hands the rows of a copied document to be sorted.
    pub(super) fn access_rows(
        &mut self,
        id: &str,
        tree: &RevTree,
        sorter: &mut Sorter<'_>,
    ) -> Result<(), DocdbError> {
        if !self.header.has_access {
            return Ok(());
        }
        let mut leaves = Vec::new();
        for leaf in tree.leaves() {
            let Some(stored) = &leaf.stored else { continue };
            self.text.clear();
            self.txn.read_chunk(stored.body, &mut self.text)?;
            leaves.push(AccessLeaf::new(leaf, stored, names_in(&self.text)));
        }
        for (key, value) in rows(id, &leaves) {
            sorter.push(&key, &value)?;
        }
        Ok(())
    }

    /// Builds the tree.
    pub(super) fn load_access(&mut self, sorter: Sorter<'_>) -> Result<(), DocdbError> {
        if !self.header.has_access {
            return Ok(());
        }
        let mut sorted = sorter.finish()?;
        let mut tree = Loader::new(ACCESS);
        while let Some(key) = sorted.peek().map(<[u8]>::to_vec) {
            self.watch.check()?;
            let value = sorted.take()?.unwrap_or_default();
            tree.push(&mut self.txn, &key, &value)?;
        }
        Ok(tree.finish(&mut self.txn)?)
    }
}
