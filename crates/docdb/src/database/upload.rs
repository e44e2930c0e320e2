//! Attachments whose data goes into the file while it comes, before any document has it.
//!
//! Full pieces are appended by commits that change nothing else. A requester that breaks off leaves
//! them to the next compaction. If one comes in the middle, a part of the pieces is in the file that
//! it has replaced; the commit of the document brings them along.

use super::Database;
use crate::gzip::{Following, Packing};
use crate::record::Attachment;
use crate::{DocdbError, EditError, Snapshot};
use md5::{Digest, Md5};
use varve_btree::{ChunkRef, EncodedChunk};
use varve_codec::{Compressor, EngineSetting};

/// Attachments are stored in pieces of this many bytes, so that ranges can be read.
pub(crate) const PIECE: usize = 1 << 20;

/// Properties of an attachment before its data comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// File name of the attachment, the last part of its URL.
    pub name: String,
    /// Its MIME type.
    pub content_type: String,
    /// Whether its data comes as gzip.
    pub is_gzip: bool,
    /// How many bytes come, if that is known: others are not taken for it.
    pub length: Option<u64>,
}

/// The data of one attachment on its way into the database's file.
#[derive(Debug)]
pub struct Upload {
    database: Database,
    name: String,
    form: UploadCoding,
    /// Of the stored form, as all below.
    md5: Md5,
    stored_length: u64,
    /// Bytes short of a piece.
    rest: Vec<u8>,
    places: Vec<ChunkRef>,
    runs: Vec<Run>,
    plain: Compressor,
    /// Bytes that came.
    received: u64,
    /// How many are to come.
    expected: Option<u64>,
}

/// How the data is coded on its way.
#[derive(Debug)]
enum UploadCoding {
    AsItComes,
    Packed(Box<Packing>),
    /// The client sends gzip, which is stored as it is and expanded for the digest.
    Following(Box<Following>),
}

/// Pieces of an attachment that stand in one file.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// A commit that shows the first of them.
    pub(crate) since: Snapshot,
    /// One that shows them all.
    pub(crate) source: Snapshot,
    pub(crate) count: usize,
    /// The data is in the file of another database; a copied file may look like this one's.
    pub(crate) is_foreign: bool,
}

/// An attachment whose data has come, and which a document may have now.
#[derive(Clone, Debug)]
pub struct Uploaded {
    pub(crate) md5: [u8; 16],
    pub(crate) is_gzip: bool,
    pub(crate) length: u64,
    pub(crate) stored_length: u64,
    pub(crate) places: Vec<ChunkRef>,
    pub(crate) runs: Vec<Run>,
    pub(crate) rest: Vec<u8>,
}

impl Database {
    /// Begins to take an attachment's data.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn upload(&self, announced: &Announced) -> Result<Upload, DocdbError> {
        let level = self
            .shared
            .options
            .compressible
            .level_of(&announced.content_type);
        let form = match (announced.is_gzip, level) {
            (true, _) => UploadCoding::Following(Box::new(Following::new())),
            (false, Some(level)) => UploadCoding::Packed(Box::new(Packing::new(level))),
            (false, None) => UploadCoding::AsItComes,
        };
        let plain = Compressor::new(EngineSetting::NONE);
        Ok(Upload {
            database: self.clone(),
            name: announced.name.clone(),
            form,
            md5: Md5::new(),
            stored_length: 0,
            rest: Vec::new(),
            places: Vec::new(),
            runs: Vec::new(),
            plain: plain.map_err(varve_btree::TreeError::Compress)?,
            received: 0,
            expected: announced.length,
        })
    }

    /// Appends a piece that nothing refers to yet. It becomes durable with the commit that does.
    fn append_piece(&self, piece: &EncodedChunk) -> Result<(ChunkRef, Snapshot), DocdbError> {
        self.append_unreferenced(|txn| Ok(txn.append_chunk(piece)?))
    }
}

impl Upload {
    /// Takes more of the data. `Ok(Err(_))` if it is too long, or longer or not of the coding that
    /// was announced; the upload is then of no further use.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn write(&mut self, data: &[u8]) -> Result<Result<(), EditError>, DocdbError> {
        self.received = self.received.saturating_add(data.len() as u64);
        let limit = self.database.shared.options.current_limits().attachment;
        if self.received > limit {
            return Ok(Err(EditError::AttachmentTooLarge(self.name.clone())));
        }
        if self
            .expected
            .is_some_and(|expected| self.received > expected)
        {
            return Ok(Err(EditError::AttachmentLength("longer")));
        }
        match &mut self.form {
            UploadCoding::AsItComes => self.store(data)?,
            UploadCoding::Packed(packing) => {
                let packed = packing.write(data);
                self.store(&packed)?;
            }
            UploadCoding::Following(following) => {
                if following.write(data).is_err() {
                    return Ok(Err(EditError::AttachmentData(self.name.clone())));
                }
                if following.expanded() > limit {
                    return Ok(Err(EditError::AttachmentTooLarge(self.name.clone())));
                }
                self.store(data)?;
            }
        }
        Ok(Ok(()))
    }

    fn store(&mut self, mut stored: &[u8]) -> Result<(), DocdbError> {
        self.md5.update(stored);
        self.stored_length = self.stored_length.saturating_add(stored.len() as u64);
        while self.rest.len() + stored.len() >= PIECE {
            let (now, later) = stored.split_at(PIECE - self.rest.len());
            self.rest.extend_from_slice(now);
            stored = later;
            self.place()?;
        }
        self.rest.extend_from_slice(stored);
        Ok(())
    }

    /// Puts a full piece into the file.
    fn place(&mut self) -> Result<(), DocdbError> {
        let piece = EncodedChunk::encode(&mut self.plain, &self.rest)?;
        self.rest.clear();
        let (at, source) = self.database.append_piece(&piece)?;
        self.places.push(at);
        match self.runs.last_mut() {
            Some(run) if run.source.tree().is_same_file(source.tree()) => {
                run.count += 1;
                run.source = source;
            }
            _ => self.runs.push(Run {
                since: source.clone(),
                source,
                count: 1,
                is_foreign: false,
            }),
        }
        Ok(())
    }

    /// Ends the data. `Ok(Err(_))` if it is shorter or not of the coding that was announced.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn finish(mut self) -> Result<Result<Uploaded, EditError>, DocdbError> {
        if self
            .expected
            .is_some_and(|expected| self.received < expected)
        {
            return Ok(Err(EditError::AttachmentLength("shorter")));
        }
        let form = std::mem::replace(&mut self.form, UploadCoding::AsItComes);
        let (length, is_gzip) = match form {
            UploadCoding::AsItComes => (self.received, false),
            UploadCoding::Packed(packing) => {
                let last = packing.finish();
                self.store(&last)?;
                (self.received, true)
            }
            UploadCoding::Following(following) => match following.finish() {
                Ok(length) if length > self.database.shared.options.current_limits().attachment => {
                    return Ok(Err(EditError::AttachmentTooLarge(self.name)));
                }
                Ok(length) => (length, true),
                Err(_) => return Ok(Err(EditError::AttachmentData(self.name))),
            },
        };
        Ok(Ok(Uploaded {
            md5: self.md5.finalize().into(),
            is_gzip,
            length,
            stored_length: self.stored_length,
            places: self.places,
            runs: self.runs,
            rest: self.rest,
        }))
    }
}

impl Uploaded {
    /// The attachment, but for pieces that are not in the file yet.
    pub(crate) fn record(&self, name: String, content_type: String, revpos: u64) -> Attachment {
        Attachment {
            name,
            content_type,
            md5: self.md5,
            revpos,
            is_gzip: self.is_gzip,
            length: self.length,
            stored_length: self.stored_length,
            chunks: self.places.clone(),
        }
    }
}
