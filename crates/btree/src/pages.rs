//! Reading chunks and nodes of an open file.

use crate::TreeError;
use crate::chunk::{self, CHUNK_HEAD, ChunkRef};
use crate::dictionaries::Dictionaries;
use crate::header::{HEADER_LEN, Header};
use crate::node::{Child, Node};
use crate::readahead::{ReadScope, Readahead};
use crate::reducer::Reducer;
use crate::{ChunkForm, NodeCache, commit::Root};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use varve_base::StorageFile;
use varve_codec::Expander;

/// State that all snapshots and the writer of one open file share.
pub(crate) struct Pages {
    pub(crate) file: Arc<dyn StorageFile>,
    pub(crate) header: Header,
    pub(crate) reducers: Vec<Arc<dyn Reducer>>,
    pub(crate) cache: NodeCache,
    /// The file's number in the cache.
    pub(crate) number: u64,
    pub(crate) dictionaries: Arc<Dictionaries>,
    /// Set for a reader that reads chunks about in file order.
    pub(crate) readahead: Option<Readahead>,
}

/// Contexts and buffers that a thread keeps from chunk to chunk.
#[derive(Default)]
struct Scratch {
    expander: Expander,
    stored: Vec<u8>,
    raw: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// In bytes: buffers that grew longer are freed.
const KEEP: usize = 1 << 20;

/// Finds nodes: a snapshot in its file, a transaction in its buffered bytes too.
pub(crate) trait NodeSource {
    fn pages(&self) -> &Pages;

    /// The node at `at`, which must be of this level and count as many items.
    fn node(&self, at: ChunkRef, level: u8, count: u64) -> Result<Arc<Node>, TreeError>;

    fn child_node(&self, parent: &Node, child: Child) -> Result<Arc<Node>, TreeError> {
        // Decoding gave a node with children a level above 0.
        self.node(child.at, parent.level() - 1, child.count)
    }

    /// The root node; `None` for a tree without items.
    fn root_node(&self, root: &Root) -> Result<Option<Arc<Node>>, TreeError> {
        match root.node {
            Some(at) => self.node(at, root.level, root.count).map(Some),
            None => Ok(None),
        }
    }
}

impl Pages {
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    fn context(&self, offset: u64) -> chunk::ChunkContext<'_> {
        chunk::ChunkContext {
            dictionaries: &self.dictionaries,
            path: self.path(),
            offset,
        }
    }

    pub(crate) fn damaged(&self, offset: u64, reason: &'static str) -> TreeError {
        TreeError::damaged(self.path(), offset, reason)
    }

    /// Whether a tree of that number exists.
    pub(crate) fn check_tree(&self, tree: usize) -> Result<(), TreeError> {
        let trees = self.reducers.len();
        if tree < trees {
            return Ok(());
        }
        let path = self.path().to_owned();
        Err(TreeError::NoTree { path, tree, trees })
    }

    /// Appends the content of the chunk to `out`. Chunks end before the scope's limit.
    pub(crate) fn read_chunk(
        &self,
        at: ChunkRef,
        scope: ReadScope,
        out: &mut Vec<u8>,
    ) -> Result<(), TreeError> {
        let mut take = |stored: &[u8], expander: &mut Expander| match chunk::check(
            stored,
            (self.path(), at.offset),
        )? {
            (ChunkForm::Delta, payload) => Ok(Some(payload.to_vec())),
            (form, payload) => {
                chunk::expand(form, payload, expander, self.context(at.offset), out)?;
                Ok(None)
            }
        };
        let delta = match self.readahead.as_ref().and_then(Readahead::window) {
            Some(mut window) => {
                self.check_place(at, scope.limit)?;
                let stored = window.chunk(&*self.file, at, scope)?;
                SCRATCH.with_borrow_mut(|scratch| take(stored, &mut scratch.expander))?
            }
            None => self.with_stored(at, scope, |stored, expander, _| take(stored, expander))?,
        };
        match delta {
            Some(payload) => self.expand_delta(&payload, scope.upto(at.offset), out),
            None => Ok(()),
        }
    }

    /// Form and payload of a chunk, checked but not expanded.
    pub(crate) fn read_stored(
        &self,
        at: ChunkRef,
        scope: ReadScope,
    ) -> Result<(ChunkForm, Vec<u8>), TreeError> {
        self.with_stored(at, scope, |stored, _, _| {
            let (form, payload) = chunk::check(stored, (self.path(), at.offset))?;
            Ok((form, payload.to_vec()))
        })
    }

    /// Appends the content of a chunk that is in memory to `out`.
    pub(crate) fn decode_chunk(
        &self,
        stored: &[u8],
        offset: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), TreeError> {
        let (form, payload) = chunk::check(stored, (self.path(), offset))?;
        self.expand(form, payload, ReadScope::blocking(offset), out)
    }

    /// Appends the expanded form of a payload. Its chunk begins at the scope's limit and was checked before; the chunks
    /// that it is a delta of are read as the scope allows.
    pub(crate) fn expand(
        &self,
        form: ChunkForm,
        payload: &[u8],
        scope: ReadScope,
        out: &mut Vec<u8>,
    ) -> Result<(), TreeError> {
        if form == ChunkForm::Delta {
            return self.expand_delta(payload, scope, out);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let context = self.context(scope.limit);
            chunk::expand(form, payload, &mut scratch.expander, context, out)
        })
    }

    /// The same pages for a reader that leaves the cache alone.
    pub(crate) fn uncached(&self) -> Pages {
        self.with(NodeCache::new(0), None)
    }

    /// The same pages for a reader that reads chunks about in their order.
    pub(crate) fn in_order(&self) -> Pages {
        self.with(self.cache.clone(), Some(Readahead::default()))
    }

    fn with(&self, cache: NodeCache, readahead: Option<Readahead>) -> Pages {
        Pages {
            file: self.file.clone(),
            header: self.header,
            reducers: self.reducers.clone(),
            cache,
            number: self.number,
            dictionaries: self.dictionaries.clone(),
            readahead,
        }
    }

    /// A node from the file, past the cache.
    pub(crate) fn read_node(&self, at: ChunkRef, scope: ReadScope) -> Result<Node, TreeError> {
        self.with_stored(at, scope, |stored, expander, raw| {
            self.decode_node(stored, at.offset, expander, raw)
        })
    }

    /// The same, with how it is stored.
    pub(crate) fn read_node_form(
        &self,
        at: ChunkRef,
        scope: ReadScope,
    ) -> Result<(Node, ChunkForm), TreeError> {
        self.with_stored(at, scope, |stored, expander, raw| {
            let node = self.decode_node(stored, at.offset, expander, raw)?;
            Ok((node, chunk::form_of(stored)))
        })
    }

    /// A node whose chunk is in memory.
    pub(crate) fn node_of(&self, stored: &[u8], offset: u64) -> Result<Node, TreeError> {
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch { expander, raw, .. } = scratch;
            self.decode_node(stored, offset, expander, raw)
        })
    }

    fn decode_node(
        &self,
        stored: &[u8],
        offset: u64,
        expander: &mut Expander,
        raw: &mut Vec<u8>,
    ) -> Result<Node, TreeError> {
        raw.clear();
        chunk::decode(stored, expander, self.context(offset), raw)?;
        let node = Node::decode(raw).map_err(|reason| self.damaged(offset, reason));
        raw.shrink_to(KEEP);
        node
    }

    /// Refuses a place that cannot be a chunk ending before `limit`.
    pub(crate) fn check_place(&self, at: ChunkRef, limit: u64) -> Result<(), TreeError> {
        let fits = at.end().is_some_and(|end| end <= limit);
        if fits && at.offset >= HEADER_LEN as u64 && at.len as usize >= CHUNK_HEAD {
            return Ok(());
        }
        Err(self.damaged(at.offset, "a reference points outside of what is committed"))
    }

    fn with_stored<T>(
        &self,
        at: ChunkRef,
        scope: ReadScope,
        decode: impl FnOnce(&[u8], &mut Expander, &mut Vec<u8>) -> Result<T, TreeError>,
    ) -> Result<T, TreeError> {
        self.check_place(at, scope.limit)?;
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch {
                expander,
                stored,
                raw,
            } = scratch;
            // The limit is within the file, so this is no claim.
            stored.resize(at.len as usize, 0);
            self.file.read_exact_by(scope.mode, at.offset, stored)?;
            let done = decode(stored, expander, raw);
            stored.truncate(KEEP);
            stored.shrink_to(KEEP);
            done
        })
    }

    /// Refuses a node that differs from its parent's description, which also ends every cycle.
    pub(crate) fn check_node(
        &self,
        node: &Node,
        at: ChunkRef,
        level: u8,
        count: u64,
    ) -> Result<(), TreeError> {
        if node.level() != level {
            return Err(self.damaged(at.offset, "a node has another level than its parent says"));
        }
        if node.count() != count {
            return Err(self.damaged(at.offset, "a node counts other items than its parent says"));
        }
        Ok(())
    }
}
