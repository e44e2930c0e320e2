//! Copying attachments, equal ones once.

use super::Copier;
use crate::record::{Attachment, decode_attachments, encode_attachments};
use crate::{DocdbError, Snapshot};
use std::collections::HashMap;
use std::sync::Arc;
use varve_btree::{ChunkRef, EncodedChunk, Transaction};

/// What is remembered of attachments that were copied, in entries and pieces. Past it the ones
/// that were not met for longest are forgotten, and stored once more if they come again.
const REMEMBERED: usize = 1 << 17;

/// By what an attachment is recognised.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Mark {
    /// Where its first piece stands in the old file: revisions of a document share their pieces.
    Place(u64),
    /// What it holds, by MD5 and length of the stored form.
    Content([u8; 16], u64),
}

type Pieces = Arc<[ChunkRef]>;

/// Attachments that are in the new file already.
#[derive(Default)]
pub(super) struct Known {
    newer: HashMap<Mark, Pieces>,
    older: HashMap<Mark, Pieces>,
    /// Of the newer ones.
    size: usize,
}

impl Known {
    fn get(&mut self, mark: Mark) -> Option<Pieces> {
        if let Some(pieces) = self.newer.get(&mark) {
            return Some(Arc::clone(pieces));
        }
        let pieces = self.older.get(&mark).cloned()?;
        self.put(mark, &pieces);
        Some(pieces)
    }

    fn put(&mut self, mark: Mark, pieces: &Pieces) {
        self.size += 1 + pieces.len();
        if self.size > REMEMBERED / 2 {
            self.older = std::mem::take(&mut self.newer);
            self.size = 1 + pieces.len();
        }
        self.newer.insert(mark, Arc::clone(pieces));
    }
}

impl Copier {
    /// Copies a list of attachments with their data; returns where it stands then, and how many
    /// bytes in the file belong to it.
    pub(super) fn attachments(
        &mut self,
        from: &Snapshot,
        txn: &mut Transaction<'_>,
        list: ChunkRef,
    ) -> Result<(ChunkRef, u64), DocdbError> {
        self.text.clear();
        from.tree().read_chunk(list, &mut self.text)?;
        let damaged = |_| from.damaged("list of attachments", b"this document");
        let mut records = decode_attachments(&self.text).map_err(damaged)?;
        let mut active = 0_u64;
        for record in &mut records {
            record.chunks = self.data(from, txn, record)?.to_vec();
            active = active.saturating_add(record.active());
        }
        let mut bytes = Vec::new();
        encode_attachments(&records, &mut bytes);
        let at = txn.append_chunk(&EncodedChunk::encode(&mut self.plain, &bytes)?)?;
        Ok((at, active.saturating_add(u64::from(at.len))))
    }

    /// Where the pieces of an attachment stand in the new file.
    fn data(
        &mut self,
        from: &Snapshot,
        txn: &mut Transaction<'_>,
        record: &Attachment,
    ) -> Result<Pieces, DocdbError> {
        let Some(first) = record.chunks.first() else {
            return Ok(Pieces::from([]));
        };
        let place = Mark::Place(first.offset);
        if let Some(pieces) = self.known.get(place)
            && pieces.len() == record.chunks.len()
        {
            return Ok(pieces);
        }
        let content = Mark::Content(record.md5, record.stored_length);
        let mut pieces = self.known.get(content);
        if let Some(found) = &pieces
            && !is_same_data(from, txn, &record.chunks, found)?
        {
            // Whoever can make two texts with one MD5 gets both of them back.
            pieces = None;
        }
        let pieces = match pieces {
            Some(pieces) => pieces,
            None => {
                let mut copied = Vec::with_capacity(record.chunks.len());
                for piece in &record.chunks {
                    copied.push(txn.append_chunk(&from.tree().stored_chunk(*piece)?)?);
                }
                let copied = Pieces::from(copied);
                self.known.put(content, &copied);
                copied
            }
        };
        self.known.put(place, &pieces);
        Ok(pieces)
    }
}

/// Whether pieces of the old file hold what pieces of the new one do.
fn is_same_data(
    from: &Snapshot,
    txn: &Transaction<'_>,
    old: &[ChunkRef],
    new: &[ChunkRef],
) -> Result<bool, DocdbError> {
    let lens = |pieces: &[ChunkRef]| pieces.iter().map(|piece| piece.len).collect::<Vec<_>>();
    if lens(old) != lens(new) {
        return Ok(false);
    }
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for (old, new) in old.iter().zip(new) {
        one.clear();
        other.clear();
        from.tree().read_chunk(*old, &mut one)?;
        txn.read_chunk(*new, &mut other)?;
        if one != other {
            return Ok(false);
        }
    }
    Ok(true)
}
