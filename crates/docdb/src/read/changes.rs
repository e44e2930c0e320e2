//! Documents by their last update.

use super::access::MergedRows;
use super::{Document, IdRange, Snapshot};
use crate::DocdbError;
use crate::record::{BY_ID, BY_SEQ, Change};
use std::ops::Bound;
use varve_btree::{Direction, Range, TreeEntry};

/// Documents whose records are in memory at once where many are looked up.
const DOCUMENTS_AT_ONCE: usize = 1_000;

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

impl Snapshot {
    /// The changes at these sequences, ascending, for a reader who sees all documents; `None` for sequences after which
    /// the document was updated again or purged.
    ///
    /// # Errors
    /// Damage.
    pub fn changes_at(&self, seqs: &[u64]) -> Result<Vec<Option<Change>>, DocdbError> {
        let keys: Vec<[u8; 8]> = seqs.iter().map(|seq| seq.to_be_bytes()).collect();
        let found = self.tree.get_many(BY_SEQ, &keys)?;
        let decode = |item: &TreeEntry| {
            let change = Change::decode(item.key(), item.value());
            change.map_err(|_| self.damaged("change", item.key()))
        };
        let changes = found.iter().map(|item| item.as_ref().map(decode));
        changes.map(Option::transpose).collect()
    }

    /// The last updates of the documents that are there, deleted or not, in ascending order.
    ///
    /// # Errors
    /// Damage.
    pub fn last_updates<S: AsRef<str>>(&self, ids: &[S]) -> Result<Vec<u64>, DocdbError> {
        let mut seqs = Vec::new();
        for some in ids.chunks(DOCUMENTS_AT_ONCE) {
            let found = self.documents(some)?;
            seqs.extend(found.iter().flatten().map(Document::seq));
        }
        seqs.sort_unstable();
        seqs.dedup();
        Ok(seqs)
    }

    /// The last updates of all documents within a run of ids, deleted or not, in ascending order; for a reader who sees
    /// all documents.
    ///
    /// # Errors
    /// Damage.
    pub fn last_updates_within(&self, ids: IdRange<'_>) -> Result<Vec<u64>, DocdbError> {
        let mut seqs = Vec::new();
        for item in self.tree.range(BY_ID, ids.bounds(), Direction::Forward)? {
            let item = item?;
            seqs.push(self.record(item.key(), item.value())?.seq);
        }
        seqs.sort_unstable();
        Ok(seqs)
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
