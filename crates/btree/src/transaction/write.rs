//! How a transaction's nodes and bytes get into the file.

use super::Transaction;
use super::edit;
use crate::TreeError;
use crate::chunk::{self, ChunkRef};
use crate::commit::{self, Commit, Root};
use crate::error::check_len;
use crate::file::Writer;
use crate::node::{Child, MAX_VALUE, Node};
use crate::pages::NodeSource;
use crate::snapshot::{CommitState, Snapshot};
use crate::tail;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Bytes are handed to the file, without sync, once so many wait in memory.
const SPILL: usize = 8 << 20;

/// Commits without sync are followed by one after so many bytes, so that opening the file never
/// has more than this to check.
const UNSYNCED: u64 = 64 << 20;

impl Transaction<'_> {
    /// Writes a node and enters it into its parent; it will be read again soon.
    pub(crate) fn write_node(
        &mut self,
        tree: usize,
        node: Node,
        parent: &mut Node,
    ) -> Result<(), TreeError> {
        let child = self.encode_node(tree, &node, parent)?;
        self.fresh
            .insert(child.at.offset, Arc::new(node.compacted()));
        self.spill_if_long()
    }

    /// Writes a node that is not expected to be read soon.
    pub(crate) fn write_loaded(
        &mut self,
        tree: usize,
        node: Node,
        parent: &mut Node,
    ) -> Result<(), TreeError> {
        self.check_tree(tree)?;
        self.encode_node(tree, &node, parent)?;
        self.spill_if_long()
    }

    /// Writes a tree's topmost node.
    pub(crate) fn write_root(&mut self, tree: usize, node: Node) -> Result<Root, TreeError> {
        let level = node.level();
        let mut above = Node::new(level + 1);
        self.write_node(tree, node, &mut above)?;
        Ok(edit::root_of(&above, level))
    }

    fn encode_node(
        &mut self,
        tree: usize,
        node: &Node,
        parent: &mut Node,
    ) -> Result<Child, TreeError> {
        let offset = self.position();
        let Writer {
            compressor,
            buffer,
            raw,
            ..
        } = &mut *self.writer;
        raw.clear();
        node.encode(raw);
        let start = buffer.len();
        let len = chunk::encode_into(compressor, raw, buffer)?;
        let form = chunk::form_of(&buffer[start..]);
        self.count(form, len);
        let reducer = &self.base.pages.reducers[tree];
        let mut entries = (0..node.len()).map(|index| (node.key(index), node.value(index)));
        let reduction = match node.level() {
            0 => reducer.leaf(&mut entries),
            _ => reducer.combine(&entries.map(|(_, part)| part).collect::<Vec<_>>()),
        };
        check_len("reduction", reduction.len(), MAX_VALUE)?;
        let child = Child {
            at: ChunkRef { offset, len },
            count: node.count(),
            stored: node.stored_below().saturating_add(u64::from(len)),
        };
        parent.push_child(node.key(0), child, &reduction);
        Ok(child)
    }

    pub(super) fn spill_if_long(&mut self) -> Result<(), TreeError> {
        if self.writer.buffer.len() < SPILL {
            return Ok(());
        }
        // If it is cut short, the mark says that it is no more than that.
        let padding = commit::padding(self.position());
        let padded = self.writer.buffer.len() + padding;
        self.writer.buffer.resize(padded, 0);
        let mark = tail::mark(
            &self.base.pages.header,
            self.base.state.end,
            self.position(),
        );
        self.writer.buffer.extend_from_slice(&mark);
        self.append_buffer()
    }

    /// Gives the buffer to the file.
    fn append_buffer(&mut self) -> Result<(), TreeError> {
        self.sync_first_commit()?;
        self.hash.update(&self.writer.buffer);
        let expected = self.base.state.end + self.spilled;
        self.writer.torn = true;
        let start = self.pages().file.append(&self.writer.buffer)?;
        if start != expected {
            return Err(self
                .pages()
                .damaged(start, "another writer appended to the file"));
        }
        self.spilled += self.writer.buffer.len() as u64;
        self.writer.buffer.clear();
        self.fresh.clear();
        Ok(())
    }

    /// Nothing is appended to a file whose first commit may still be lost, so that a file of which it was is as short as
    /// that commit ([`TreeFile::is_cut_short`](crate::TreeFile::is_cut_short)).
    fn sync_first_commit(&mut self) -> Result<(), TreeError> {
        match self.writer.durable {
            0 => self.sync(),
            _ => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), TreeError> {
        self.writer.in_doubt = true;
        self.pages().file.sync()?;
        self.writer.in_doubt = false;
        self.writer.durable = self.base.state.end + self.spilled;
        Ok(())
    }

    /// Makes the commits durable that this transaction adds to.
    ///
    /// # Errors
    /// Errors of the storage; the next transaction then writes them once more.
    pub fn sync_base(&mut self) -> Result<(), TreeError> {
        match self.writer.durable < self.base.state.end {
            true => self.sync(),
            false => Ok(()),
        }
    }

    /// Commits: everything is durable when this returns. One append and one sync, or two if the
    /// transaction was longer than fits in memory.
    ///
    /// # Errors
    /// Errors of the storage; nothing is committed then, and the next transaction starts from the same commit as this
    /// one.
    pub fn commit(self) -> Result<Snapshot, TreeError> {
        self.finish(true)
    }

    /// Commits for this process; a power cut may lose it, and then loses all commits after it. For
    /// indexes that can be made again.
    ///
    /// # Errors
    /// See [`Transaction::commit`].
    pub fn commit_unsynced(self) -> Result<Snapshot, TreeError> {
        self.finish(false)
    }

    /// Appends copies of all root nodes, for a commit without changes that seals the file: damage to
    /// a synced commit that ends a file looks like a write that was cut short, and opening leaves
    /// the commit out; damage to one that another follows is found in the chunk that it hits, and
    /// nowhere else. Roots are hit by all who read, so they are there twice then. That commit need
    /// not be durable itself. Returns `false` if there is nothing to be sealed, or if it is not
    /// known to be durable.
    ///
    /// # Errors
    /// Damage; an error of the storage.
    pub fn repeat_roots(&mut self) -> Result<bool, TreeError> {
        if self.writer.durable < self.base.state.end {
            return Ok(false);
        }
        for tree in 0..self.roots.len() {
            if let Some(at) = self.roots[tree].node {
                let chunk = self.base.stored_chunk(at)?;
                self.roots[tree].node = Some(self.append_chunk(&chunk)?);
            }
        }
        Ok(true)
    }

    fn finish(mut self, wanted: bool) -> Result<Snapshot, TreeError> {
        self.sync_first_commit()?;
        if self.spilled > 0 {
            // Spilled bytes are made durable first, so that opening need not check them.
            self.append_buffer()?;
            self.sync()?;
            self.span = self.position();
            self.hash = Xxh3::new();
        }
        let padding = commit::padding(self.position());
        let padded = self.writer.buffer.len() + padding;
        self.writer.buffer.resize(padded, 0);
        self.hash.update(&self.writer.buffer);
        let at = self.position();
        let commit = Commit {
            previous: self.base.state.at,
            durable: self.writer.durable,
            span: self.span,
            span_sum: self.hash.digest(),
            roots: std::mem::take(&mut self.roots),
            user_header: std::mem::take(&mut self.user_header),
        };
        let header = self.base.pages.header;
        commit.encode(&header, at, &mut self.writer.buffer)?;
        let fresh = std::mem::take(&mut self.fresh);
        self.append_buffer()?;
        let end = self.position();
        if wanted || end - self.writer.durable > UNSYNCED {
            self.sync()?;
        }
        let pages = self.pages();
        for (offset, node) in &fresh {
            pages.cache.put((pages.number, *offset), node);
        }
        let snapshot = self.file.publish(CommitState { commit, at, end });
        self.writer.torn = false;
        self.spilled = 0;
        Ok(snapshot)
    }
}
