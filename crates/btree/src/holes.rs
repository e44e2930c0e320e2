//! Hole punching: the room of bytes in the middle of a file that no reader needs any more is given
//! back to the file system.
//!
//! ```text
//! | needed | not needed | needed | needed by few      | needed | … | newest commits        |
//!                                          moved behind all others, by a commit  ->  |  c  |
//! | needed |    hole    | needed |        hole        | needed | … | newest commits  |  c  |
//! ```
//! A hole must not have anything that the newest commit refers to, that a commit refers to which a
//! reader still has, or that a transaction to come takes over from such a commit. So nodes are moved
//! ([`Transaction::move_nodes`]), others' references are refused from then on ([`Transaction::refuse_older`], [`Transaction::accepts`]), and when the last snapshot of the
//! time before is dropped, holes may be made ([`TreeFile::punch_hole`]).

use crate::TreeError;
use crate::chunk::ChunkRef;
use crate::commit::Root;
use crate::file::TreeFile;
use crate::node::{Child, Node};
use crate::pages::NodeSource;
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;
use std::ops::Range;
use std::sync::atomic::Ordering;
use varve_base::Hole;

impl TreeFile {
    /// Whether a reader has a commit from before the last [`Transaction::refuse_older`].
    pub fn has_older_readers(&self) -> bool {
        let floor = self.live_commits.floor.load(Ordering::Acquire);
        self.live_commits
            .oldest()
            .is_some_and(|oldest| oldest < floor)
    }

    /// Punches a hole. Commits from the last [`Transaction::refuse_older`] on must not need anything in
    /// it. [`Hole::InUse`] while a reader, here or in another process, has an older commit.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn punch_hole(&self, bytes: Range<u64>) -> Result<Hole, TreeError> {
        let floor = self.live_commits.floor.load(Ordering::Acquire);
        if bytes.end > floor || self.has_older_readers() {
            return Ok(Hole::InUse);
        }
        Ok(self.pages.file.punch_hole(bytes)?)
    }
}

/// A walk that moves nodes.
struct MoveWalk<'w> {
    tree: usize,
    is_moved: &'w dyn Fn(ChunkRef) -> bool,
    from: Option<&'w [u8]>,
    /// Bytes that may still be appended.
    left: u64,
    /// Where to go on.
    next: Option<Vec<u8>>,
}

impl Transaction<'_> {
    /// Appends those nodes of a tree once more of which `is_moved` says so, with all above them,
    /// beginning at the leaf with the key `from`; after `most` bytes it ends, and returns the key to
    /// go on from.
    ///
    /// # Errors
    /// Damage; an error of the storage.
    pub fn move_nodes(
        &mut self,
        tree: usize,
        is_moved: &dyn Fn(ChunkRef) -> bool,
        from: Option<&[u8]>,
        most: u64,
    ) -> Result<Option<Vec<u8>>, TreeError> {
        self.check_tree(tree)?;
        let root = self.base().root(tree)?.clone();
        let Some(at) = root.node else {
            return Ok(None);
        };
        let mut walk = MoveWalk {
            tree,
            is_moved,
            from,
            left: most,
            next: None,
        };
        if root.level == 0 {
            if is_moved(at) {
                let node = Some(self.move_leaf(at)?);
                self.set_root(tree, Root { node, ..root });
            }
            return Ok(None);
        }
        let node = self.base().node(at, root.level, root.count)?;
        if let Some(moved) = self.move_below(&mut walk, &node, is_moved(at))? {
            let root = self.write_root(tree, moved)?;
            self.set_root(tree, root);
        }
        Ok(walk.next)
    }

    fn move_leaf(&mut self, at: ChunkRef) -> Result<ChunkRef, TreeError> {
        let chunk = self.base().stored_chunk(at)?;
        self.append_chunk(&chunk)
    }

    /// An inner node with the new places of its children; `None` if it can stay as it is.
    fn move_below(
        &mut self,
        walk: &mut MoveWalk<'_>,
        node: &Node,
        is_moved: bool,
    ) -> Result<Option<Node>, TreeError> {
        let mut new = Node::in_place_of(node, 0, 0);
        let mut is_changed = is_moved;
        for index in 0..node.len() {
            let child = node.child(index);
            let is_last = index + 1 == node.len();
            let is_before = |from| !is_last && node.key(index + 1) <= from;
            let is_done = walk.next.is_some() || walk.from.is_some_and(is_before);
            if !is_done && walk.left == 0 {
                walk.next = Some(node.key(index).to_vec());
            }
            let moved = match is_done || walk.next.is_some() {
                true => None,
                false => self.move_child(walk, node, child, &mut new, index)?,
            };
            is_changed |= moved.is_some();
            if moved.is_none() {
                new.push_from(node, index);
            }
        }
        Ok(is_changed.then_some(new))
    }

    /// Moves a child, or its descendants, and enters it into its new parent.
    fn move_child(
        &mut self,
        walk: &mut MoveWalk<'_>,
        parent: &Node,
        child: Child,
        new: &mut Node,
        index: usize,
    ) -> Result<Option<()>, TreeError> {
        let is_moved = (walk.is_moved)(child.at);
        if parent.level() > 1 {
            let node = self.base().child_node(parent, child)?;
            let Some(moved) = self.move_below(walk, &node, is_moved)? else {
                return Ok(None);
            };
            walk.left = walk.left.saturating_sub(u64::from(child.at.len));
            self.write_node(walk.tree, moved, new)?;
            return Ok(Some(()));
        }
        if !is_moved {
            return Ok(None);
        }
        let at = self.move_leaf(child.at)?;
        walk.left = walk.left.saturating_sub(u64::from(at.len));
        new.push_child(
            parent.key(index),
            Child { at, ..child },
            parent.value(index),
        );
        Ok(Some(()))
    }

    /// From now on nothing may be taken over from a commit before the one that this transaction makes.
    pub fn refuse_older(&self) {
        let position = self.base().position();
        self.file
            .live_commits
            .floor
            .store(position + 1, Ordering::Release);
    }

    /// Whether places that `source` knows mean something here: it is of this file, and not from
    /// before the last [`Transaction::refuse_older`].
    pub fn accepts(&self, source: &Snapshot) -> bool {
        let floor = self.file.live_commits.floor.load(Ordering::Acquire);
        self.base().is_same_file(source) && source.position() >= floor
    }
}
