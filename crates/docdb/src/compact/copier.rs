//! How single chunks, documents and local documents get into the new file.

use super::attachments::Known;
use crate::record::{LocalBody, LocalRecord};
use crate::revtree::Stored;
use crate::{Change, DocdbError, Snapshot};
use varve_btree::{ChunkRef, EncodedChunk, StoredChunk, Transaction, TreeError};
use varve_codec::{Compressor, EngineSetting};

/// Whether bodies are compressed anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recoding {
    setting: EngineSetting,
    /// All bodies are compressed by this setting already.
    is_needless: bool,
}

impl Recoding {
    /// `found` is the setting of all bodies in the file, if there is such a one.
    pub(super) fn new(found: Option<EngineSetting>, wanted: EngineSetting) -> Self {
        Recoding {
            setting: wanted,
            is_needless: found == Some(wanted),
        }
    }

    pub(super) fn setting(self) -> EngineSetting {
        self.setting
    }

    pub(super) fn is_needless(self) -> bool {
        self.is_needless
    }
}

pub(super) fn compressor(setting: EngineSetting) -> Result<Compressor, DocdbError> {
    Ok(Compressor::new(setting).map_err(TreeError::Compress)?)
}

/// Makes chunks for the new file of those of the old one. Each thread has its own.
pub(super) struct Recoder {
    recoding: Recoding,
    compressor: Compressor,
    text: Vec<u8>,
}

impl Recoder {
    pub(super) fn new(recoding: Recoding) -> Result<Self, DocdbError> {
        Ok(Recoder {
            recoding,
            compressor: compressor(recoding.setting)?,
            text: Vec::new(),
        })
    }

    fn chunk(&mut self, stored: &StoredChunk<'_>) -> Result<EncodedChunk, TreeError> {
        if self.recoding.is_needless {
            return Ok(stored.to_chunk());
        }
        self.text.clear();
        stored.expand(&mut self.text)?;
        EncodedChunk::encode(&mut self.compressor, &self.text)
    }

    fn one(&mut self, from: &Snapshot, at: ChunkRef) -> Result<EncodedChunk, DocdbError> {
        let mut made = None;
        from.tree().visit_stored(&[at], &mut |_, stored| {
            made = Some(self.chunk(&stored)?);
            Ok::<_, TreeError>(())
        })?;
        made.ok_or_else(|| from.damaged("chunk", at.offset.to_string().as_bytes()))
    }

    /// The bodies of some changes, in their order.
    pub(super) fn bodies(
        &mut self,
        from: &Snapshot,
        changes: &[Change],
    ) -> Result<Vec<EncodedChunk>, DocdbError> {
        let places: Vec<_> = changes.iter().map(|change| change.stored.body).collect();
        let mut bodies = vec![None; places.len()];
        let read = from.tree().visit_stored(&places, &mut |index, stored| {
            bodies[index] = Some(self.chunk(&stored)?);
            Ok(())
        });
        read.map_err(|error: TreeError| {
            let of = |change: &&Change| Some(change.stored.body.offset) == error.offset();
            let id = changes.iter().find(of).map(|change| change.id.clone());
            match id {
                Some(id) => named(&id)(error.into()),
                None => error.into(),
            }
        })?;
        let all = bodies.into_iter().collect::<Option<_>>();
        all.ok_or_else(|| from.damaged("bodies", b"some documents"))
    }
}

/// Adds to an error which document could not be copied.
pub(super) fn named(id: &str) -> impl Fn(DocdbError) -> DocdbError + '_ {
    move |error| DocdbError::Uncopied {
        id: id.to_owned(),
        source: Box::new(error),
    }
}

/// What the thread that writes the new file needs for copying single things.
pub(super) struct Copier {
    pub(super) recoding: Recoding,
    recoder: Recoder,
    /// Does not compress.
    pub(super) plain: Compressor,
    pub(super) known: Known,
    pub(super) text: Vec<u8>,
}

impl Copier {
    pub(super) fn new(recoding: Recoding) -> Result<Self, DocdbError> {
        Ok(Copier {
            recoding,
            recoder: Recoder::new(recoding)?,
            plain: compressor(EngineSetting::NONE)?,
            known: Known::default(),
            text: Vec::new(),
        })
    }

    /// Copies a chunk of JSON text.
    pub(super) fn chunk(
        &mut self,
        from: &Snapshot,
        txn: &mut Transaction<'_>,
        at: ChunkRef,
    ) -> Result<ChunkRef, DocdbError> {
        let chunk = self.recoder.one(from, at)?;
        Ok(txn.append_chunk(&chunk)?)
    }

    /// Copies a revision's content.
    pub(super) fn stored(
        &mut self,
        from: &Snapshot,
        txn: &mut Transaction<'_>,
        stored: &Stored,
    ) -> Result<Stored, DocdbError> {
        let body = self.recoder.one(from, stored.body)?;
        self.with_body(from, txn, stored, &body)
    }

    /// Copies a revision's content whose body is ready.
    pub(super) fn with_body(
        &mut self,
        from: &Snapshot,
        txn: &mut Transaction<'_>,
        stored: &Stored,
        body: &EncodedChunk,
    ) -> Result<Stored, DocdbError> {
        let body = txn.append_chunk(body)?;
        let mut copied = Stored {
            body,
            active: u64::from(body.len),
            ..stored.clone()
        };
        if let Some(list) = stored.attachments {
            let (list, active) = self.attachments(from, txn, list)?;
            copied.attachments = Some(list);
            copied.active = copied.active.saturating_add(active);
        }
        Ok(copied)
    }

    /// The value of a local document in the new file.
    pub(super) fn local(
        &mut self,
        from: &Snapshot,
        txn: &mut Transaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Vec<u8>, DocdbError> {
        let record = LocalRecord::decode(value);
        let mut record = record.map_err(|_| from.damaged("local document", key))?;
        if let LocalBody::Chunk(at) = record.body {
            let id = format!("_local/{}", String::from_utf8_lossy(key));
            let copied = self.chunk(from, txn, at).map_err(named(&id))?;
            record.body = LocalBody::Chunk(copied);
        }
        let mut value = Vec::new();
        record.encode(&mut value);
        Ok(value)
    }
}
