//! One revlog, opened for reading.

use crate::entry::{Entry, Header};
use crate::index::Index;
use crate::nodes::{NodeTable, PrefixMatch};
use crate::reader::{Reader, ReaderState};
use crate::{Node, Rev, RevlogError};
use parking_lot::Mutex;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use varve_base::{OpenMode, Storage, StorageFile};

/// Below this many revisions a node is searched one by one.
const FEW: usize = 32;
/// As many searches one by one, newest revision first, cost less than sorting all nodes.
const FEW_SEARCHES: u32 = 8;

/// One revlog as it was when it was opened; later revisions do not show.
///
/// Threads share it. Methods that take a [`Rev`] panic if the revlog has no such revision;
/// numbers from elsewhere go through [`Revlog::rev_at`] first.
#[derive(Debug)]
pub struct Revlog {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    data_path: PathBuf,
    index: Index,
    nodes: OnceLock<NodeTable>,
    data: OnceLock<(Arc<dyn StorageFile>, u64)>,
    reader: Mutex<ReaderState>,
    /// Chunks that are in no file yet, for an [`crate::Appender`]; none if inline.
    pending: Vec<u8>,
    /// Where they begin among all chunks.
    pending_start: u64,
    /// How many revisions are in the files.
    in_files: usize,
    /// How many nodes were searched one by one.
    searches: AtomicU32,
}

impl Revlog {
    /// Reads and checks the index at `path` (`….i`). The data file is opened when first needed.
    ///
    /// # Errors
    /// A missing file is an error ([`varve_base::StorageError::is_not_found`]); else damage or an
    /// unknown format.
    pub fn open(storage: &Arc<dyn Storage>, path: &Path) -> Result<Revlog, RevlogError> {
        let file = storage.open(path, OpenMode::Read)?;
        let len = usize::try_from(file.len()?).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len];
        file.read_exact_at(0, &mut bytes)?;
        Ok(Revlog::with_index(
            storage,
            path,
            Index::parse(bytes, path)?,
        ))
    }

    /// Another handle on the same revisions; the entries are shared.
    pub fn share(&self) -> Revlog {
        let again = Revlog::with_index(&self.storage, &self.path, self.index.share());
        again.with_data(self.data_path.clone())
    }

    /// As [`Revlog::open`], but a missing file is a revlog without revisions: Mercurial makes the
    /// files with the first commit.
    ///
    /// # Errors
    /// Damage or an unknown format.
    pub fn open_or_empty(storage: &Arc<dyn Storage>, path: &Path) -> Result<Revlog, RevlogError> {
        match Revlog::open(storage, path) {
            Err(RevlogError::Storage(error)) if error.is_not_found() => {
                Ok(Revlog::with_index(storage, path, Index::empty()))
            }
            other => other,
        }
    }

    /// As [`Revlog::open`], with another index in place of that of `path`; the data file is that of
    /// `path`.
    ///
    /// # Errors
    /// As of [`Revlog::open`].
    pub fn open_with_index(
        storage: &Arc<dyn Storage>,
        path: &Path,
        index: &Path,
    ) -> Result<Revlog, RevlogError> {
        let bytes = storage.open(index, OpenMode::Read)?.read_all()?;
        Ok(Revlog::with_index(
            storage,
            path,
            Index::parse(bytes, index)?,
        ))
    }

    /// As [`Revlog::open_or_empty`], but looks only at the first `len` bytes of the index: the bytes
    /// behind them belong to a transaction that can still be undone.
    ///
    /// # Errors
    /// Damage or an unknown format.
    pub fn open_up_to(
        storage: &Arc<dyn Storage>,
        path: &Path,
        len: u64,
    ) -> Result<Revlog, RevlogError> {
        let index = match storage.open(path, OpenMode::Read) {
            Ok(file) => {
                let len = usize::try_from(len.min(file.len()?)).unwrap_or(usize::MAX);
                Index::parse(file.read_vec(0, len)?, path)?
            }
            Err(error) if error.is_not_found() => Index::empty(),
            Err(error) => return Err(error.into()),
        };
        Ok(Revlog::with_index(storage, path, index))
    }

    fn with_index(storage: &Arc<dyn Storage>, path: &Path, index: Index) -> Revlog {
        Revlog {
            storage: storage.clone(),
            path: path.to_owned(),
            data_path: path.with_extension("d"),
            pending: Vec::new(),
            pending_start: index.data_len(),
            in_files: index.len(),
            searches: AtomicU32::new(0),
            index,
            nodes: OnceLock::new(),
            data: OnceLock::new(),
            reader: Mutex::default(),
        }
    }

    /// The same, but with its chunks in this file. Names that are too long for a file system are
    /// hashed with their ending, so that the data file's does not follow from the index's.
    #[must_use]
    pub fn with_data(mut self, path: PathBuf) -> Revlog {
        self.data_path = path;
        self
    }

    /// The data file, relative to the storage; there is none beside an inline index.
    pub fn data_path(&self) -> &Path {
        &self.data_path
    }

    /// The index file, relative to the storage.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of revisions.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are no revisions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All revisions, oldest first.
    pub fn revs(&self) -> impl DoubleEndedIterator<Item = Rev> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(Rev)
    }

    /// The newest revision.
    pub fn tip(&self) -> Option<Rev> {
        (self.len() as u32).checked_sub(1).map(Rev)
    }

    /// The revision with this number, if there is one.
    pub fn rev_at(&self, number: i64) -> Option<Rev> {
        let rev = u32::try_from(number).ok().map(Rev)?;
        (rev.index() < self.len()).then_some(rev)
    }

    /// Name of a revision.
    pub fn node(&self, rev: Rev) -> Node {
        self.index.node(rev)
    }

    /// Name of a revision or [`Node::NULL`].
    pub fn node_or_null(&self, rev: Option<Rev>) -> Node {
        rev.map_or(Node::NULL, |rev| self.node(rev))
    }

    /// The revision of this node. The first searches are linear; later ones sort all nodes once.
    pub fn rev(&self, node: &Node) -> Option<Rev> {
        let sorted = self.nodes.get().is_some();
        let few = self.len() <= FEW || self.searches.fetch_add(1, Relaxed) < FEW_SEARCHES;
        if few && !sorted {
            return self.revs().rev().find(|rev| self.node(*rev) == *node);
        }
        self.nodes().rev(&self.index, node)
    }

    /// The revision whose node begins with these hexadecimal digits.
    pub fn rev_by_prefix(&self, hex: &[u8]) -> PrefixMatch {
        self.nodes().prefix(&self.index, hex)
    }

    fn nodes(&self) -> &NodeTable {
        self.nodes.get_or_init(|| NodeTable::new(&self.index))
    }

    /// Both parents, in the order in which they are stored; always older than `rev`.
    pub fn parents(&self, rev: Rev) -> [Option<Rev>; 2] {
        let entry = self.index.entry(rev);
        [entry.p1, entry.p2]
    }

    /// Number of the changeset that introduced a revision, as stored and unchecked:
    /// [`Revlog::rev_at`] of the changelog checks it.
    pub fn linkrev(&self, rev: Rev) -> i64 {
        i64::from(self.index.entry(rev).link)
    }

    /// Bits of [`crate::flag`].
    pub fn flags(&self, rev: Rev) -> u16 {
        self.index.entry(rev).flags
    }

    /// Base of the stored delta of a revision; `None` if it is stored as a full text.
    pub fn delta_parent(&self, rev: Rev) -> Option<Rev> {
        self.index.delta_parent(rev)
    }

    /// All fields of a revision's entry.
    pub fn entry(&self, rev: Rev) -> Entry {
        self.index.entry(rev)
    }

    /// Header of the index file.
    pub fn header(&self) -> Header {
        self.index.header()
    }

    /// Bytes of all chunks, as stored.
    pub fn data_len(&self) -> u64 {
        self.index.data_len()
    }

    /// A reader of its own, for one thread that reads many revisions.
    pub fn reader(&self) -> Reader<'_> {
        self.reader_with(ReaderState::default())
    }

    /// As [`Revlog::reader`], with the buffers and contexts of an earlier reader of any revlog.
    pub fn reader_with(&self, state: ReaderState) -> Reader<'_> {
        Reader::new(self, state)
    }

    /// Full text of a revision, checked against its node. For many revisions, [`Revlog::reader`]
    /// copies less.
    ///
    /// # Errors
    /// See [`Reader::text`].
    pub fn text(&self, rev: Rev) -> Result<Vec<u8>, RevlogError> {
        let mut reader = self.reader.lock();
        reader.text(self, rev).map(<[u8]>::to_vec)
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// Forgets all but the first `kept` revisions; only before anything was gathered.
    pub(crate) fn truncate(&mut self, kept: usize) {
        self.index.truncate(kept);
        self.pending_start = self.index.data_len();
        self.in_files = self.index.len();
        self.nodes = OnceLock::new();
        self.reader = Mutex::default();
    }

    /// Only for a revlog without revisions.
    pub(crate) fn set_header(&mut self, header: Header) {
        self.index.set_header(header);
    }

    /// Adds a revision that is in no file yet; its chunk begins where the last one ends.
    pub(crate) fn buffer(&mut self, entry: &Entry, chunk: &[u8]) {
        self.index.push(entry, chunk);
        if !self.header().inline {
            self.pending.extend_from_slice(chunk);
        }
    }

    /// Whether a revision is in no file yet.
    pub(crate) fn is_buffered(&self, rev: Rev) -> bool {
        rev.index() >= self.in_files
    }

    /// Chunks that are in no file yet, if they are not inline, and where they begin among all.
    pub(crate) fn pending(&self) -> (&[u8], u64) {
        (&self.pending, self.pending_start)
    }

    /// Chunks no longer stand between entries.
    pub(crate) fn split_inline(&mut self) {
        if self.header().inline {
            self.pending = self.index.split_inline();
            self.pending_start = 0;
        }
    }

    /// All pending chunks are in the data file now.
    pub(crate) fn spilled(&mut self) {
        self.pending.clear();
        self.pending_start = self.index.data_len();
        self.data = OnceLock::new();
    }

    /// All chunks that are in memory, and where they begin among all chunks.
    pub(crate) fn chunks_in_memory(&self) -> (&[u8], u64) {
        if self.header().inline {
            (self.index.inline_chunks(), 0)
        } else {
            (&self.pending, self.pending_start)
        }
    }

    pub(crate) fn data_file(&self) -> Result<&dyn StorageFile, RevlogError> {
        Ok(self.data()?.0.as_ref())
    }

    /// Length of the data file when it was opened.
    /// # Errors
    /// If it cannot be opened.
    pub fn data_file_len(&self) -> Result<u64, RevlogError> {
        Ok(self.data()?.1)
    }

    fn data(&self) -> Result<&(Arc<dyn StorageFile>, u64), RevlogError> {
        if let Some(data) = self.data.get() {
            return Ok(data);
        }
        let file = self.storage.open(&self.data_path, OpenMode::Read)?;
        let len = file.len()?;
        Ok(self.data.get_or_init(|| (file, len)))
    }

    pub(crate) fn damaged_chunk(
        &self,
        rev: Rev,
        entry: &Entry,
        reason: &dyn fmt::Display,
    ) -> RevlogError {
        RevlogError::DamagedChunk {
            path: self.path.clone(),
            rev,
            offset: entry.offset,
            reason: reason.to_string(),
        }
    }
}
