//! Reachability: a walk over everything that a root refers to, in a tree that may be damaged. A node
//! that cannot be read is passed over with all below it; everything else is still visited.
//!
//! A node is entered if it fits its parent's description (level and count), and if its keys lie between those that its
//! parent gives it. As the keys of two children never overlap, a node that several parents claim is entered below one
//! of them at most, so the walk is no longer than the file.

use crate::chunk::ChunkRef;
use crate::commit::Root;
use crate::node::Node;
use crate::snapshot::Snapshot;
use crate::{ChunkForm, TreeError};

/// Object that the walk visits, in the order of keys.
#[derive(Debug)]
pub enum Visited<'n> {
    /// A readable node, before its content.
    Node {
        /// Where it stands.
        at: ChunkRef,
        /// How it is stored.
        form: ChunkForm,
    },
    /// An item.
    Entry {
        /// Key of the item.
        key: &'n [u8],
        /// Value of the item.
        value: &'n [u8],
        /// Where its leaf stands.
        leaf: ChunkRef,
    },
    /// A node that cannot be read, with everything below it.
    Lost(LostSubtree<'n>),
    /// A readable node that its parent describes wrongly.
    Mismatched {
        /// Where it stands.
        at: ChunkRef,
        /// The wrong part of its parent's description.
        reason: &'static str,
    },
}

/// A subtree whose node cannot be read.
#[derive(Debug)]
pub struct LostSubtree<'n> {
    /// Place of its root.
    pub at: ChunkRef,
    /// Inclusive lower bound of its keys, if known.
    pub low: Option<&'n [u8]>,
    /// Exclusive upper bound of its keys, if known.
    pub high: Option<&'n [u8]>,
    /// How many items are in it.
    pub items: u64,
    /// Why it cannot be read.
    pub error: TreeError,
}

/// A node as its parent describes it.
struct ExpectedNode<'n> {
    at: ChunkRef,
    level: u8,
    count: u64,
    stored: u64,
    reduction: &'n [u8],
    low: Option<&'n [u8]>,
    high: Option<&'n [u8]>,
}

/// An inner node whose children are being visited.
struct OpenNode {
    node: Node,
    next: usize,
    /// Exclusive upper bound of its keys.
    high: Option<Vec<u8>>,
}

impl OpenNode {
    /// The next child, as this node has it.
    fn next(&mut self) -> Option<ExpectedNode<'_>> {
        let index = self.next;
        if index == self.node.len() {
            return None;
        }
        self.next += 1;
        let child = self.node.child(index);
        let is_last = self.next == self.node.len();
        Some(ExpectedNode {
            at: child.at,
            // Decoding gave a node with children a level above 0.
            level: self.node.level() - 1,
            count: child.count,
            stored: child.stored,
            reduction: self.node.value(index),
            low: Some(self.node.key(index)),
            high: match is_last {
                true => self.high.as_deref(),
                false => Some(self.node.key(self.next)),
            },
        })
    }
}

type Visit<'v, E> = dyn FnMut(Visited<'_>) -> Result<(), E> + 'v;

impl Snapshot {
    /// Calls `visit` with everything that the tree's root refers to, readable or not. Every node is
    /// compared with its parent's description.
    ///
    /// # Errors
    /// [`TreeError::NoTree`]; an error of `visit` ends the walk.
    pub fn visit_reachable<E: From<TreeError>>(
        &self,
        tree: usize,
        visit: &mut Visit<'_, E>,
    ) -> Result<(), E> {
        let root: &Root = self.root(tree)?;
        let Some(at) = root.node else {
            return Ok(());
        };
        let expected = ExpectedNode {
            at,
            level: root.level,
            count: root.count,
            stored: root.stored,
            reduction: &root.reduction,
            low: None,
            high: None,
        };
        let mut path = Vec::new();
        path.extend(self.visit_node(tree, &expected, visit)?);
        while let Some(open) = path.last_mut() {
            let opened = match open.next() {
                Some(expected) => self.visit_node(tree, &expected, visit)?,
                None => {
                    path.pop();
                    continue;
                }
            };
            path.extend(opened);
        }
        Ok(())
    }

    /// Reads a node and visits it, and its items if it is a leaf.
    fn visit_node<E: From<TreeError>>(
        &self,
        tree: usize,
        expected: &ExpectedNode<'_>,
        visit: &mut Visit<'_, E>,
    ) -> Result<Option<OpenNode>, E> {
        let at = expected.at;
        let (node, form) = match self.read_expected(expected) {
            Ok(read) => read,
            Err(error) => {
                let lost = LostSubtree {
                    at,
                    low: expected.low,
                    high: expected.high,
                    items: expected.count,
                    error,
                };
                visit(Visited::Lost(lost))?;
                return Ok(None);
            }
        };
        visit(Visited::Node { at, form })?;
        if let Some(reason) = self.mismatch(tree, expected, &node) {
            visit(Visited::Mismatched { at, reason })?;
        }
        if node.level() > 0 {
            return Ok(Some(OpenNode {
                node,
                next: 0,
                high: expected.high.map(<[u8]>::to_vec),
            }));
        }
        for index in 0..node.len() {
            visit(Visited::Entry {
                key: node.key(index),
                value: node.value(index),
                leaf: at,
            })?;
        }
        Ok(None)
    }

    /// Reads the node that a parent describes.
    fn read_expected(&self, expected: &ExpectedNode<'_>) -> Result<(Node, ChunkForm), TreeError> {
        let (node, form) = self.pages.read_node_form(expected.at, self.scope())?;
        self.pages
            .check_node(&node, expected.at, expected.level, expected.count)?;
        // A node has at least one entry.
        let (first, last) = (node.key(0), node.key(node.len() - 1));
        let is_low = expected.low.is_some_and(|low| first < low);
        let is_high = expected.high.is_some_and(|high| last >= high);
        if is_low || is_high {
            let reason = "a node has keys that belong elsewhere";
            return Err(self.pages.damaged(expected.at.offset, reason));
        }
        Ok((node, form))
    }

    /// The wrong part of the parent's description, if any.
    fn mismatch(
        &self,
        tree: usize,
        expected: &ExpectedNode<'_>,
        node: &Node,
    ) -> Option<&'static str> {
        let stored = node
            .stored_below()
            .saturating_add(u64::from(expected.at.len));
        if stored != expected.stored {
            return Some("a node and those below it take other bytes than its parent says");
        }
        let reducer = &self.pages.reducers[tree];
        let entries = 0..node.len();
        let reduction = match node.level() {
            0 => reducer.leaf(&mut entries.map(|index| (node.key(index), node.value(index)))),
            _ => reducer.combine(&entries.map(|index| node.value(index)).collect::<Vec<_>>()),
        };
        (reduction != expected.reduction)
            .then_some("a node has another reduction than its parent says")
    }

    /// Appends the content of a chunk to `out`, and tells how it is stored.
    ///
    /// # Errors
    /// See [`Snapshot::read_chunk`].
    pub fn inspect_chunk(&self, at: ChunkRef, out: &mut Vec<u8>) -> Result<ChunkForm, TreeError> {
        let (form, payload) = self.pages.read_stored(at, self.scope())?;
        self.pages
            .expand(form, &payload, self.scope().upto(at.offset), out)?;
        Ok(form)
    }
}
