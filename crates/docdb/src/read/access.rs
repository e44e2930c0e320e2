//! A database with access as a viewer sees it: rows of the viewer's names, put together in order.

use super::{Document, Snapshot};
use crate::record::{
    ACCESS, AccessLeaf, AccessRow, decode_leaves, id_prefix, leaves_key, seq_prefix,
};
use crate::{DocdbError, Rev, Viewer};
use std::collections::HashSet;
use std::ops::Bound;
use varve_btree::{Direction, Range, TreeEntry};

/// A key without its name, and its values under several names.
type KeyAndValues = (Vec<u8>, Vec<TreeEntry>);

/// So many changes are counted one by one, where a document may have more than one row.
const COUNTED: u64 = 10_000;

/// A leaf of a document in a database with access, and who may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafReaders {
    /// Its revision.
    pub rev: Rev,
    /// Whether it is deleted.
    pub deleted: bool,
    /// The update that brought it.
    pub seq: u64,
    /// Names of users and roles, sorted, each once; without any, it is for admins.
    pub names: Vec<String>,
}

/// Documents of a viewer, counted at the cost of their rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct VisibleTotals {
    pub(super) live: u64,
    pub(super) deleted: u64,
    pub(super) external: u64,
}

/// The rows of several names within the same bounds, by what stands behind the name. A row that several names have
/// comes once, with the values of all.
#[derive(Debug)]
pub(super) struct MergedRows {
    names: Vec<NameRows>,
    direction: Direction,
}

#[derive(Debug)]
struct NameRows {
    range: Range,
    prefix: usize,
    next: Option<TreeEntry>,
}

impl NameRows {
    fn key(&self) -> Option<&[u8]> {
        self.next.as_ref().map(|item| &item.key()[self.prefix..])
    }

    fn advance(&mut self) -> Result<Option<TreeEntry>, DocdbError> {
        let next = self.range.next().transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// Bounds behind a prefix, which is empty or not all ones.
pub(super) fn prefix_bounds(
    prefix: &[u8],
    (low, high): varve_btree::Bounds<'_>,
) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let behind = |key: &[u8]| [prefix, key].concat();
    let low = match low {
        Bound::Unbounded => Bound::Included(prefix.to_vec()),
        bound => bound.map(behind),
    };
    let high = match high {
        Bound::Unbounded => first_behind(prefix),
        bound => bound.map(behind),
    };
    (low, high)
}

/// The bound above all keys with a prefix.
fn first_behind(prefix: &[u8]) -> Bound<Vec<u8>> {
    let mut after = prefix.to_vec();
    while after.last() == Some(&u8::MAX) {
        after.pop();
    }
    match after.last_mut() {
        Some(last) => {
            *last += 1;
            Bound::Excluded(after)
        }
        None => Bound::Unbounded,
    }
}

impl MergedRows {
    fn new(
        snapshot: &Snapshot,
        prefixes: impl Iterator<Item = Vec<u8>>,
        within: varve_btree::Bounds<'_>,
        direction: Direction,
    ) -> Result<Self, DocdbError> {
        let mut names = Vec::new();
        for prefix in prefixes {
            let (low, high) = prefix_bounds(&prefix, within);
            let bounds = (
                low.as_ref().map(Vec::as_slice),
                high.as_ref().map(Vec::as_slice),
            );
            let mut range = snapshot.tree.range(ACCESS, bounds, direction)?;
            if let Some(first) = range.next().transpose()? {
                names.push(NameRows {
                    range,
                    prefix: prefix.len(),
                    next: Some(first),
                });
            }
        }
        Ok(MergedRows { names, direction })
    }

    /// Whether all rows are of one name.
    pub(super) fn has_one_name(&self) -> bool {
        self.names.len() <= 1
    }

    /// Key and values of the next row.
    pub(super) fn next(&mut self) -> Result<Option<KeyAndValues>, DocdbError> {
        let keys = self.names.iter().filter_map(NameRows::key);
        let first = match self.direction {
            Direction::Forward => keys.min(),
            Direction::Backward => keys.max(),
        };
        let Some(first) = first.map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        let mut items = Vec::new();
        for name in &mut self.names {
            if name.key() == Some(&first) {
                items.extend(name.advance()?);
            }
        }
        Ok(Some((first, items)))
    }

    /// The next row by id: what it says of a document.
    pub(super) fn next_id(
        &mut self,
        of: &Snapshot,
    ) -> Result<Option<(String, AccessRow)>, DocdbError> {
        let Some((id, items)) = self.next()? else {
            return Ok(None);
        };
        let damaged = || of.damaged("access", &id);
        let mut whole = AccessRow {
            deleted: true,
            external: 0,
        };
        for item in items {
            let row = AccessRow::decode(item.value()).map_err(|_| damaged())?;
            whole.deleted &= row.deleted;
            whole.external = whole.external.max(row.external);
        }
        let id = String::from_utf8(id.clone()).map_err(|_| damaged())?;
        Ok(Some((id, whole)))
    }
}

impl Snapshot {
    /// Whether documents name their readers.
    pub fn has_access(&self) -> bool {
        self.header().has_access
    }

    /// The same as a viewer sees it, in a database with access: documents, their leaves, changes, counts and local
    /// documents. Only leaves that name the viewer are there, and of other revisions only the ids of their ancestors.
    #[must_use]
    pub fn as_seen_by(&self, viewer: &Viewer) -> Snapshot {
        let viewer = match self.has_access() {
            true => viewer.clone(),
            false => Viewer::ALL,
        };
        Snapshot {
            viewer,
            ..self.clone()
        }
    }

    /// Whether documents are left out because the viewer may not see them.
    pub fn is_restricted(&self) -> bool {
        !self.viewer.sees_all()
    }

    /// Whose documents are read.
    pub fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// All that this commit has, whoever sees it.
    #[must_use]
    pub fn unrestricted(&self) -> Snapshot {
        self.as_seen_by(&Viewer::ALL)
    }

    /// The leaves of a document that the viewer sees.
    fn visible_leaves(&self, id: &str) -> Result<Vec<AccessLeaf>, DocdbError> {
        let item = self.tree.get(ACCESS, &leaves_key(id.as_bytes()));
        let Some(item) = item.map_err(DocdbError::of_document(id))? else {
            return Ok(Vec::new());
        };
        let mut leaves =
            decode_leaves(item.value()).map_err(|_| self.damaged("access", id.as_bytes()))?;
        leaves.retain(|leaf| self.viewer.sees(&leaf.names));
        Ok(leaves)
    }

    /// The leaves of a document that the viewer sees, each with those who may see it; none in a database without
    /// access.
    ///
    /// # Errors
    /// Damage.
    pub fn readers(&self, id: &str) -> Result<Vec<LeafReaders>, DocdbError> {
        if !self.has_access() {
            return Ok(Vec::new());
        }
        let leaves = self.visible_leaves(id)?.into_iter();
        let leaves = leaves.map(|leaf| LeafReaders {
            rev: leaf.rev,
            deleted: leaf.deleted,
            seq: leaf.seq,
            names: leaf.names,
        });
        Ok(leaves.collect())
    }

    /// The document as the viewer sees it; `None` if no leaf is visible.
    pub(super) fn visible(&self, mut document: Document) -> Result<Option<Document>, DocdbError> {
        if !self.is_restricted() {
            return Ok(Some(document));
        }
        let leaves = self.visible_leaves(&document.id)?;
        let record = &mut document.record;
        record.tree = record
            .tree
            .with_leaves(|rev| leaves.iter().any(|leaf| leaf.rev == *rev));
        let seqs = record.tree.leaves().filter_map(|leaf| leaf.stored.as_ref());
        record.seq = seqs.map(|stored| stored.seq).max().unwrap_or_default();
        Ok((!record.tree.is_empty()).then_some(document))
    }

    pub(super) fn visible_ids(
        &self,
        names: &[String],
        bounds: varve_btree::Bounds<'_>,
        direction: Direction,
    ) -> Result<MergedRows, DocdbError> {
        let prefixes = names.iter().map(|name| id_prefix(name));
        MergedRows::new(self, prefixes, bounds, direction)
    }

    /// Rows by sequence: sequence and id.
    pub(super) fn visible_changes(
        &self,
        names: &[String],
        since: u64,
        direction: Direction,
    ) -> Result<MergedRows, DocdbError> {
        let Some(first) = since.checked_add(1).map(u64::to_be_bytes) else {
            return MergedRows::new(self, std::iter::empty(), super::EVERYTHING, direction);
        };
        let prefixes = names.iter().map(|name| seq_prefix(name));
        let bounds = (Bound::Included(&first[..]), Bound::Unbounded);
        MergedRows::new(self, prefixes, bounds, direction)
    }

    pub(super) fn visible_totals(
        &self,
        names: &[String],
        bounds: varve_btree::Bounds<'_>,
    ) -> Result<VisibleTotals, DocdbError> {
        let mut rows = self.visible_ids(names, bounds, Direction::Forward)?;
        let mut totals = VisibleTotals::default();
        while let Some((_, row)) = rows.next_id(self)? {
            totals.live += u64::from(!row.deleted);
            totals.deleted += u64::from(row.deleted);
            totals.external = totals.external.saturating_add(row.external);
        }
        Ok(totals)
    }

    /// How many documents changed, or more where that are very many: a document then counts once for each name that
    /// shows it.
    pub(super) fn count_visible_changes(
        &self,
        names: &[String],
        since: u64,
    ) -> Result<u64, DocdbError> {
        let rows = self.visible_changes(names, since, Direction::Forward)?;
        let left = rows
            .names
            .iter()
            .map(|name| name.range.size_hint().0 as u64 + 1);
        let (count, ranges) = (left.sum(), rows.names.len());
        match ranges > 1 && count <= COUNTED {
            true => self.count_ids(rows),
            false => Ok(count),
        }
    }

    fn count_ids(&self, mut rows: MergedRows) -> Result<u64, DocdbError> {
        let mut ids = HashSet::new();
        while let Some((mut key, _)) = rows.next()? {
            ids.insert(key.split_off(size_of::<u64>().min(key.len())));
        }
        Ok(ids.len() as u64)
    }

    /// The last update that the viewer sees; 0 if there is none.
    ///
    /// # Errors
    /// Damage.
    pub fn last_seq(&self) -> Result<u64, DocdbError> {
        self.last_seq_until(u64::MAX)
    }

    /// The last update that the viewer sees among those up to `seq`; 0 if there is none.
    ///
    /// # Errors
    /// Damage.
    pub fn last_seq_until(&self, seq: u64) -> Result<u64, DocdbError> {
        let Some(names) = self.viewer.names() else {
            return Ok(self.update_seq().min(seq));
        };
        let end = seq.checked_add(1).map(u64::to_be_bytes);
        let end = end
            .as_ref()
            .map_or(Bound::Unbounded, |end| Bound::Excluded(&end[..]));
        let prefixes = names.iter().map(|name| seq_prefix(name));
        let within = (Bound::Unbounded, end);
        let mut rows = MergedRows::new(self, prefixes, within, Direction::Backward)?;
        let Some((key, _)) = rows.next()? else {
            return Ok(0);
        };
        Ok(self.split_change(&key)?.0)
    }

    /// Sequence and id of a row by sequence.
    pub(super) fn split_change<'k>(&self, key: &'k [u8]) -> Result<(u64, &'k str), DocdbError> {
        let damaged = || self.damaged("access", key);
        let (seq, id) = key.split_first_chunk().ok_or_else(damaged)?;
        let id = std::str::from_utf8(id).map_err(|_| damaged())?;
        Ok((u64::from_be_bytes(*seq), id))
    }
}
