//! Building a new database from whole documents, as an import or a backup has them.
//!
//! Everything is one commit of a file that has no name of a database yet, so a load leaves the whole database or none.
//! Nothing is written twice: both trees are built from left to right, that by sequence while documents come, that by id
//! from sorted runs.

mod attachments;
mod document;
mod documents;
mod files;

pub use document::{LeftOut, LoadedAttachment, LoadedContent, LoadedDocument, LoadedRevision};

use crate::bodies::{BodyCodec, BodyCompressor};
use crate::database::{first_header, tree_options};
use crate::record::{
    DEFAULT_LIMIT, Header, LIMIT_KEY, LOCAL, LocalBody, LocalRecord, PURGES, Purge, encode_limit,
};
use crate::{DatabaseOptions, DocdbError, LOCAL_PREFIX, NewDatabase};
use files::LoadFiles;
use std::path::Path;
use varve_base::{Interrupt, Storage};
use varve_btree::{ChunkRef, ChunkStats, Loader, Transaction, TreeError, TreeFile};
use varve_codec::{Compressor, EngineSetting};

/// Numbers of a new database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Documents, deleted ones too.
    pub documents: u64,
    /// Of them, deleted ones.
    pub deleted: u64,
    /// Revisions that are known by their ids at least.
    pub revisions: u64,
    /// Of them, leaves.
    pub leaves: u64,
    /// Attachments of the leaves.
    pub attachments: u64,
    /// Documents whose id begins with `_local/`.
    pub local_documents: u64,
    /// Entries of the purge history.
    pub purges: u64,
    /// Bytes of the leaves' JSON texts.
    pub body_bytes: u64,
    /// Bytes of attachments as they are stored.
    pub attachment_bytes: u64,
    /// Chunks and nodes by their form.
    pub chunks: ChunkStats,
    /// Length of the file.
    pub file_bytes: u64,
}

/// A database that is being built.
pub struct Load<'l> {
    txn: Transaction<'l>,
    files: &'l LoadFiles<'l>,
    header: Header,
    codec: BodyCodec,
    /// Does not compress.
    plain: Compressor,
    report: Loaded,
    left_out: &'l mut dyn FnMut(LeftOut),
    stop: &'l Interrupt,
}

impl std::fmt::Debug for Load<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Load({:?}, {:?})", self.files.copy, self.report)
    }
}

/// Makes a new database at `path` of what `fill` adds to it; it is there, and durable, when this returns. Documents and
/// attachments that cannot be taken are handed to `left_out`.
///
/// # Errors
/// [`DocdbError::is_already_there`] if anything stands at `path`; [`DocdbError::Interrupted`]; errors of `fill` and of
/// the storage.
pub fn load<E: From<DocdbError>>(
    storage: &dyn Storage,
    path: &Path,
    (options, new): (&DatabaseOptions, NewDatabase),
    (left_out, stop): (&mut dyn FnMut(LeftOut), &Interrupt),
    fill: impl FnOnce(&mut Load<'_>) -> Result<(), E>,
) -> Result<Loaded, E> {
    let files = LoadFiles::new(storage, path)?;
    let setting = new.compression.unwrap_or(options.current_setting());
    let header = first_header(setting, new)?;
    let file = create(storage, &files, options, &header)?;
    let mut txn = file.begin().map_err(DocdbError::from)?;
    txn.compress_nodes_by(setting).map_err(DocdbError::from)?;
    let mut load = Load {
        txn,
        files: &files,
        header,
        codec: BodyCodec {
            setting,
            dictionary: None,
        },
        plain: Compressor::new(EngineSetting::NONE)
            .map_err(|error| DocdbError::from(TreeError::Compress(error)))?,
        report: Loaded::default(),
        left_out,
        stop,
    };
    fill(&mut load)?;
    let mut report = load.commit()?;
    let sealed = file.begin().map_err(DocdbError::from)?;
    crate::write::seal(sealed, &files.copy)?;
    file.sync().map_err(DocdbError::from)?;
    report.file_bytes = file.sizes().file;
    drop(file);
    files.finish()?;
    Ok(report)
}

fn create(
    storage: &dyn Storage,
    files: &LoadFiles<'_>,
    options: &DatabaseOptions,
    header: &Header,
) -> Result<TreeFile, DocdbError> {
    let options = tree_options(options);
    Ok(TreeFile::create_with(
        storage,
        &files.copy,
        options,
        &header.encode(),
    )?)
}

impl Load<'_> {
    fn check(&self) -> Result<(), DocdbError> {
        match self.stop.is_raised() {
            true => Err(DocdbError::Interrupted),
            false => Ok(()),
        }
    }

    fn leave_out(&mut self, part: LeftOut) {
        (self.left_out)(part);
    }

    /// Sets how many ancestors of a leaf are remembered, at least 1. Loaded documents keep all that they have until they
    /// are edited next.
    pub fn set_revs_limit(&mut self, limit: u64) {
        self.header.revs_limit = limit.max(1);
    }

    /// Sets the number of the last update, unless a document has a higher one.
    pub fn set_update_seq(&mut self, seq: u64) {
        self.header.update_seq = self.header.update_seq.max(seq);
    }

    /// Sets the security object.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn set_security(&mut self, text: &[u8]) -> Result<(), DocdbError> {
        self.header.security = Some(self.append_text(text)?);
        Ok(())
    }

    /// Adds all local documents, once: ids with `_local/`, in ascending order, with the numbers behind `0-` and their
    /// JSON texts.
    ///
    /// # Errors
    /// Errors of the iterator and of the storage.
    pub fn local_documents<E: From<DocdbError>>(
        &mut self,
        all: impl IntoIterator<Item = Result<(String, u64, Vec<u8>), E>>,
    ) -> Result<(), E> {
        let mut loader = Loader::new(LOCAL);
        for local in all {
            self.check()?;
            let (id, rev, text) = local?;
            let key = id.strip_prefix(LOCAL_PREFIX).unwrap_or(&id);
            let body = match LocalBody::is_inline(text.len()) {
                true => LocalBody::Inline(text),
                false => LocalBody::Chunk(self.append_text(&text)?),
            };
            let mut value = Vec::new();
            LocalRecord { rev, body }.encode(&mut value);
            let pushed = loader.push(&mut self.txn, key.as_bytes(), &value);
            pushed.map_err(DocdbError::from)?;
            self.report.local_documents += 1;
        }
        Ok(loader.finish(&mut self.txn).map_err(DocdbError::from)?)
    }

    /// Adds all purges that are remembered, once. They are numbered one after the other, up to `last`; of more than
    /// `limit` the newest are kept.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn purges(&mut self, mut all: Vec<Purge>, last: u64, limit: u64) -> Result<(), DocdbError> {
        let limit = limit.max(1);
        let kept = usize::try_from(limit.min(last)).unwrap_or(usize::MAX);
        all.drain(..all.len().saturating_sub(kept));
        let first = last - all.len() as u64 + 1;
        let mut loader = Loader::new(PURGES);
        for (seq, purge) in (first..).zip(&all) {
            let mut value = Vec::new();
            purge.encode(&mut value);
            loader.push(&mut self.txn, &Purge::key(seq), &value)?;
        }
        if limit != DEFAULT_LIMIT {
            loader.push(&mut self.txn, LIMIT_KEY, &encode_limit(limit))?;
        }
        self.header.purge_seq = last;
        self.report.purges = all.len() as u64;
        Ok(loader.finish(&mut self.txn)?)
    }

    fn append_text(&mut self, text: &[u8]) -> Result<ChunkRef, DocdbError> {
        let chunk = BodyCompressor::new(&self.codec)?.encode(text)?;
        Ok(self.txn.append_chunk(&chunk)?)
    }

    fn commit(mut self) -> Result<Loaded, DocdbError> {
        self.check()?;
        let chunks: ChunkStats = *self.txn.chunk_stats();
        self.header.chunk_stats = Some(chunks);
        self.txn.set_user_header(&self.header.encode());
        self.txn.commit()?;
        self.report.chunks = chunks;
        Ok(self.report)
    }
}
