//! Copying attachments, equal ones once.

use super::Copier;
use super::unreadable::{ReadableSource, readable};
use crate::record::{Attachment, decode_attachments, encode_attachments};
use crate::{DocdbError, Snapshot};
use std::collections::HashMap;
use std::sync::Arc;
use varve_btree::{ChunkRef, EncodedChunk, Transaction};

/// Size of the cache of copied attachments, in entries and pieces. Past it the least recently met ones are forgotten,
/// and stored once more if they come again.
const REMEMBERED: usize = 1 << 17;

/// Key by which an attachment is recognised.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum AttachmentKey {
    /// Where its first piece stands in the old file: revisions of a document share their pieces.
    Offset(u64),
    /// MD5 and length of the stored form.
    Content([u8; 16], u64),
}

type Pieces = Arc<[ChunkRef]>;

/// Where an attachment stands in the old file, and where in the new one.
#[derive(Clone)]
struct Copied {
    old: Pieces,
    new: Pieces,
    /// Whether all of it could be read.
    is_whole: bool,
}

/// Attachments that are in the new file already.
#[derive(Default)]
pub(super) struct CopiedAttachments {
    newer: HashMap<AttachmentKey, Copied>,
    older: HashMap<AttachmentKey, Copied>,
    /// Of the newer ones.
    size: usize,
}

/// A list of attachments in the new file.
pub(super) struct CopiedList {
    pub(super) place: ChunkRef,
    /// Bytes in the file that belong to it and its data.
    pub(super) active: u64,
    /// Bytes of the data as they are stored.
    pub(super) stored: u64,
    /// Whether some of the data is stored as gzip.
    pub(super) is_coded: bool,
}

impl CopiedAttachments {
    fn get(&mut self, key: AttachmentKey) -> Option<Copied> {
        if let Some(copied) = self.newer.get(&key) {
            return Some(copied.clone());
        }
        let copied = self.older.get(&key).cloned()?;
        self.put(key, &copied);
        Some(copied)
    }

    fn put(&mut self, key: AttachmentKey, copied: &Copied) {
        let size = 1 + copied.old.len();
        self.size += size;
        if self.size > REMEMBERED / 2 {
            self.older = std::mem::take(&mut self.newer);
            self.size = size;
        }
        self.newer.insert(key, copied.clone());
    }
}

impl Copier {
    /// Copies a list of attachments with their data. Damage to the list is an error.
    pub(super) fn attachments(
        &mut self,
        source: ReadableSource<'_>,
        txn: &mut Transaction<'_>,
        list: ChunkRef,
    ) -> Result<CopiedList, DocdbError> {
        // Where the data stands is said nowhere else, so it would go with the old file.
        let mut records = self.list(source.from, list)?;
        let mut active = 0_u64;
        for record in &mut records {
            let copied = self.data(source, txn, record)?;
            if !copied.is_whole {
                self.unreadable.add(source.id);
            }
            record.chunks = copied.new.to_vec();
            active = active.saturating_add(record.active());
        }
        let mut bytes = Vec::new();
        encode_attachments(&records, &mut bytes);
        let at = txn.append_chunk(&EncodedChunk::encode(&mut self.plain, &bytes)?)?;
        Ok(CopiedList {
            place: at,
            active: active.saturating_add(u64::from(at.len)),
            stored: records.iter().map(|record| record.stored_length).sum(),
            is_coded: records
                .iter()
                .any(|record| record.stored_length != record.length),
        })
    }

    fn list(&mut self, from: &Snapshot, at: ChunkRef) -> Result<Vec<Attachment>, DocdbError> {
        self.text.clear();
        from.tree().read_chunk(at, &mut self.text)?;
        let damaged = |_| from.damaged("list of attachments", b"this document");
        decode_attachments(&self.text).map_err(damaged)
    }

    /// Where the pieces of an attachment stand in the new file.
    fn data(
        &mut self,
        source: ReadableSource<'_>,
        txn: &mut Transaction<'_>,
        record: &Attachment,
    ) -> Result<Copied, DocdbError> {
        let old = Pieces::from(&record.chunks[..]);
        let Some(first) = old.first() else {
            let new = old.clone();
            let is_whole = true;
            return Ok(Copied { old, new, is_whole });
        };
        let place = AttachmentKey::Offset(first.offset);
        if let Some(copied) = self.known.get(place)
            && copied.old == old
        {
            return Ok(copied);
        }
        let content = AttachmentKey::Content(record.md5, record.stored_length);
        let copied = match self.known.get(content) {
            // Two texts with one MD5 both come back.
            Some(known) if is_same_data(source.from, txn, &old, &known.new)? => {
                Copied { old, ..known }
            }
            _ => self.pieces(source, txn, old)?,
        };
        if copied.is_whole {
            self.known.put(content, &copied);
        }
        self.known.put(place, &copied);
        Ok(copied)
    }

    /// Copies pieces that are not known to be in the new file.
    fn pieces(
        &mut self,
        source: ReadableSource<'_>,
        txn: &mut Transaction<'_>,
        old: Pieces,
    ) -> Result<Copied, DocdbError> {
        let (mut new, mut is_whole) = (Vec::with_capacity(old.len()), true);
        for &piece in old.iter() {
            let chunk = source.from.tree().stored_chunk(piece);
            let place = match readable(chunk.map_err(DocdbError::from))? {
                Some(chunk) => txn.append_chunk(&chunk)?,
                None => {
                    is_whole = false;
                    self.as_it_stands(source, txn, piece)?.0
                }
            };
            new.push(place);
        }
        let new = Pieces::from(new);
        Ok(Copied { old, new, is_whole })
    }
}

/// Whether pieces of the old file and pieces of the new one have the same content. Unreadable pieces are not known to
/// be the same.
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
        let read = from.tree().read_chunk(*old, &mut one);
        if readable(read.map_err(DocdbError::from))?.is_none() {
            return Ok(false);
        }
        txn.read_chunk(*new, &mut other)?;
        if one != other {
            return Ok(false);
        }
    }
    Ok(true)
}
