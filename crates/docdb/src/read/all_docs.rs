//! All documents by id.

use super::Snapshot;
use super::access::MergedRows;
use crate::record::{BY_ID, first_if_winner, is_deleted};
use crate::revtree::Stored;
use crate::{DocdbError, Rev};
use std::ops::Bound;
use varve_btree::{Direction, Range, TreeEntry};

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

    pub(super) fn bounds(&self) -> varve_btree::Bounds<'_> {
        (self.low.map(str::as_bytes), self.high.map(str::as_bytes))
    }
}

/// One document that is not deleted, with its winner.
#[derive(Clone, Debug)]
pub struct AllDocsRow {
    id: RowId,
    /// The winning revision.
    pub rev: Rev,
    /// Its content.
    pub stored: Stored,
}

#[derive(Clone, Debug)]
enum RowId {
    Entry(TreeEntry),
    Text(Box<str>),
}

impl AllDocsRow {
    /// The document's id.
    pub fn id(&self) -> &str {
        match &self.id {
            // Ids come in as text, so the empty one is never seen.
            RowId::Entry(item) => std::str::from_utf8(item.key()).unwrap_or_default(),
            RowId::Text(id) => id,
        }
    }
}

/// Documents that are not deleted, by id. `nth` and `skip` cost no decoding.
#[derive(Debug)]
pub struct AllDocs {
    snapshot: Snapshot,
    rows: Rows,
    /// How many live documents stand before the first row, in the direction of reading.
    offset: u64,
    total: u64,
}

#[derive(Debug)]
enum Rows {
    All(Range),
    Visible(MergedRows),
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
            rows: match self.viewer.names() {
                Some(names) => Rows::Visible(self.visible_ids(names, ids.bounds(), direction)?),
                None => Rows::All(self.tree.range(BY_ID, ids.bounds(), direction)?),
            },
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
    fn winner(&self, item: &TreeEntry) -> Result<(Rev, Stored), DocdbError> {
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
    fn next_live(&mut self) -> Option<Result<RowId, DocdbError>> {
        match &mut self.rows {
            Rows::All(range) => loop {
                match range.next()? {
                    Ok(item) if is_deleted(item.value()) => {}
                    Ok(item) => return Some(Ok(RowId::Entry(item))),
                    Err(error) => return Some(Err(error.into())),
                }
            },
            Rows::Visible(rows) => loop {
                match rows.next_id(&self.snapshot).transpose()? {
                    Ok((_, row)) if row.deleted => {}
                    Ok((id, _)) => return Some(Ok(RowId::Text(id.into()))),
                    Err(error) => return Some(Err(error)),
                }
            },
        }
    }

    fn row(&self, id: RowId) -> Result<AllDocsRow, DocdbError> {
        let (rev, stored) = match &id {
            RowId::Entry(item) => self.winner(item)?,
            RowId::Text(id) => {
                let document = self.snapshot.document(id)?;
                let winner = document.as_ref().and_then(|document| document.winner());
                let (rev, stored) =
                    winner.ok_or_else(|| self.snapshot.damaged("access", id.as_bytes()))?;
                (rev.clone(), stored.clone())
            }
        };
        Ok(AllDocsRow { id, rev, stored })
    }
}

impl Iterator for AllDocs {
    type Item = Result<AllDocsRow, DocdbError>;

    fn next(&mut self) -> Option<Self::Item> {
        let id = self.next_live()?;
        Some(id.and_then(|id| self.row(id)))
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
