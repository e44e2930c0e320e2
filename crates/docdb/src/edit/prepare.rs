//! Prepares edits before the writer sees them: text, digest and compression, on the requester's thread and, for many
//! edits, on all cores.

use super::access::EditAccess;
use super::deltas::{self, Delta};
use super::{Coding, Content, Edit, IncomingAttachment, Mode};
use crate::access;
use crate::bodies::{BodyCodec, BodyCompressor};
use crate::database::{PIECE, Run};
use crate::gzip;
use crate::gzip::Compressible;
use crate::record::Attachment;
use crate::{DatabaseOptions, Digest, DocdbError, EditError, Limits, Snapshot};
use md5::Digest as _;
use md5::Md5;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;
use varve_base::ReadMode;
use varve_btree::EncodedChunk;
use varve_codec::deflate::Level;
use varve_codec::{CodecId, Compressor, DeltaCompressor, EngineSetting};
use varve_json::term::{AttachmentTerm, revision_digest};

/// Fewer edits than this are not worth a thread.
const EDITS_PER_THREAD: usize = 16;
/// Texts from this length on, in bytes, have their digest computed by another thread than the one that compresses them.
const LONG: usize = 1 << 20;

/// An edit that the writer can append as it is.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) edit: Edit,
    pub(crate) mode: Mode,
    /// The digest of the revision that an interactive edit makes of the revision it names.
    pub(crate) digest: Digest,
    /// The body's JSON text.
    pub(crate) text: Text,
    /// How the text is compressed, if that made it shorter.
    pub(crate) method: BodyCodec,
    /// Length of the JSON text.
    pub(crate) external: u64,
    pub(crate) attachments: Vec<PreparedAttachment>,
    /// Its `_access`; `None` without one, and in a database without access.
    pub(crate) access: Option<EditAccess>,
    /// Why the edit cannot be done whatever the tree says.
    pub(crate) refused: Option<EditError>,
}

/// The text of a body, as it will be stored.
#[derive(Debug)]
pub(crate) enum Text {
    /// A chunk of its own.
    Chunk(EncodedChunk),
    /// The difference from a stored revision.
    Delta(Box<Delta>),
    /// In the tree of local documents.
    Inline(Vec<u8>),
}

/// An attachment whose data is ready, or stored already.
#[derive(Debug)]
pub(crate) struct PreparedAttachment {
    /// `chunks` are those that are stored already.
    pub(crate) record: Attachment,
    /// In whose files these are.
    pub(crate) runs: Vec<Run>,
    /// Further chunks, to be stored behind them.
    pub(crate) pieces: Vec<EncodedChunk>,
    /// Whether no revision has it yet.
    pub(crate) is_new: bool,
}

impl PreparedAttachment {
    /// One that is in the database's own file, as `source` shows.
    pub(super) fn kept(record: Attachment, source: Snapshot) -> Self {
        // The writer reads it, and may block.
        PreparedAttachment::stored(record, source.with_mode(ReadMode::Blocking), false)
    }

    /// One that is in the file of another database, as `source` shows.
    pub(super) fn foreign(record: Attachment, source: Snapshot) -> Self {
        PreparedAttachment::stored(record, source.with_mode(ReadMode::Blocking), true)
    }

    fn stored(record: Attachment, source: Snapshot, is_foreign: bool) -> Self {
        PreparedAttachment {
            runs: vec![Run {
                since: source.clone(),
                source,
                count: record.chunks.len(),
                is_foreign,
            }],
            record,
            pieces: Vec::new(),
            is_new: false,
        }
    }
}

impl Prepared {
    /// The JSON text as it is stored, unless that is a tombstone's with inherited names.
    pub(crate) fn whole_text(&self) -> Cow<'_, [u8]> {
        let text = self.edit.body.text();
        match &self.access {
            Some(access) => Cow::Owned(access::with_access(&access.text, text)),
            None => Cow::Borrowed(text),
        }
    }

    /// The digest of the revision that this edit makes of `parent`.
    ///
    /// # Errors
    /// [`EditError::Json`].
    pub(crate) fn digest_after(&self, parent: Option<&crate::Rev>) -> Result<Digest, EditError> {
        digest(&self.edit, parent, &self.attachments, self.access.as_ref())
    }
}

/// Prepares edits; keeps compressors with their contexts.
#[derive(Debug)]
pub(crate) struct Preparer {
    options: DatabaseOptions,
    compressible: Arc<Compressible>,
    workers: Mutex<Vec<Worker>>,
    threads: usize,
}

/// State of one thread.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) compressor: BodyCompressor,
    stored: Compressor,
    pub(super) deltas: DeltaCompressor,
    pub(super) limits: Limits,
    compressible: Arc<Compressible>,
}

impl Preparer {
    pub(crate) fn new(options: &DatabaseOptions) -> Self {
        let threads = std::thread::available_parallelism();
        Preparer {
            options: options.clone(),
            compressible: Arc::new(options.compressible.clone()),
            workers: Mutex::default(),
            threads: threads.map_or(1, usize::from),
        }
    }

    /// Prepares edits in order, their texts compressed by `method`.
    pub(crate) fn prepare(
        &self,
        edits: Vec<Edit>,
        mode: Mode,
        method: &BodyCodec,
        snapshot: &Snapshot,
    ) -> Result<Vec<Prepared>, DocdbError> {
        let threads = (edits.len() / EDITS_PER_THREAD).clamp(1, self.threads);
        let share = edits.len().div_ceil(threads);
        let mut shares = Vec::with_capacity(threads);
        let mut rest = edits.into_iter();
        for _ in 0..threads {
            shares.push(rest.by_ref().take(share).collect::<Vec<_>>());
        }
        std::thread::scope(|scope| {
            let own = shares.pop().unwrap_or_default();
            let work = |share| self.prepare_share(share, mode, method, snapshot);
            let others: Vec<_> = shares
                .into_iter()
                .map(|share| scope.spawn(move || work(share)))
                .collect();
            let own = work(own);
            let mut all = Vec::new();
            for handle in others {
                let share = handle.join().map_err(|_| snapshot.abandoned())?;
                all.append(&mut share?);
            }
            all.append(&mut own?);
            Ok(all)
        })
    }

    fn prepare_share(
        &self,
        edits: Vec<Edit>,
        mode: Mode,
        method: &BodyCodec,
        snapshot: &Snapshot,
    ) -> Result<Vec<Prepared>, DocdbError> {
        let mut worker = self.worker(method)?;
        let prepared = edits
            .into_iter()
            .map(|edit| worker.prepare(edit, mode, snapshot));
        let prepared = prepared.collect();
        self.keep(worker);
        prepared
    }

    /// Compresses one text.
    pub(crate) fn chunk(
        &self,
        text: &[u8],
        method: &BodyCodec,
    ) -> Result<EncodedChunk, DocdbError> {
        let mut worker = self.worker(method)?;
        let chunk = worker.compressor.encode(text);
        self.keep(worker);
        Ok(chunk?)
    }

    pub(super) fn worker(&self, method: &BodyCodec) -> Result<Worker, DocdbError> {
        match self.lock().pop() {
            Some(mut kept) if kept.compressor.method().is_same(method) => {
                kept.limits = self.options.current_limits();
                Ok(kept)
            }
            _ => Worker::new(method, self),
        }
    }

    /// Keeps a worker for later.
    pub(super) fn keep(&self, worker: Worker) {
        self.lock().push(worker);
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Vec<Worker>> {
        self.workers.lock()
    }
}

impl Worker {
    fn new(method: &BodyCodec, preparer: &Preparer) -> Result<Self, DocdbError> {
        let stored = Compressor::new(EngineSetting::NONE);
        Ok(Worker {
            compressor: BodyCompressor::new(method)?,
            stored: stored.map_err(varve_btree::TreeError::Compress)?,
            deltas: DeltaCompressor::default(),
            limits: preparer.options.current_limits(),
            compressible: Arc::clone(&preparer.compressible),
        })
    }

    fn prepare(
        &mut self,
        mut edit: Edit,
        mode: Mode,
        snapshot: &Snapshot,
    ) -> Result<Prepared, DocdbError> {
        let mut refused = None;
        if mode == Mode::Replicated && edit.revs.is_empty() && !edit.is_local() {
            refused = Some(EditError::RevNeeded);
        }
        if snapshot.is_partitioned() {
            refused = edit.check_partition().err().or(refused);
        }
        let mut access = None;
        let visible = snapshot.as_seen_by(&edit.author);
        if snapshot.has_access() {
            match EditAccess::of(&edit) {
                Ok(known) => access = known,
                Err(error) => refused = Some(error.into()),
            }
        }
        // Stubs stand for attachments that the author may see.
        let snapshot = &visible;
        let mut attachments = Vec::new();
        if !edit.attachments.is_empty() && refused.is_none() {
            match self.attachments(&mut edit, mode, snapshot)? {
                Ok(ready) => attachments = ready,
                Err(error) => refused = Some(error),
            }
        }
        let with_access;
        let mut text = edit.body.text();
        if let Some(access) = &access {
            with_access = access::with_access(&access.text, text);
            text = &with_access;
        }
        if text.len() as u64 > self.limits.document {
            refused = Some(EditError::DocumentTooLarge(edit.id.clone()));
            text = &[];
        }
        if edit.id.len() as u64 > self.limits.id {
            refused = Some(EditError::IdTooLong);
        }
        let digest = || match mode {
            Mode::Interactive if !edit.is_local() => {
                digest(&edit, edit.rev(), &attachments, access.as_ref())
            }
            _ => Ok(Digest::from([0; 16])),
        };
        let external = text.len() as u64;
        // A digest is computed from front to back, and compression takes about as long.
        let (digest, text) = match text.len() >= LONG {
            false => (digest(), self.text_of(&edit, text, mode, snapshot)?),
            true => std::thread::scope(|scope| {
                let digest = scope.spawn(digest);
                let text = self.text_of(&edit, text, mode, snapshot)?;
                let digest = digest.join().map_err(|_| snapshot.abandoned())?;
                Ok::<_, DocdbError>((digest, text))
            })?,
        };
        let digest = digest.unwrap_or_else(|error| {
            refused = Some(error);
            Digest::from([0; 16])
        });
        Ok(Prepared {
            mode,
            digest,
            external,
            text,
            method: self.compressor.method().clone(),
            attachments,
            access,
            refused,
            edit,
        })
    }

    fn pieces(&mut self, data: &[u8]) -> Result<Vec<EncodedChunk>, DocdbError> {
        let pieces = data.chunks(PIECE);
        let pieces = pieces.map(|piece| EncodedChunk::encode(&mut self.stored, piece));
        Ok(pieces.collect::<Result<_, _>>()?)
    }

    /// The text as it will be stored.
    fn text_of(
        &mut self,
        edit: &Edit,
        text: &[u8],
        mode: Mode,
        snapshot: &Snapshot,
    ) -> Result<Text, DocdbError> {
        if edit.is_local() && crate::record::LocalBody::is_inline(text.len()) {
            return Ok(Text::Inline(text.to_vec()));
        }
        let setting = self.compressor.method().setting;
        if setting.codec() == CodecId::Zstd {
            let by = (&mut self.deltas, setting.level());
            if let Some(delta) = deltas::delta(edit, mode, snapshot, by, text)? {
                return Ok(Text::Delta(Box::new(delta)));
            }
        }
        Ok(Text::Chunk(self.compressor.encode(text)?))
    }

    fn attachments(
        &mut self,
        edit: &mut Edit,
        mode: Mode,
        snapshot: &Snapshot,
    ) -> Result<Result<Vec<PreparedAttachment>, EditError>, DocdbError> {
        let incoming = std::mem::take(&mut edit.attachments);
        if incoming.len() as u64 > self.limits.attachments {
            return Ok(Err(EditError::TooManyAttachments(edit.id.clone())));
        }
        let has_stubs = incoming
            .iter()
            .any(|item| matches!(item.content, Content::Stub));
        let mut known = Vec::new();
        if has_stubs {
            match known_attachments(edit, mode, snapshot)? {
                Ok(found) => known = found,
                Err(error) => return Ok(Err(error)),
            }
        }
        let mut ready = Vec::with_capacity(incoming.len());
        for item in incoming {
            match self.attachment(&edit.id, item, &known, snapshot)? {
                Ok(attachment) => ready.push(attachment),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(ready))
    }

    fn attachment(
        &mut self,
        id: &str,
        item: IncomingAttachment,
        known: &[Attachment],
        snapshot: &Snapshot,
    ) -> Result<Result<PreparedAttachment, EditError>, DocdbError> {
        let kept = PreparedAttachment::kept;
        let (data, coding) = match item.content {
            Content::Data(data, coding) => (data, coding),
            Content::Uploaded(data) => {
                let record = data.record(item.name, item.content_type, item.revpos);
                return Ok(Ok(PreparedAttachment {
                    record,
                    pieces: self.pieces(&data.rest)?,
                    runs: data.runs,
                    is_new: true,
                }));
            }
            Content::Kept(record, source) => return Ok(Ok(kept(record, source))),
            Content::Foreign(record, source) => {
                let checked = check_length(&record, &self.limits);
                return Ok(checked.map(|()| PreparedAttachment::foreign(record, source)));
            }
            Content::Follows(..) => return Ok(Err(EditError::AttachmentData(item.name))),
            Content::Stub => {
                // A stub that says since when the attachment is there must be right.
                let is_meant = |revpos| item.revpos == 0 || item.revpos == revpos;
                let found = known.iter().find(|record| record.name == item.name);
                let found = found.filter(|record| is_meant(record.revpos));
                return Ok(found
                    .cloned()
                    .map(|record| kept(record, snapshot.clone()))
                    .ok_or_else(|| EditError::MissingStub {
                        id: id.to_owned(),
                        name: item.name,
                    }));
            }
        };
        let limit = self.limits.attachment;
        if data.len() as u64 > limit {
            return Ok(Err(EditError::AttachmentTooLarge(item.name)));
        }
        let level = self.compressible.level_of(&item.content_type);
        let Some((stored, length, is_gzip)) = stored_form(data, coding, level, limit) else {
            return Ok(Err(EditError::AttachmentData(item.name)));
        };
        if length > limit {
            return Ok(Err(EditError::AttachmentTooLarge(item.name)));
        }
        Ok(Ok(PreparedAttachment {
            pieces: self.pieces(&stored)?,
            runs: Vec::new(),
            is_new: true,
            record: Attachment {
                name: item.name,
                content_type: item.content_type,
                md5: Md5::digest(&stored).into(),
                revpos: item.revpos,
                is_gzip,
                length,
                stored_length: stored.len() as u64,
                chunks: Vec::new(),
            },
        }))
    }
}

/// Refuses stored data that is longer than an attachment may be.
pub(super) fn check_length(record: &Attachment, limits: &Limits) -> Result<(), EditError> {
    match record.length.max(record.stored_length) > limits.attachment {
        true => Err(EditError::AttachmentTooLarge(record.name.clone())),
        false => Ok(()),
    }
}

/// The bytes to be stored, their length before coding, and whether they are gzip; `None` if they
/// are not of the coding they claim.
fn stored_form(
    data: Vec<u8>,
    coding: Coding,
    level: Option<Level>,
    limit: u64,
) -> Option<(Vec<u8>, u64, bool)> {
    let length = data.len() as u64;
    Some(match (coding, level) {
        (Coding::Gzip, _) => {
            let length = gzip::expanded_len(&data, limit)?;
            (data, length, true)
        }
        (Coding::Identity, Some(level)) => (gzip::compress(&data, level), length, true),
        (Coding::Identity, None) => (data, length, false),
    })
}

/// The attachments that stubs of this edit can mean.
fn known_attachments(
    edit: &Edit,
    mode: Mode,
    snapshot: &Snapshot,
) -> Result<Result<Vec<Attachment>, EditError>, DocdbError> {
    let document = snapshot.document(&edit.id)?;
    let node = match (&document, edit.rev()) {
        (Some(document), Some(rev)) if mode == Mode::Interactive => {
            match document.tree().leaf(rev) {
                Some(leaf) => Some(leaf),
                None => return Ok(Err(EditError::Conflict)),
            }
        }
        (Some(document), _) => {
            let known = edit.revs.iter().filter_map(|rev| document.tree().find(rev));
            known
                .filter(|node| node.stored.is_some())
                .max_by_key(|node| node.rev.generation)
        }
        (None, _) => None,
    };
    match node.and_then(|node| node.stored.as_ref()) {
        Some(stored) => Ok(Ok(snapshot.attachments(stored)?)),
        None => Ok(Ok(Vec::new())),
    }
}

/// The names in `_access` are a part of the document, so they change its revision.
fn digest(
    edit: &Edit,
    parent: Option<&crate::Rev>,
    attachments: &[PreparedAttachment],
    access: Option<&EditAccess>,
) -> Result<Digest, EditError> {
    let terms: Vec<_> = attachments
        .iter()
        .map(|attachment| AttachmentTerm {
            name: &attachment.record.name,
            content_type: &attachment.record.content_type,
            md5: &attachment.record.md5,
        })
        .collect();
    let parent = parent.map(|rev| (rev.generation, rev.digest.as_bytes()));
    let digest = revision_digest(edit.deleted, parent, &edit.body.term()?, &terms);
    Ok(match access {
        Some(access) => {
            let both = Md5::new().chain_update(digest).chain_update(&access.text);
            Digest::from(<[u8; 16]>::from(both.finalize()))
        }
        None => Digest::from(digest),
    })
}
