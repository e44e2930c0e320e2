//! Content of documents where holes are to be: bodies, attachments and the lists of them.

use super::relocation::Relocation;
use super::usage::{Content, overlaps_hole};
use crate::record::{BY_ID, BY_SEQ, Change, DocumentRecord, append_plain, encode_attachments};
use crate::revtree::Stored;
use crate::{DocdbError, Snapshot};
use std::collections::HashMap;
use varve_btree::{ChunkRef, Transaction, TreeEntry};

/// Pieces of attachments whose new place is remembered. Past that, those of long ago are forgotten,
/// and stored once more if another document has them, too.
const REMEMBERED: usize = 1 << 17;

/// Where pieces of attachments have gone, which several documents may have.
#[derive(Default)]
pub(super) struct Pieces {
    newer: HashMap<u64, ChunkRef>,
    older: HashMap<u64, ChunkRef>,
}

impl Pieces {
    fn get(&self, old: ChunkRef) -> Option<ChunkRef> {
        let newer = self.newer.get(&old.offset);
        newer.or_else(|| self.older.get(&old.offset)).copied()
    }

    fn put(&mut self, old: ChunkRef, new: ChunkRef) {
        if self.newer.len() >= REMEMBERED / 2 {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(old.offset, new);
    }
}

impl Relocation<'_> {
    /// Moves the present content of documents out of the holes. Returns whether any had something there.
    pub(super) fn documents(
        &mut self,
        base: &Snapshot,
        txn: &mut Transaction<'_>,
        ids: &[Vec<u8>],
    ) -> Result<bool, DocdbError> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        let (mut by_id, mut by_seq) = (Vec::new(), Vec::new());
        for item in txn.get_many(BY_ID, &ids)?.into_iter().flatten() {
            let Some(record) = self.document(base, txn, &item)? else {
                continue;
            };
            let id = std::str::from_utf8(item.key()).map_err(|_| base.damaged("id", item.key()))?;
            if let Some(change) = Change::of(id, record.seq, &record.tree) {
                let mut value = Vec::new();
                change.encode(&mut value);
                by_seq.push((record.seq.to_be_bytes(), Some(value)));
            }
            by_id.push((item.key().to_vec(), Some(record.write(txn)?)));
        }
        by_seq.sort_unstable_by_key(|(seq, _)| *seq);
        txn.update(BY_ID, &by_id)?;
        txn.update(BY_SEQ, &by_seq)?;
        Ok(!by_id.is_empty())
    }

    /// A document whose leaves stand elsewhere; `None` if it can stay as it is.
    fn document(
        &mut self,
        base: &Snapshot,
        txn: &mut Transaction<'_>,
        item: &TreeEntry,
    ) -> Result<Option<DocumentRecord>, DocdbError> {
        let mut record = base.record(item.key(), item.value())?;
        if !overlaps_hole(base, &record, self.regions)? {
            return Ok(None);
        }
        let moved = record.move_leaves(|_, stored| self.content(base, txn, stored));
        match moved {
            Ok(()) => Ok(Some(record)),
            // An unreadable record stays where it is, so that a repair can find it.
            Err(error) if error.is_damage() => {
                self.stay(base, &base.record(item.key(), item.value())?)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes no holes where a document has something.
    fn stay(&mut self, of: &Snapshot, record: &DocumentRecord) -> Result<(), DocdbError> {
        record.part_places().for_each(|at| self.regions.exclude(at));
        for node in record.tree.nodes() {
            let Some(stored) = &node.stored else { continue };
            let content = Content::of(of, stored)?;
            content.places(|at| self.regions.exclude(at));
        }
        Ok(())
    }

    /// Where a revision's content stands afterwards.
    fn content(
        &mut self,
        base: &Snapshot,
        txn: &mut Transaction<'_>,
        stored: &Stored,
    ) -> Result<Stored, DocdbError> {
        let mut content = Content::of(base, stored)?;
        let has_hole_at = |at: &ChunkRef| self.regions.has_hole_at(*at);
        let is_body_moved = has_hole_at(&content.body) || content.bases.iter().any(has_hole_at);
        if is_body_moved {
            let chunk = self.recoder.one(base, content.body)?;
            content.body = txn.append_chunk(&chunk)?;
            // A delta becomes a whole text.
            content.bases.clear();
        }
        let mut is_list_moved = content.list.is_some_and(|at| self.regions.has_hole_at(at));
        for piece in content
            .attachments
            .iter_mut()
            .flat_map(|one| &mut one.chunks)
        {
            if self.regions.has_hole_at(*piece) {
                *piece = self.piece(base, txn, *piece)?;
                is_list_moved = true;
            }
        }
        if is_list_moved {
            let mut text = Vec::new();
            encode_attachments(&content.attachments, &mut text);
            content.list = Some(append_plain(txn, &text)?);
        }
        Ok(Stored {
            body: content.body,
            attachments: content.list,
            active: content.active(),
            ..stored.clone()
        })
    }

    fn piece(
        &mut self,
        base: &Snapshot,
        txn: &mut Transaction<'_>,
        at: ChunkRef,
    ) -> Result<ChunkRef, DocdbError> {
        if let Some(moved) = self.pieces.get(at) {
            return Ok(moved);
        }
        let moved = txn.append_chunk(&base.tree().stored_chunk(at)?)?;
        self.pieces.put(at, moved);
        Ok(moved)
    }
}
