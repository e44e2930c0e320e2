//! One commit, seen for ever.

mod range;

pub use range::Range;

use crate::TreeError;
use crate::chunk::ChunkRef;
use crate::commit::{Commit, Root};
use crate::entry::{Bounds, Direction, TreeEntry};
use crate::node::Node;
use crate::pages::{NodeSource, Pages};
use crate::read;
use crate::readahead::ReadScope;
use crate::reducer::Reducer;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use varve_base::ReadMode;

/// The file as one commit left it. Clones are cheap and share everything; no call waits for the
/// writer. Trees are named by their number.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) pages: Arc<Pages>,
    pub(crate) state: Arc<CommitState>,
    /// How the file is read where the cache of nodes does not do.
    pub(crate) mode: ReadMode,
}

/// A commit and where its record stands.
#[derive(Debug)]
pub(crate) struct CommitState {
    pub(crate) commit: Commit,
    /// Position of the record.
    pub(crate) at: u64,
    /// Position behind the record.
    pub(crate) end: u64,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Snapshot({} at {})",
            self.pages.path().display(),
            self.state.at
        )
    }
}

impl NodeSource for Snapshot {
    fn pages(&self) -> &Pages {
        &self.pages
    }

    fn node(&self, at: ChunkRef, level: u8, count: u64) -> Result<Arc<Node>, TreeError> {
        let place = (self.pages.number, at.offset);
        if let Some(node) = self.pages.cache.get(place) {
            self.pages.check_node(&node, at, level, count)?;
            return Ok(node);
        }
        let node = self.pages.read_node(at, self.scope())?;
        self.pages.check_node(&node, at, level, count)?;
        let node = Arc::new(node.compacted());
        self.pages.cache.put(place, &node);
        Ok(node)
    }
}

impl Snapshot {
    /// The same commit, read so from now on; iterators over it, too. In
    /// [`ReadMode::CachedOnly`], any call may fail with [`TreeError::is_would_block`].
    #[must_use]
    pub fn with_mode(self, mode: ReadMode) -> Snapshot {
        Snapshot { mode, ..self }
    }

    /// Whether reads may wait for the disk.
    pub fn mode(&self) -> ReadMode {
        self.mode
    }

    pub(crate) fn scope(&self) -> ReadScope {
        ReadScope {
            limit: self.state.end,
            mode: self.mode,
        }
    }

    pub(crate) fn root(&self, tree: usize) -> Result<&Root, TreeError> {
        self.pages.check_tree(tree)?;
        Ok(&self.state.commit.roots[tree])
    }

    /// How many trees there are.
    pub(crate) fn trees(&self) -> usize {
        self.state.commit.roots.len()
    }

    /// Reducer of an existing tree.
    pub(crate) fn reducer(&self, tree: usize) -> &dyn Reducer {
        self.pages.reducers[tree].as_ref()
    }

    /// The bytes that the commit was given beside its trees.
    pub fn user_header(&self) -> &[u8] {
        &self.state.commit.user_header
    }

    /// A number that grows with every commit of this file: the position of its record.
    pub fn position(&self) -> u64 {
        self.state.at
    }

    /// How many items a tree has.
    ///
    /// # Errors
    /// [`TreeError::NoTree`].
    pub fn len(&self, tree: usize) -> Result<u64, TreeError> {
        Ok(self.root(tree)?.count)
    }

    /// The item with this key.
    ///
    /// # Errors
    /// Damage, or an error of the storage; so for all calls below.
    pub fn get(&self, tree: usize, key: &[u8]) -> Result<Option<TreeEntry>, TreeError> {
        read::get(self, self.root(tree)?, key)
    }

    /// The items with these keys, in the order of the keys, which must ascend.
    ///
    /// # Errors
    /// [`TreeError::Unsorted`].
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        tree: usize,
        keys: &[K],
    ) -> Result<Vec<Option<TreeEntry>>, TreeError> {
        check_ascending(tree, keys)?;
        read::get_many(self, self.root(tree)?, keys)
    }

    /// The items within bounds. `nth` skips at the cost of one lookup.
    ///
    /// # Errors
    /// See [`Snapshot::get`]; the iterator itself gives an error at most once and then ends.
    pub fn range(
        &self,
        tree: usize,
        bounds: Bounds<'_>,
        direction: Direction,
    ) -> Result<Range, TreeError> {
        let root = self.root(tree)?;
        let ranks = read::ranks(self, root, bounds)?;
        Ok(Range::new(self.clone(), root.clone(), ranks, direction))
    }

    /// The items with these numbers, counted from 0 in key order; numbers past the last item are
    /// left out.
    ///
    /// # Errors
    /// [`TreeError::NoTree`].
    pub fn range_by_rank(
        &self,
        tree: usize,
        ranks: std::ops::Range<u64>,
        direction: Direction,
    ) -> Result<Range, TreeError> {
        let root = self.root(tree)?;
        let high = ranks.end.min(root.count);
        let ranks = ranks.start.min(high)..high;
        Ok(Range::new(self.clone(), root.clone(), ranks, direction))
    }

    /// How many items are within bounds, in the time of two lookups.
    ///
    /// # Errors
    /// See [`Snapshot::get`].
    pub fn count(&self, tree: usize, bounds: Bounds<'_>) -> Result<u64, TreeError> {
        let ranks = self.ranks(tree, bounds)?;
        Ok(ranks.end - ranks.start)
    }

    /// The numbers of the items within bounds, counted from 0 in key order.
    ///
    /// # Errors
    /// See [`Snapshot::get`].
    pub fn ranks(
        &self,
        tree: usize,
        bounds: Bounds<'_>,
    ) -> Result<std::ops::Range<u64>, TreeError> {
        read::ranks(self, self.root(tree)?, bounds)
    }

    /// How many items stand before `key`.
    ///
    /// # Errors
    /// See [`Snapshot::get`].
    pub fn rank(&self, tree: usize, key: &[u8]) -> Result<u64, TreeError> {
        let ranks = self.ranks(tree, (Bound::Unbounded, Bound::Excluded(key)))?;
        Ok(ranks.end)
    }

    /// The summary that the tree's reducer makes of the items within bounds, in the time of a few
    /// lookups.
    ///
    /// # Errors
    /// See [`Snapshot::get`].
    pub fn reduce(&self, tree: usize, bounds: Bounds<'_>) -> Result<Vec<u8>, TreeError> {
        let ranks = self.ranks(tree, bounds)?;
        self.reduce_by_rank(tree, ranks)
    }

    /// The summary of the items with these numbers.
    ///
    /// # Errors
    /// See [`Snapshot::get`].
    pub fn reduce_by_rank(
        &self,
        tree: usize,
        ranks: std::ops::Range<u64>,
    ) -> Result<Vec<u8>, TreeError> {
        let root = self.root(tree)?;
        let high = ranks.end.min(root.count);
        let ranks = ranks.start.min(high)..high;
        read::reduce(self, root, self.reducer(tree), ranks)
    }

    /// Appends the content of a chunk to `out`.
    ///
    /// # Errors
    /// See [`Snapshot::get`].
    pub fn read_chunk(&self, at: ChunkRef, out: &mut Vec<u8>) -> Result<(), TreeError> {
        self.pages.read_chunk(at, self.scope(), out)
    }

    /// Stored bytes of all nodes of a tree.
    ///
    /// # Errors
    /// [`TreeError::NoTree`].
    pub fn stored_len(&self, tree: usize) -> Result<u64, TreeError> {
        Ok(self.root(tree)?.stored)
    }

    /// Calls `visit` with the content of every node of a tree as it was before compression, for
    /// measuring.
    ///
    /// # Errors
    /// See [`Snapshot::get`]; an error of `visit` ends the walk.
    pub fn visit_nodes<E: From<TreeError>>(
        &self,
        tree: usize,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(root) = self.root_node(self.root(tree)?)? else {
            return Ok(());
        };
        let mut raw = Vec::new();
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            if *next == 0 {
                raw.clear();
                node.encode(&mut raw);
                visit(&raw)?;
            }
            if node.level() == 0 || *next == node.len() {
                path.pop();
                continue;
            }
            *next += 1;
            let child = self.child_node(node, node.child(*next - 1))?;
            path.push((child, 0));
        }
        Ok(())
    }
}

/// Refuses keys that are not in ascending order, each once.
pub(crate) fn check_ascending<K: AsRef<[u8]>>(tree: usize, keys: &[K]) -> Result<(), TreeError> {
    match keys
        .windows(2)
        .position(|pair| pair[0].as_ref() >= pair[1].as_ref())
    {
        None => Ok(()),
        Some(before) => Err(TreeError::Unsorted {
            tree,
            position: before as u64 + 1,
        }),
    }
}
