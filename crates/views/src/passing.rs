//! Changes that pass a filter, by sequence.

use crate::change_row::{read_leaves, read_seq};
use crate::index::{IndexSnapshot, tree_of_map};
use crate::row::Row;
use crate::{IndexKind, ViewError};
use std::ops::{Bound, Range};
use varve_btree::{Direction, OverlayRange};

/// A change that passes, or may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassingChange {
    /// The document's last update when the index was built. It may have been updated since.
    pub seq: u64,
    /// Positions of the leaves that pass, ascending: 0 is the winner, the others follow in the order of
    /// [`varve_docdb::Change::others`]. Empty if the filter is to be asked.
    pub leaves: Vec<usize>,
}

/// Changes in the order of their sequences; after an error there are no more.
#[derive(Debug)]
pub struct PassingChanges {
    rows: Option<OverlayRange>,
}

impl IndexSnapshot {
    /// The changes within `seqs` that pass the filter.
    ///
    /// # Errors
    /// Damage; [`ViewError::NoView`] for an index of views.
    pub fn passing(
        &self,
        seqs: Range<u64>,
        direction: Direction,
    ) -> Result<PassingChanges, ViewError> {
        if self.group.kind() != IndexKind::Changes {
            let name = String::new();
            return Err(ViewError::NoView { name });
        }
        let (low, high) = (seqs.start.to_be_bytes(), seqs.end.to_be_bytes());
        let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        let tree = tree_of_map(0);
        let ranks = self.rows.ranks(tree, bounds)?;
        let rows = self.rows.range_by_rank(tree, ranks, direction)?;
        Ok(PassingChanges { rows: Some(rows) })
    }
}

impl Iterator for PassingChanges {
    type Item = Result<PassingChange, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.rows.as_mut()?.next()?;
        let change = item.map_err(ViewError::from).and_then(|item| {
            let seq = read_seq(item.key());
            let leaves = Row::read(item).and_then(|row| read_leaves(row.value()));
            let change = seq
                .zip(leaves)
                .map(|(seq, leaves)| PassingChange { seq, leaves });
            change.ok_or(ViewError::Row {
                reason: "an item of an index of changes is no change",
            })
        });
        if change.is_err() {
            self.rows = None;
        }
        Some(change)
    }
}
