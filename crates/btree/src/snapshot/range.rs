//! Iterating over a run of items in either direction.

use super::Snapshot;
use crate::TreeError;
use crate::commit::Root;
use crate::entry::{Direction, TreeEntry};
use crate::node::Node;
use crate::pages::NodeSource;
use std::fmt;
use std::sync::Arc;

/// The items of a run; after an error it ends. It is a cursor into counted ranks, so skipping is
/// as cheap as starting.
pub struct Range {
    source: Snapshot,
    root: Root,
    direction: Direction,
    /// Numbers of the items still to come.
    low: u64,
    high: u64,
    /// Inner nodes from the root on, each with the child below which the leaf is.
    path: Vec<(Arc<Node>, usize)>,
    leaf: Option<Leaf>,
}

/// The leaf where the cursor is, and the number of its first item.
struct Leaf {
    node: Arc<Node>,
    first: u64,
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Range({}..{}, {:?})",
            self.low, self.high, self.direction
        )
    }
}

impl Range {
    pub(crate) fn new(
        source: Snapshot,
        root: Root,
        ranks: std::ops::Range<u64>,
        direction: Direction,
    ) -> Self {
        Range {
            source,
            root,
            direction,
            low: ranks.start,
            high: ranks.end,
            path: Vec::new(),
            leaf: None,
        }
    }

    fn step(&mut self, rank: u64) -> Result<TreeEntry, TreeError> {
        let inside = |leaf: &Leaf| rank >= leaf.first && rank - leaf.first < leaf.node.count();
        if !self.leaf.as_ref().is_some_and(inside) {
            self.seek(rank)?;
        }
        match &self.leaf {
            Some(leaf) => Ok(TreeEntry::new(
                leaf.node.clone(),
                (rank - leaf.first) as usize,
            )),
            None => Err(self
                .source
                .pages()
                .damaged(0, "a tree ends before its count")),
        }
    }

    /// Moves to the leaf with item `rank`, climbing no higher than needed.
    fn seek(&mut self, rank: u64) -> Result<(), TreeError> {
        self.leaf = None;
        let mut first = self.climb(rank);
        let mut node = match self.path.last() {
            Some((parent, index)) => self.source.child_node(parent, parent.child(*index))?,
            None => match self.source.root_node(&self.root)? {
                Some(node) => node,
                None => return Ok(()),
            },
        };
        while node.level() > 0 {
            let index = node.child_at(rank - first);
            first += node.before(index);
            let child = self.source.child_node(&node, node.child(index))?;
            self.path.push((node, index));
            node = child;
        }
        self.leaf = Some(Leaf { node, first });
        Ok(())
    }

    /// Drops the part of the path that does not lead to item `rank`, turns its end to the child
    /// that does, and returns the number of the first item below that child.
    fn climb(&mut self, rank: u64) -> u64 {
        let mut starts = Vec::with_capacity(self.path.len());
        let mut first = 0;
        for (node, index) in &self.path {
            starts.push(first);
            first += node.before(*index);
        }
        while let (Some((node, index)), Some(start)) = (self.path.last_mut(), starts.pop()) {
            if rank >= start && rank - start < node.count() {
                *index = node.child_at(rank - start);
                return start + node.before(*index);
            }
            self.path.pop();
        }
        0
    }
}

impl Iterator for Range {
    type Item = Result<TreeEntry, TreeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.low >= self.high {
            return None;
        }
        let rank = match self.direction {
            Direction::Forward => {
                self.low += 1;
                self.low - 1
            }
            Direction::Backward => {
                self.high -= 1;
                self.high
            }
        };
        let item = self.step(rank);
        if item.is_err() {
            self.high = self.low;
        }
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.high - self.low);
        (left.unwrap_or(usize::MAX), left.ok())
    }

    /// Costs no more than starting there.
    fn nth(&mut self, skip: usize) -> Option<Self::Item> {
        let skip = (skip as u64).min(self.high - self.low);
        match self.direction {
            Direction::Forward => self.low += skip,
            Direction::Backward => self.high -= skip,
        }
        self.next()
    }
}
