//! Preparing the next commit.

mod edit;
mod write;

use edit::BatchEntry;

use crate::chunk::{ChunkRef, EncodedChunk};
use crate::commit::Root;
use crate::entry::TreeEntry;
use crate::error::check_len;
use crate::file::{TreeFile, Writer};
use crate::node::{MAX_KEY, MAX_VALUE, Node};
use crate::pages::{NodeSource, Pages};
use crate::read;
use crate::readahead::ReadScope;
use crate::snapshot::{Snapshot, check_ascending};
use crate::stats::{ChunkCount, ChunkStats};
use crate::{ChunkForm, TreeError};
use parking_lot::MutexGuard;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use varve_codec::{Compressor, EngineSetting};
use xxhash_rust::xxh3::Xxh3;

/// The next commit in the making; there is one at a time for a file. Dropping it aborts it.
pub struct Transaction<'f> {
    pub(crate) file: &'f TreeFile,
    writer: MutexGuard<'f, Writer>,
    base: Snapshot,
    roots: Vec<Root>,
    user_header: Vec<u8>,
    /// Bytes already handed to the file.
    spilled: u64,
    /// Over the bytes since `span`.
    hash: Xxh3,
    /// Where `hash` begins.
    span: u64,
    /// Nodes written here that are still in the buffer.
    fresh: HashMap<u64, Arc<Node>>,
    /// Chunks and nodes that were appended.
    chunk_stats: ChunkStats,
}

impl TreeFile {
    /// Starts the next commit; waits until a transaction that was started before is done.
    ///
    /// # Errors
    /// [`TreeError::ReadOnly`]; errors of the storage on removing the bytes of a failed transaction.
    pub fn begin(&self) -> Result<Transaction<'_>, TreeError> {
        Ok(Transaction::new(self, self.lock_writer()?))
    }

    /// Makes everything that was committed durable.
    ///
    /// # Errors
    /// See [`TreeFile::begin`].
    pub fn sync(&self) -> Result<(), TreeError> {
        self.begin()?.sync_base()
    }
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transaction({} on {:?})", self.position(), self.base)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.writer.buffer.clear();
        self.writer.torn |= self.spilled > 0;
    }
}

impl NodeSource for Transaction<'_> {
    fn pages(&self) -> &Pages {
        &self.base.pages
    }

    fn node(&self, at: ChunkRef, level: u8, count: u64) -> Result<Arc<Node>, TreeError> {
        if at.offset < self.base.state.end {
            return self.base.node(at, level, count);
        }
        if let Some(node) = self.fresh.get(&at.offset) {
            return Ok(node.clone());
        }
        let in_file = self.base.state.end + self.spilled;
        let node = match at.offset.checked_sub(in_file) {
            None => self.pages().read_node(at, ReadScope::blocking(in_file))?,
            Some(start) => {
                let stored = &self.writer.buffer[start as usize..][..at.len as usize];
                self.pages().node_of(stored, at.offset)?
            }
        };
        self.pages().check_node(&node, at, level, count)?;
        Ok(Arc::new(node))
    }
}

impl<'f> Transaction<'f> {
    pub(crate) fn new(file: &'f TreeFile, writer: MutexGuard<'f, Writer>) -> Self {
        let base = file.snapshot();
        Transaction {
            file,
            writer,
            roots: base.state.commit.roots.clone(),
            user_header: base.state.commit.user_header.clone(),
            spilled: 0,
            hash: Xxh3::new(),
            span: base.state.end,
            fresh: HashMap::new(),
            chunk_stats: ChunkStats::default(),
            base,
        }
    }

    /// The commit that this one follows.
    pub fn base(&self) -> &Snapshot {
        &self.base
    }

    /// Where the next byte will stand.
    fn position(&self) -> u64 {
        self.base.state.end + self.spilled + self.writer.buffer.len() as u64
    }

    /// Chunks and nodes appended so far, by their form.
    pub fn chunk_stats(&self) -> &ChunkStats {
        &self.chunk_stats
    }

    fn count(&mut self, form: ChunkForm, len: u32) {
        let bytes = u64::from(len);
        self.chunk_stats.add(form, ChunkCount { chunks: 1, bytes });
    }

    /// Compresses nodes so from now on, also in transactions to come.
    ///
    /// # Errors
    /// [`TreeError::Compress`] if the codec refuses.
    pub fn compress_nodes_by(&mut self, setting: EngineSetting) -> Result<(), TreeError> {
        if self.writer.compressor.setting() != setting {
            self.writer.compressor = Compressor::new(setting).map_err(TreeError::Compress)?;
        }
        Ok(())
    }

    /// Adds a chunk and returns where it will stand once committed.
    ///
    /// # Errors
    /// Errors of the storage; the transaction is then of no further use.
    pub fn append_chunk(&mut self, chunk: &EncodedChunk) -> Result<ChunkRef, TreeError> {
        let offset = self.position();
        self.writer.buffer.extend_from_slice(chunk.bytes());
        // A chunk's payload is at most MAX_RAW.
        let len = chunk.stored_len() as u32;
        self.count(chunk.form(), len);
        self.spill_if_long()?;
        Ok(ChunkRef { offset, len })
    }

    /// Applies changes, each a key with its new value or `None` to remove it, in one pass over the
    /// tree. Keys must ascend, each once. Removing a key that is not there changes nothing.
    ///
    /// # Errors
    /// [`TreeError::Unsorted`] and [`TreeError::TooLong`] before anything was changed; damage; an
    /// error of the storage.
    pub fn update<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        tree: usize,
        changes: &[(K, Option<V>)],
    ) -> Result<(), TreeError> {
        self.check_tree(tree)?;
        let borrowed = |(key, value): &'_ (K, Option<V>)| -> Result<(), TreeError> {
            check_len("key", key.as_ref().len(), MAX_KEY)?;
            let len = value.as_ref().map_or(0, |value| value.as_ref().len());
            check_len("value", len, MAX_VALUE)
        };
        changes.iter().try_for_each(borrowed)?;
        let changes: Vec<BatchEntry<'_>> = changes
            .iter()
            .map(|(key, value)| (key.as_ref(), value.as_ref().map(AsRef::as_ref)))
            .collect();
        let wrong = changes.windows(2).position(|pair| pair[0].0 >= pair[1].0);
        if let Some(before) = wrong {
            let position = before as u64 + 1;
            return Err(TreeError::Unsorted { tree, position });
        }
        if !changes.is_empty() {
            let root = self.roots[tree].clone();
            self.roots[tree] = edit::apply(self, tree, &root, &changes)?;
        }
        Ok(())
    }

    /// The item with this key as changed so far.
    ///
    /// # Errors
    /// See [`Snapshot::get`].
    pub fn get(&self, tree: usize, key: &[u8]) -> Result<Option<TreeEntry>, TreeError> {
        self.check_tree(tree)?;
        read::get(self, &self.roots[tree], key)
    }

    /// The items with these keys as changed so far; see [`Snapshot::get_many`].
    ///
    /// # Errors
    /// See [`Snapshot::get_many`].
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        tree: usize,
        keys: &[K],
    ) -> Result<Vec<Option<TreeEntry>>, TreeError> {
        self.check_tree(tree)?;
        check_ascending(tree, keys)?;
        read::get_many(self, &self.roots[tree], keys)
    }

    /// How many items a tree has as changed so far.
    ///
    /// # Errors
    /// [`TreeError::NoTree`].
    pub fn len(&self, tree: usize) -> Result<u64, TreeError> {
        self.check_tree(tree)?;
        Ok(self.roots[tree].count)
    }

    /// The summary of all items of a tree as changed so far.
    ///
    /// # Errors
    /// [`TreeError::NoTree`].
    pub fn reduce_all(&self, tree: usize) -> Result<Vec<u8>, TreeError> {
        self.check_tree(tree)?;
        Ok(match self.roots[tree].node {
            Some(_) => self.roots[tree].reduction.clone(),
            None => self.pages().reducers[tree].combine(&[]),
        })
    }

    /// Appends the content of a chunk, committed or of this transaction, to `out`.
    ///
    /// # Errors
    /// See [`Snapshot::read_chunk`].
    pub fn read_chunk(&self, at: ChunkRef, out: &mut Vec<u8>) -> Result<(), TreeError> {
        let in_file = self.base.state.end + self.spilled;
        let Some(start) = at.offset.checked_sub(in_file) else {
            return self
                .pages()
                .read_chunk(at, ReadScope::blocking(in_file), out);
        };
        let stored = usize::try_from(start)
            .ok()
            .and_then(|start| self.writer.buffer.get(start..)?.get(..at.len as usize))
            .ok_or_else(|| {
                self.pages()
                    .damaged(at.offset, "a reference points behind the file")
            })?;
        self.pages().decode_chunk(stored, at.offset, out)
    }

    /// Empties a tree.
    ///
    /// # Errors
    /// [`TreeError::NoTree`].
    pub fn clear(&mut self, tree: usize) -> Result<(), TreeError> {
        self.check_tree(tree)?;
        self.roots[tree] = Root::default();
        Ok(())
    }

    /// Sets the bytes that the commit record carries beside the roots; without this call they stay
    /// as they were. They are written with every commit, so they should be few.
    pub fn set_user_header(&mut self, bytes: &[u8]) {
        self.user_header.clear();
        self.user_header.extend_from_slice(bytes);
    }

    pub(crate) fn check_tree(&self, tree: usize) -> Result<(), TreeError> {
        self.pages().check_tree(tree)
    }

    /// A tree as it is now.
    pub(crate) fn root(&self, tree: usize) -> Result<&Root, TreeError> {
        self.check_tree(tree)?;
        Ok(&self.roots[tree])
    }

    pub(crate) fn set_root(&mut self, tree: usize, root: Root) {
        self.roots[tree] = root;
    }
}
