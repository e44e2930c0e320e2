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

/// Where an attachment stands in the old file, and where in the new one.
#[derive(Clone)]
struct Copied {
    old: Pieces,
    new: Pieces,
}

/// Attachments that are in the new file already.
#[derive(Default)]
pub(super) struct Known {
    newer: HashMap<Mark, Copied>,
    older: HashMap<Mark, Copied>,
    /// Of the newer ones.
    size: usize,
}

impl Known {
    fn get(&mut self, mark: Mark) -> Option<Copied> {
        if let Some(copied) = self.newer.get(&mark) {
            return Some(copied.clone());
        }
        let copied = self.older.get(&mark).cloned()?;
        self.put(mark, &copied);
        Some(copied)
    }

    fn put(&mut self, mark: Mark, copied: &Copied) {
        let size = 1 + copied.old.len();
        self.size += size;
        if self.size > REMEMBERED / 2 {
            self.older = std::mem::take(&mut self.newer);
            self.size = size;
        }
        self.newer.insert(mark, copied.clone());
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
        if let Some(copied) = self.known.get(place)
            && copied.old[..] == record.chunks[..]
        {
            return Ok(copied.new);
        }
        let content = Mark::Content(record.md5, record.stored_length);
        let old = Pieces::from(&record.chunks[..]);
        // Whoever can make two texts with one MD5 gets both of them back.
        let new = match self.known.get(content) {
            Some(copied) if is_same_data(from, txn, &old, &copied.new)? => copied.new,
            _ => {
                let mut pieces = Vec::with_capacity(old.len());
                for piece in &record.chunks {
                    pieces.push(txn.append_chunk(&from.tree().stored_chunk(*piece)?)?);
                }
                Pieces::from(pieces)
            }
        };
        let copied = Copied { old, new };
        self.known.put(content, &copied);
        self.known.put(place, &copied);
        Ok(copied.new)
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
