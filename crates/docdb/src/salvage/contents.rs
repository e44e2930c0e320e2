//! Content of revisions: bodies and attachments.

use super::{LEFT_OUT, Salvage};
use crate::record::{Attachment, decode_attachments, encode_attachments};
use crate::revtree::{Node, Stored};
use crate::verify::{Hit, Part, Trouble, check_attachment};
use crate::{DocdbError, Rev};
use std::sync::Arc;
use varve_btree::{ChunkRef, ChunkStats, EncodedChunk};

impl Salvage<'_, '_> {
    /// Reads a chunk, into the text.
    fn read(&mut self, at: ChunkRef) -> Result<(), Trouble> {
        self.text.clear();
        let read = self.walked.tree().read_chunk(at, &mut self.text);
        read.map_err(|error| Trouble::of(&error, at.offset))
    }

    /// Reads a chunk that has to be the text of a JSON object.
    pub(super) fn read_json(&mut self, at: ChunkRef) -> Result<(), Trouble> {
        self.read(at)?;
        Trouble::of_json(&self.text, Some(at.offset))
    }

    /// Appends the text that was read as a chunk.
    pub(super) fn append_text(&mut self) -> Result<ChunkRef, DocdbError> {
        let chunk = self.compressor.encode(&self.text)?;
        Ok(self.txn.append_chunk(&chunk)?)
    }

    /// Copies a revision's content; `None` if there is none that can be read.
    pub(super) fn content(&mut self, id: &str, node: &Node) -> Result<Option<Stored>, DocdbError> {
        let Some(stored) = &node.stored else {
            return Ok(None);
        };
        let mut copied = Stored {
            attachments: None,
            ..stored.clone()
        };
        if let Err(trouble) = self.read_json(stored.body) {
            let hit = Hit::revision(id, &node.rev);
            if !stored.deleted {
                self.report(trouble, Part::Body, hit, LEFT_OUT);
                return Ok(None);
            }
            let outcome = "left out, the deletion stays";
            self.report(trouble, Part::Body, hit, outcome);
            self.text.clear();
            self.text.extend_from_slice(b"{}");
            copied.external = self.text.len() as u64;
        }
        copied.body = self.append_text()?;
        copied.active = u64::from(copied.body.len);
        if let Some(list) = stored.attachments {
            self.attachments((id, &node.rev), list, &mut copied)?;
        }
        self.report.leaves += 1;
        Ok(Some(copied))
    }

    /// Copies the readable parts of a revision's attachments.
    fn attachments(
        &mut self,
        (id, rev): (&str, &Rev),
        list: ChunkRef,
        copied: &mut Stored,
    ) -> Result<(), DocdbError> {
        let malformed = || Trouble::new(Some(list.offset), "it does not decode");
        let read = self.read(list);
        let records = read.and_then(|()| decode_attachments(&self.text).map_err(|_| malformed()));
        let records = match records {
            Ok(records) => records,
            Err(trouble) => {
                let hit = Hit::revision(id, rev);
                self.report(trouble, Part::AttachmentList, hit, LEFT_OUT);
                return Ok(());
            }
        };
        let mut kept = Vec::with_capacity(records.len());
        for mut record in records {
            match self.data(&record)? {
                Ok(pieces) => {
                    record.chunks = pieces.to_vec();
                    copied.active = copied.active.saturating_add(record.active());
                    kept.push(record);
                }
                Err(trouble) => {
                    copied.external = copied.external.saturating_sub(record.stored_length);
                    let hit = Hit::attachment(id, rev, &record.name);
                    self.report(trouble, Part::Attachment, hit, LEFT_OUT);
                }
            }
        }
        if kept.is_empty() {
            return Ok(());
        }
        self.report.attachments += kept.len() as u64;
        let mut bytes = Vec::new();
        encode_attachments(&kept, &mut bytes);
        let chunk = EncodedChunk::encode(&mut self.plain, &bytes)?;
        let at = self.txn.append_chunk(&chunk)?;
        copied.active = copied.active.saturating_add(u64::from(at.len));
        copied.attachments = Some(at);
        Ok(())
    }

    /// Copies the data of an attachment, unless that was done before.
    fn data(
        &mut self,
        record: &Attachment,
    ) -> Result<Result<Arc<[ChunkRef]>, Trouble>, DocdbError> {
        let key = self.known.key(record);
        if let Some(known) = self.known.get(key) {
            return Ok(known);
        }
        let copied = match check_attachment(&self.walked, record, &mut ChunkStats::default()) {
            Ok(()) => Ok(self.pieces(record)?),
            Err(trouble) => Err(trouble),
        };
        self.known.put(key, copied.clone());
        Ok(copied)
    }

    fn pieces(&mut self, record: &Attachment) -> Result<Arc<[ChunkRef]>, DocdbError> {
        let mut pieces = Vec::with_capacity(record.chunks.len());
        for piece in &record.chunks {
            self.text.clear();
            self.walked.tree().read_chunk(*piece, &mut self.text)?;
            let chunk = EncodedChunk::encode(&mut self.plain, &self.text)?;
            pieces.push(self.txn.append_chunk(&chunk)?);
        }
        Ok(pieces.into())
    }
}
