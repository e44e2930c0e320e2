//! Documents by their last update.

use super::Snapshot;
use crate::DocdbError;
use crate::record::{BY_SEQ, Change};
use std::ops::Bound;
use varve_btree::{Direction, Range};

/// Changes in order of their sequence.
#[derive(Debug)]
pub struct Changes {
    snapshot: Snapshot,
    range: Range,
}

impl Snapshot {
    /// Every document that was updated after `since`, once, at its last update.
    ///
    /// # Errors
    /// Damage; the iterator gives an error at most once and then ends.
    pub fn changes(&self, since: u64, direction: Direction) -> Result<Changes, DocdbError> {
        let since = since.to_be_bytes();
        let bounds = (Bound::Excluded(&since[..]), Bound::Unbounded);
        Ok(Changes {
            range: self.tree.range(BY_SEQ, bounds, direction)?,
            snapshot: self.clone(),
        })
    }

    /// How many documents were updated after `since`.
    ///
    /// # Errors
    /// Damage.
    pub fn count_changes(&self, since: u64) -> Result<u64, DocdbError> {
        let since = since.to_be_bytes();
        let bounds = (Bound::Excluded(&since[..]), Bound::Unbounded);
        Ok(self.tree.count(BY_SEQ, bounds)?)
    }
}

impl Iterator for Changes {
    type Item = Result<Change, DocdbError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.range.next()? {
            Ok(item) => Change::decode(item.key(), item.value())
                .map_err(|_| self.snapshot.damaged("change", item.key())),
            Err(error) => Err(error.into()),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }

    fn nth(&mut self, skip: usize) -> Option<Self::Item> {
        if let Some(last) = skip.checked_sub(1)
            && let Err(error) = self.range.nth(last)?
        {
            return Some(Err(error.into()));
        }
        self.next()
    }
}
