//! All documents by id.

use super::Snapshot;
use crate::record::{BY_ID, first_if_winner, is_deleted};
use crate::revtree::Stored;
use crate::{DocdbError, Rev};
use std::ops::Bound;
use varve_btree::{Direction, Item, Range};

/// A run of ids, compared as bytes, low before high whatever the direction of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange<'a> {
    /// Where it begins.
    pub low: Bound<&'a str>,
    /// Where it ends.
    pub high: Bound<&'a str>,
}

impl IdRange<'_> {
    /// Every id.
    pub const ALL: IdRange<'static> = IdRange {
        low: Bound::Unbounded,
        high: Bound::Unbounded,
    };

    /// Design documents.
    pub const DESIGN: IdRange<'static> = IdRange {
        low: Bound::Included("_design/"),
        high: Bound::Excluded("_design0"),
    };

    fn bounds(&self) -> varve_btree::Bounds<'_> {
        (self.low.map(str::as_bytes), self.high.map(str::as_bytes))
    }
}

/// One document that is not deleted, with its winner.
#[derive(Clone, Debug)]
pub struct AllDocsRow {
    item: Item,
    /// The winning revision.
    pub rev: Rev,
    /// Its content.
    pub stored: Stored,
}

impl AllDocsRow {
    /// The document's id.
    pub fn id(&self) -> &str {
        // Ids come in as text, so the empty one is never seen.
        std::str::from_utf8(self.item.key()).unwrap_or_default()
    }
}

/// Documents that are not deleted, by id. `nth` and `skip` cost no decoding.
#[derive(Debug)]
pub struct AllDocs {
    snapshot: Snapshot,
    range: Range,
    /// How many live documents stand before the first row, in the direction of reading.
    offset: u64,
    total: u64,
}

impl Snapshot {
    /// Documents that are not deleted, within a run of ids.
    ///
    /// # Errors
    /// Damage; the iterator gives an error at most once and then ends.
    pub fn all_docs(&self, ids: IdRange<'_>, direction: Direction) -> Result<AllDocs, DocdbError> {
        let total = self.totals((Bound::Unbounded, Bound::Unbounded))?.live;
        let outside = match (direction, ids.bounds()) {
            (Direction::Forward, (Bound::Included(low), _)) => {
                (Bound::Unbounded, Bound::Excluded(low))
            }
            (Direction::Forward, (Bound::Excluded(low), _)) => {
                (Bound::Unbounded, Bound::Included(low))
            }
            (Direction::Backward, (_, Bound::Included(high))) => {
                (Bound::Excluded(high), Bound::Unbounded)
            }
            (Direction::Backward, (_, Bound::Excluded(high))) => {
                (Bound::Included(high), Bound::Unbounded)
            }
            (Direction::Forward, (Bound::Unbounded, _))
            | (Direction::Backward, (_, Bound::Unbounded)) => {
                (Bound::Excluded(&b""[..]), Bound::Excluded(&b""[..]))
            }
        };
        let is_open = outside == (Bound::Excluded(&b""[..]), Bound::Excluded(&b""[..]));
        let offset = if is_open {
            0
        } else {
            self.totals(outside)?.live
        };
        Ok(AllDocs {
            range: self.tree.range(BY_ID, ids.bounds(), direction)?,
            snapshot: self.clone(),
            offset,
            total,
        })
    }
}

impl AllDocs {
    /// How many documents of the database are not deleted.
    pub fn total_rows(&self) -> u64 {
        self.total
    }

    /// How many of them stand before the first row, in the direction of reading.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The winner of a document, without decoding more than needed.
    fn winner(&self, item: &Item) -> Result<(Rev, Stored), DocdbError> {
        let damaged = || self.snapshot.damaged("document", item.key());
        let node = match first_if_winner(item.value()).map_err(|_| damaged())? {
            Some(node) => node,
            None => {
                let record = self.snapshot.record(item.key(), item.value())?;
                record.tree.winner().cloned().ok_or_else(damaged)?
            }
        };
        Ok((node.rev, node.stored.ok_or_else(damaged)?))
    }

    /// The next document that is not deleted, not decoded yet.
    fn next_live(&mut self) -> Option<Result<Item, DocdbError>> {
        loop {
            match self.range.next()? {
                Ok(item) if is_deleted(item.value()) => {}
                Ok(item) => return Some(Ok(item)),
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl Iterator for AllDocs {
    type Item = Result<AllDocsRow, DocdbError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = match self.next_live()? {
            Ok(item) => item,
            Err(error) => return Some(Err(error)),
        };
        Some(match self.winner(&item) {
            Ok((rev, stored)) => Ok(AllDocsRow { item, rev, stored }),
            Err(error) => Err(error),
        })
    }

    fn nth(&mut self, skip: usize) -> Option<Self::Item> {
        for _ in 0..skip {
            if let Err(error) = self.next_live()? {
                return Some(Err(error));
            }
        }
        self.next()
    }
}
