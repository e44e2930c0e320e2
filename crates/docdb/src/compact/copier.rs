//! How single chunks, documents and local documents get into the new file.

use super::attachments::CopiedAttachments;
use super::unreadable::{ReadableSource, Unreadable, readable};
use crate::bodies::{BodyCodec, BodyCompressor};
use crate::record::{LOCAL_PREFIX, LocalBody, LocalRecord};
use crate::revtree::Stored;
use crate::{Change, DocdbError, Snapshot};
use varve_btree::{ChunkForm, ChunkRef, EncodedChunk, StoredChunk, Transaction, TreeError};
use varve_codec::{Compressor, DictionaryCompressor, EngineSetting};

/// Whether bodies are compressed anew.
#[derive(Clone, Debug)]
pub(crate) struct Recoding {
    method: BodyCodec,
    /// All bodies are compressed by this setting already.
    is_needless: bool,
    /// Dictionaries that the new file has.
    kept: Vec<u32>,
}

impl Recoding {
    /// `found` is the setting of all bodies in the file, if there is such a one; `kept` are the
    /// dictionaries that the new file has.
    pub(crate) fn new(found: Option<EngineSetting>, wanted: BodyCodec, kept: Vec<u32>) -> Self {
        Recoding {
            is_needless: found == Some(wanted.setting),
            method: wanted,
            kept,
        }
    }

    pub(super) fn method(&self) -> &BodyCodec {
        &self.method
    }

    pub(super) fn setting(&self) -> EngineSetting {
        self.method.setting
    }

    /// Whether the setting is that of all bodies.
    pub(super) fn is_needless(&self) -> bool {
        self.is_needless
    }

    /// Whether a body goes into the new file as it is.
    fn leaves(&self, stored: &StoredChunk<'_>) -> bool {
        let is_kept = |number| self.kept.contains(&number);
        let is_long = |len| len > DictionaryCompressor::LONGEST as u64;
        self.is_needless
            && match (stored.form(), &self.method.dictionary) {
                (ChunkForm::Dictionary, _) => stored.dictionary().is_some_and(is_kept),
                // Its base has no place in the new file.
                (ChunkForm::Delta, _) => false,
                (ChunkForm::Plain(_), None) => true,
                // A shorter one may be from before there was a dictionary.
                (ChunkForm::Plain(_), Some(_)) => stored.content_len().is_some_and(is_long),
            }
    }
}

/// Makes chunks for the new file of those of the old one. Each thread has its own.
pub(crate) struct Recoder {
    recoding: Recoding,
    compressor: BodyCompressor,
    text: Vec<u8>,
}

impl Recoder {
    pub(crate) fn new(recoding: &Recoding) -> Result<Self, DocdbError> {
        Ok(Recoder {
            recoding: recoding.clone(),
            compressor: BodyCompressor::new(&recoding.method)?,
            text: Vec::new(),
        })
    }

    fn chunk(&mut self, stored: &StoredChunk<'_>) -> Result<EncodedChunk, TreeError> {
        if self.recoding.leaves(stored) {
            return Ok(stored.to_chunk());
        }
        self.text.clear();
        stored.expand(&mut self.text)?;
        self.compressor.encode(&self.text)
    }

    /// The chunk for the new file of one at a place in the old one.
    pub(crate) fn one(
        &mut self,
        from: &Snapshot,
        at: ChunkRef,
    ) -> Result<EncodedChunk, DocdbError> {
        let mut made = None;
        from.tree().visit_stored(&[at], &mut |_, stored| {
            made = Some(self.chunk(&stored)?);
            Ok::<_, TreeError>(())
        })?;
        made.ok_or_else(|| from.damaged("chunk", at.offset.to_string().as_bytes()))
    }

    /// The bodies of some changes, in their order; `None` for those that cannot be read.
    pub(super) fn bodies(
        &mut self,
        from: &Snapshot,
        changes: &[Change],
    ) -> Result<Vec<Option<EncodedChunk>>, DocdbError> {
        let places: Vec<_> = changes.iter().map(|change| change.stored.body).collect();
        let mut bodies = vec![None; places.len()];
        let read = from.tree().visit_stored(&places, &mut |index, stored| {
            bodies[index] = Some(self.chunk(&stored)?);
            Ok(())
        });
        readable(read.map_err(|error: TreeError| error.into()))?;
        // Damage has ended the reading, so the others are read one by one.
        for (change, body) in changes.iter().zip(&mut bodies) {
            if body.is_none() {
                let alone = readable(self.one(from, change.stored.body));
                *body = alone.map_err(named(&change.id))?;
            }
        }
        Ok(bodies)
    }
}

/// Adds to an error which document could not be copied.
pub(super) fn named(id: &str) -> impl Fn(DocdbError) -> DocdbError + '_ {
    move |error| DocdbError::Uncopied {
        id: id.to_owned(),
        source: Box::new(error),
    }
}

/// State of the thread that writes the new file.
pub(super) struct Copier {
    pub(super) recoding: Recoding,
    recoder: Recoder,
    /// Does not compress.
    pub(super) plain: Compressor,
    pub(super) known: CopiedAttachments,
    pub(super) text: Vec<u8>,
    pub(super) unreadable: Unreadable,
}

impl Copier {
    pub(super) fn new(recoding: Recoding) -> Result<Self, DocdbError> {
        let plain = Compressor::new(EngineSetting::NONE);
        Ok(Copier {
            recoder: Recoder::new(&recoding)?,
            recoding,
            plain: plain.map_err(TreeError::Compress)?,
            known: CopiedAttachments::default(),
            text: Vec::new(),
            unreadable: Unreadable::default(),
        })
    }

    /// Bodies that need these dictionaries can be copied as they are.
    pub(super) fn keep(&mut self, dictionaries: Vec<u32>) {
        self.recoder.recoding.kept = dictionaries;
    }

    /// Copies a chunk of JSON text.
    pub(super) fn chunk(
        &mut self,
        source: ReadableSource<'_>,
        txn: &mut Transaction<'_>,
        at: ChunkRef,
    ) -> Result<ChunkRef, DocdbError> {
        let text = readable(self.recoder.one(source.from, at))?;
        Ok(self.text_of(source, txn, at, text.as_ref())?.0)
    }

    /// Copies a text of which the chunk is ready, or that cannot be read. Returns its place, and how
    /// many bytes belong to it.
    fn text_of(
        &mut self,
        source: ReadableSource<'_>,
        txn: &mut Transaction<'_>,
        at: ChunkRef,
        text: Option<&EncodedChunk>,
    ) -> Result<(ChunkRef, u64), DocdbError> {
        let Some(chunk) = text else {
            return self.as_it_stands(source, txn, at);
        };
        let place = txn.append_chunk(chunk)?;
        Ok((place, u64::from(place.len)))
    }

    /// Copies a chunk that cannot be read, and notes whose it is. Returns its place, and how many
    /// bytes belong to it.
    pub(super) fn as_it_stands(
        &mut self,
        source: ReadableSource<'_>,
        txn: &mut Transaction<'_>,
        at: ChunkRef,
    ) -> Result<(ChunkRef, u64), DocdbError> {
        self.unreadable.add(source.id);
        Ok(txn.append_unreadable(source.from.tree(), at)?)
    }

    /// Copies a revision's content.
    pub(super) fn stored(
        &mut self,
        source: ReadableSource<'_>,
        txn: &mut Transaction<'_>,
        stored: &Stored,
    ) -> Result<Stored, DocdbError> {
        let body = readable(self.recoder.one(source.from, stored.body))?;
        self.with_body(source, txn, stored, body.as_ref())
    }

    /// Copies a revision's content whose body is ready, or cannot be read.
    pub(super) fn with_body(
        &mut self,
        source: ReadableSource<'_>,
        txn: &mut Transaction<'_>,
        stored: &Stored,
        body: Option<&EncodedChunk>,
    ) -> Result<Stored, DocdbError> {
        let (body, active) = self.text_of(source, txn, stored.body, body)?;
        let mut copied = Stored {
            body,
            active,
            ..stored.clone()
        };
        if let Some(list) = stored.attachments {
            let list = self.attachments(source, txn, list)?;
            copied.attachments = Some(list.place);
            copied.active = copied.active.saturating_add(list.active);
            if list.is_coded {
                copied.external = self.recounted(source.from, stored, list.stored)?;
            }
        }
        Ok(copied)
    }

    /// The external size of a revision with attachments of that many bytes. Earlier versions counted attachments as they
    /// were before gzip. A body that cannot be read leaves the size as it is.
    fn recounted(
        &mut self,
        from: &Snapshot,
        stored: &Stored,
        attachments: u64,
    ) -> Result<u64, DocdbError> {
        self.text.clear();
        let read = from.tree().read_chunk(stored.body, &mut self.text);
        let length = readable(read.map_err(DocdbError::from))?.map(|()| self.text.len() as u64);
        Ok(length.map_or(stored.external, |body| body.saturating_add(attachments)))
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
            let id = &format!("{LOCAL_PREFIX}{}", String::from_utf8_lossy(key));
            let copied = self.chunk(ReadableSource { from, id }, txn, at);
            record.body = LocalBody::Chunk(copied.map_err(named(id))?);
        }
        let mut value = Vec::new();
        record.encode(&mut value);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use crate::database::tree_options;
    use crate::record::{BY_ID, BY_SEQ, Change, DocumentRecord};
    use crate::revtree::Stored;
    use crate::{Database, DatabaseOptions, Edit, Mode};
    use std::path::Path;
    use std::sync::Arc;
    use varve_base::{Interrupt, MemoryStorage, Silent};
    use varve_btree::{NodeCache, TreeError, TreeFile};
    use varve_codec::EngineSetting;

    /// Bytes that earlier versions counted besides: the attachment as it was before gzip.
    const MORE: u64 = 3000;

    fn counted_more(stored: &Stored) -> Stored {
        Stored {
            external: stored.external + MORE,
            ..stored.clone()
        }
    }

    /// Has the file of a database with one document count as earlier versions did.
    fn count_as_before(storage: &MemoryStorage, path: &Path, options: &DatabaseOptions) {
        let file = TreeFile::open(storage, path, tree_options(options)).unwrap();
        let mut txn = file.begin().unwrap();
        let key = 1u64.to_be_bytes();
        let value = txn.get(BY_SEQ, &key).unwrap().unwrap();
        let mut change = Change::decode(&key, value.value()).unwrap();
        change.stored = counted_more(&change.stored);
        let mut bytes = Vec::new();
        change.encode(&mut bytes);
        txn.update(BY_SEQ, &[(&key[..], Some(&bytes))]).unwrap();
        let value = txn.get(BY_ID, b"a").unwrap().unwrap();
        let record =
            DocumentRecord::decode(value.value(), |_, _: &mut Vec<u8>| Ok::<_, TreeError>(()));
        let mut record = record.unwrap().unwrap();
        let moved = record.move_leaves(|_, stored| Ok::<_, TreeError>(counted_more(stored)));
        moved.unwrap();
        let bytes = record.write(&mut txn).unwrap();
        txn.update(BY_ID, &[(&b"a"[..], Some(&bytes))]).unwrap();
        txn.commit().unwrap();
    }

    #[test]
    fn sizes_that_earlier_versions_counted_are_counted_anew() {
        let storage = MemoryStorage::default();
        let path = Path::new("db.varve");
        let options = DatabaseOptions::new(EngineSetting::ZSTD, NodeCache::new(1 << 20));
        let open = || Database::open(Arc::new(storage.clone()), path, &options).unwrap();
        let data = "YWFh".repeat(1200);
        let text = format!(
            r#"{{"_id":"a","_attachments":{{"t":{{"content_type":"text/plain","data":"{data}"}}}}}}"#
        );
        let db = Database::create(Arc::new(storage.clone()), path, &options).unwrap();
        let edit = Edit::parse(None, text.as_bytes()).unwrap();
        let written = db.update_one(edit, Mode::Interactive).unwrap();
        written.unwrap();
        let right = db.sizes().unwrap().external;
        assert!(
            right < MORE,
            "{right}: the attachment is not stored as gzip"
        );
        drop(db);
        count_as_before(&storage, path, &options);
        let db = open();
        assert_eq!(db.sizes().unwrap().external, right + MORE);
        db.compact(&Silent, &Interrupt::default()).unwrap();
        assert_eq!(db.sizes().unwrap().external, right);
        drop(db);
        assert_eq!(open().sizes().unwrap().external, right);
    }
}
