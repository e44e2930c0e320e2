//! A memtable over a snapshot: a commit with changes that are in memory only.
//!
//! A change of a few items in each of many leaves costs as much as writing all of these leaves.
//! Where it need not be in the file at once, the memtable holds it: sorted changes, whose ranks
//! among the commit's items are looked up when a reader needs them. Ranks in an overlay are those
//! that a commit of the changes would give.

mod changes;
mod range;
mod segment;

use crate::Reducer;
use crate::entry::{Bounds, Direction, TreeEntry};
use crate::snapshot::{Snapshot, check_ascending};
use crate::transaction::Transaction;
use crate::{TreeError, read};
use changes::Changes;
pub use range::OverlayRange;
use segment::Segment;
use std::ops::{Bound, Range};
use std::sync::Arc;
use varve_base::ReadMode;

/// A change of one item.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The item's key.
    pub key: &'a [u8],
    /// Its new value; none if it is removed.
    pub value: Option<&'a [u8]>,
    /// Whether the overlay has an item with that key before this change. Counts of items depend on
    /// it, so the caller has to have looked the key up.
    pub was_there: bool,
}

/// A memtable over a snapshot. Clones are cheap and share everything.
#[derive(Clone, Debug)]
pub struct Overlay {
    base: Snapshot,
    /// Of each tree.
    changes: Arc<[Changes]>,
    user_header: Arc<[u8]>,
}

impl From<Snapshot> for Overlay {
    fn from(base: Snapshot) -> Self {
        let trees = base.trees();
        Overlay {
            changes: std::iter::repeat_with(Changes::default)
                .take(trees)
                .collect(),
            user_header: base.user_header().into(),
            base,
        }
    }
}

impl Overlay {
    /// The same with a commit that is read so from now on; see [`Snapshot::with_mode`].
    #[must_use]
    pub fn with_mode(self, mode: ReadMode) -> Overlay {
        Overlay {
            base: self.base.with_mode(mode),
            ..self
        }
    }

    /// The commit below the memtable.
    pub fn base(&self) -> &Snapshot {
        &self.base
    }

    /// Reducer of an existing tree.
    pub fn reducer(&self, tree: usize) -> &dyn Reducer {
        self.base.reducer(tree)
    }

    /// [`Snapshot::user_header`] of a commit of the changes.
    pub fn user_header(&self) -> &[u8] {
        &self.user_header
    }

    /// Number of keys in the memtable.
    pub fn changed_items(&self) -> usize {
        self.changes.iter().map(Changes::len).sum()
    }

    /// Bytes of memory that the changes take.
    pub fn changed_bytes(&self) -> usize {
        self.changes.iter().map(Changes::memory).sum()
    }

    /// The same with further changes: for each tree, in ascending order of their keys.
    ///
    /// # Errors
    /// [`TreeError::Unsorted`], [`TreeError::NoTree`].
    pub fn with_changes(
        &self,
        changes: &[Vec<Change<'_>>],
        user_header: &[u8],
    ) -> Result<Overlay, TreeError> {
        let mut trees = Vec::with_capacity(self.changes.len());
        for (tree, of_tree) in changes.iter().enumerate() {
            let keys: Vec<&[u8]> = of_tree.iter().map(|change| change.key).collect();
            check_ascending(tree, &keys)?;
            trees.push(self.of(tree)?.and(of_tree));
        }
        trees.extend(self.changes.iter().skip(trees.len()).cloned());
        Ok(Overlay {
            base: self.base.clone(),
            changes: trees.into(),
            user_header: user_header.into(),
        })
    }

    /// Makes the changes in a transaction on a commit with the items of [`Overlay::base`].
    ///
    /// # Errors
    /// See [`Transaction::update`].
    pub fn write_to(&self, txn: &mut Transaction<'_>) -> Result<(), TreeError> {
        for (tree, changes) in self.changes.iter().enumerate() {
            txn.update(tree, &changes.list())?;
        }
        txn.set_user_header(&self.user_header);
        Ok(())
    }

    fn of(&self, tree: usize) -> Result<&Changes, TreeError> {
        self.base.root(tree)?;
        Ok(&self.changes[tree])
    }

    /// See [`Snapshot::len`].
    ///
    /// # Errors
    /// As there; so for all calls below.
    pub fn len(&self, tree: usize) -> Result<u64, TreeError> {
        let base = self.base.len(tree)?;
        Ok(segment::moved(base, self.of(tree)?.added()))
    }

    /// See [`Snapshot::get_many`].
    ///
    /// # Errors
    /// As there.
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        tree: usize,
        keys: &[K],
    ) -> Result<Vec<Option<TreeEntry>>, TreeError> {
        let mut found = self.base.get_many(tree, keys)?;
        let changes = self.of(tree)?;
        if !changes.is_empty() {
            for (key, item) in keys.iter().zip(&mut found) {
                if let Ok(index) = changes.search(key.as_ref()) {
                    *item = changes.item(index);
                }
            }
        }
        Ok(found)
    }

    /// See [`Snapshot::rank`].
    ///
    /// # Errors
    /// As there.
    pub fn rank(&self, tree: usize, key: &[u8]) -> Result<u64, TreeError> {
        self.rank_of(tree, key, false)
    }

    /// How many items stand before `key`, with that of `key` itself if `inclusive`.
    fn rank_of(&self, tree: usize, key: &[u8], inclusive: bool) -> Result<u64, TreeError> {
        let base = read::rank(&self.base, self.base.root(tree)?, key, inclusive)?;
        let changes = self.of(tree)?;
        let upto = match changes.search(key) {
            Ok(index) => index + usize::from(inclusive),
            Err(index) => index,
        };
        Ok(segment::moved(base, changes.added_before(upto)))
    }

    /// See [`Snapshot::ranks`].
    ///
    /// # Errors
    /// As there.
    pub fn ranks(&self, tree: usize, (start, end): Bounds<'_>) -> Result<Range<u64>, TreeError> {
        let low = match start {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.rank_of(tree, key, false)?,
            Bound::Excluded(key) => self.rank_of(tree, key, true)?,
        };
        let high = match end {
            Bound::Unbounded => self.len(tree)?,
            Bound::Included(key) => self.rank_of(tree, key, true)?,
            Bound::Excluded(key) => self.rank_of(tree, key, false)?,
        };
        Ok(low..high.max(low))
    }

    /// See [`Snapshot::range_by_rank`].
    ///
    /// # Errors
    /// As there.
    pub fn range_by_rank(
        &self,
        tree: usize,
        ranks: Range<u64>,
        direction: Direction,
    ) -> Result<OverlayRange, TreeError> {
        let high = ranks.end.min(self.len(tree)?);
        let ranks = ranks.start.min(high)..high;
        OverlayRange::new(self.clone(), tree, ranks, direction)
    }

    /// See [`Snapshot::reduce_by_rank`]. Between any two changes there is a reduction of its own.
    ///
    /// # Errors
    /// As there.
    pub fn reduce_by_rank(&self, tree: usize, ranks: Range<u64>) -> Result<Vec<u8>, TreeError> {
        let changes = self.of(tree)?;
        if changes.is_empty() {
            return self.base.reduce_by_rank(tree, ranks);
        }
        let reducer = self.base.reducer(tree);
        let mut at = ranks.start;
        let end = ranks.end.min(self.len(tree)?);
        let mut parts = Vec::new();
        while at < end {
            match self.segment(tree, at)? {
                Segment::Base { ranks, before } => {
                    let upto = ranks.end.min(end);
                    let run = segment::moved(at, -before)..segment::moved(upto, -before);
                    parts.push(self.base.reduce_by_rank(tree, run)?);
                    at = upto;
                }
                Segment::Changed(index) => {
                    let mut items = std::iter::once(changes.entry(index));
                    parts.push(reducer.leaf(&mut items));
                    at += 1;
                }
            }
        }
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        Ok(reducer.combine(&parts))
    }
}
