//! Documents by their last update.

use super::Snapshot;
use super::access::MergedRows;
use crate::DocdbError;
use crate::record::{BY_SEQ, Change};
use std::ops::Bound;
use varve_btree::{Direction, Range};

/// Changes in order of their sequence.
#[derive(Debug)]
pub struct Changes {
    snapshot: Snapshot,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    All(Range),
    Visible(MergedRows),
}

impl Snapshot {
    /// Every document that was updated after `since`, once, at its last update.
    ///
    /// # Errors
    /// Damage; the iterator gives an error at most once and then ends.
    pub fn changes(&self, since: u64, direction: Direction) -> Result<Changes, DocdbError> {
        let rows = match self.viewer.names() {
            Some(names) => Rows::Visible(self.visible_changes(names, since, direction)?),
            None => {
                let since = since.to_be_bytes();
                let bounds = (Bound::Excluded(&since[..]), Bound::Unbounded);
                Rows::All(self.tree.range(BY_SEQ, bounds, direction)?)
            }
        };
        let snapshot = self.clone();
        Ok(Changes { snapshot, rows })
    }

    /// How many documents were updated after `since`. To a viewer who does not see all, more than 10,000 are counted
    /// once for each name that shows them.
    ///
    /// # Errors
    /// Damage.
    pub fn count_changes(&self, since: u64) -> Result<u64, DocdbError> {
        if let Some(names) = self.viewer.names() {
            return self.count_visible_changes(names, since);
        }
        let since = since.to_be_bytes();
        let bounds = (Bound::Excluded(&since[..]), Bound::Unbounded);
        Ok(self.tree.count(BY_SEQ, bounds)?)
    }
}

impl Changes {
    /// The next document that the viewer sees, at the last update of a visible leaf.
    fn next_visible(&mut self) -> Result<Option<Change>, DocdbError> {
        let Rows::Visible(rows) = &mut self.rows else {
            return Ok(None);
        };
        while let Some((key, _)) = rows.next()? {
            let (seq, id) = self.snapshot.split_change(&key)?;
            // Another name may show a later update of the same document.
            let document = self.snapshot.document(id)?;
            let document = document.filter(|document| document.seq() == seq);
            let change = document.and_then(|document| Change::of(id, seq, document.tree()));
            if change.is_some() {
                return Ok(change);
            }
        }
        Ok(None)
    }
}

impl Iterator for Changes {
    type Item = Result<Change, DocdbError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Rows::All(range) = &mut self.rows else {
            return self.next_visible().transpose();
        };
        Some(match range.next()? {
            Ok(item) => Change::decode(item.key(), item.value())
                .map_err(|_| self.snapshot.damaged("change", item.key())),
            Err(error) => Err(error.into()),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.rows {
            Rows::All(range) => range.size_hint(),
            Rows::Visible(_) => (0, None),
        }
    }

    fn nth(&mut self, skip: usize) -> Option<Self::Item> {
        let Rows::All(range) = &mut self.rows else {
            if let Rows::Visible(rows) = &mut self.rows
                && rows.has_one_name()
            {
                // Then each row is a change.
                let skipped = (0..skip).try_for_each(|_| rows.next().map(drop));
                return match skipped {
                    Ok(()) => self.next(),
                    Err(error) => Some(Err(error)),
                };
            }
            for _ in 0..skip {
                if let Err(error) = self.next()? {
                    return Some(Err(error));
                }
            }
            return self.next();
        };
        if let Some(last) = skip.checked_sub(1)
            && let Err(error) = range.nth(last)?
        {
            return Some(Err(error.into()));
        }
        self.next()
    }
}
