//! The tree of access, made anew from the names in the texts that could be read.

use super::Salvage;
use crate::access::names_in;
use crate::compact::Sorter;
use crate::record::{ACCESS, AccessLeaf, rows};
use crate::{DocdbError, RevTree};
use varve_btree::{Loader, Transaction};

/// Hands the rows of a document to be sorted; `text` is a buffer.
pub(crate) fn sort_access_rows(
    (id, tree): (&str, &RevTree),
    txn: &Transaction<'_>,
    (sorter, text): (&mut Sorter<'_>, &mut Vec<u8>),
) -> Result<(), DocdbError> {
    let mut leaves = Vec::new();
    for leaf in tree.leaves() {
        let Some(stored) = &leaf.stored else { continue };
        text.clear();
        txn.read_chunk(stored.body, text)?;
        leaves.push(AccessLeaf::new(leaf, stored, names_in(text)));
    }
    for (key, value) in rows(id, &leaves) {
        sorter.push(&key, &value)?;
    }
    Ok(())
}

/// Builds the tree of sorted rows; `check` fails once the work is to stop.
pub(crate) fn load_access_rows(
    txn: &mut Transaction<'_>,
    sorter: Sorter<'_>,
    check: impl Fn() -> Result<(), DocdbError>,
) -> Result<(), DocdbError> {
    let mut sorted = sorter.finish()?;
    let mut tree = Loader::new(ACCESS);
    while let Some(key) = sorted.peek().map(<[u8]>::to_vec) {
        check()?;
        let value = sorted.take()?.unwrap_or_default();
        tree.push(txn, &key, &value)?;
    }
    Ok(tree.finish(txn)?)
}

impl Salvage<'_, '_> {
    /// Hands the rows of a copied document to be sorted.
    pub(super) fn access_rows(
        &mut self,
        id: &str,
        tree: &RevTree,
        sorter: &mut Sorter<'_>,
    ) -> Result<(), DocdbError> {
        match self.header.has_access {
            true => sort_access_rows((id, tree), &self.txn, (sorter, &mut self.text)),
            false => Ok(()),
        }
    }

    /// Builds the tree.
    pub(super) fn load_access(&mut self, sorter: Sorter<'_>) -> Result<(), DocdbError> {
        match self.header.has_access {
            true => load_access_rows(&mut self.txn, sorter, || Ok(self.watch.check()?)),
            false => Ok(()),
        }
    }
}
