//! Walking over a whole tree that may be damaged: what cannot be read is passed over as a whole,
//! and all else is still seen.
//!
//! A node is entered if it is what its parent says (level and count), and if its keys lie between
//! those that its parent gives it. As the keys of two children never overlap, a node that several
//! parents claim is entered below one of them at most, so the walk is no longer than the file.

use crate::chunk::ChunkRef;
use crate::commit::Root;
use crate::node::Node;
use crate::snapshot::Snapshot;
use crate::{ChunkForm, TreeError};

/// What a survey meets, in the order of keys.
#[derive(Debug)]
pub enum Met<'n> {
    /// A node that could be read, before what is in it.
    Node {
        /// Where it stands.
        at: ChunkRef,
        /// How it is stored.
        form: ChunkForm,
    },
    /// An item.
    Item {
        /// Its key.
        key: &'n [u8],
        /// Its value.
        value: &'n [u8],
        /// Where its leaf stands.
        leaf: ChunkRef,
    },
    /// A node that cannot be read, with everything below it.
    Lost(Lost<'n>),
    /// A node that can be read, but of which its parent says something that is not so.
    Misjudged {
        /// Where it stands.
        at: ChunkRef,
        /// What is not so.
        reason: &'static str,
    },
}

/// A part of a tree that cannot be read.
#[derive(Debug)]
pub struct Lost<'n> {
    /// Where its node stands.
    pub at: ChunkRef,
    /// No key in it is before this one; `None` if nothing is known of that.
    pub low: Option<&'n [u8]>,
    /// All keys in it are before this one; `None` if nothing is known of that.
    pub high: Option<&'n [u8]>,
    /// How many items are in it.
    pub items: u64,
    /// Why it cannot be read.
    pub error: TreeError,
}

/// What a parent says of a node.
struct Claim<'n> {
    at: ChunkRef,
    level: u8,
    count: u64,
    stored: u64,
    reduction: &'n [u8],
    low: Option<&'n [u8]>,
    high: Option<&'n [u8]>,
}

/// An inner node whose children are being visited.
struct Open {
    node: Node,
    next: usize,
    /// What comes behind everything in it.
    high: Option<Vec<u8>>,
}

impl Open {
    /// The next child, as this node has it.
    fn next(&mut self) -> Option<Claim<'_>> {
        let index = self.next;
        if index == self.node.len() {
            return None;
        }
        self.next += 1;
        let child = self.node.child(index);
        let is_last = self.next == self.node.len();
        Some(Claim {
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

type Visit<'v, E> = dyn FnMut(Met<'_>) -> Result<(), E> + 'v;

impl Snapshot {
    /// Calls `visit` with everything that can be read of a tree, and with what cannot. Every node
    /// is compared with what its parent says of it.
    ///
    /// # Errors
    /// [`TreeError::NoTree`]; an error of `visit` ends the walk.
    pub fn survey<E: From<TreeError>>(
        &self,
        tree: usize,
        visit: &mut Visit<'_, E>,
    ) -> Result<(), E> {
        let root: &Root = self.root(tree)?;
        let Some(at) = root.node else {
            return Ok(());
        };
        let claim = Claim {
            at,
            level: root.level,
            count: root.count,
            stored: root.stored,
            reduction: &root.reduction,
            low: None,
            high: None,
        };
        let mut path = Vec::new();
        path.extend(self.enter(tree, &claim, visit)?);
        while let Some(open) = path.last_mut() {
            let entered = match open.next() {
                Some(claim) => self.enter(tree, &claim, visit)?,
                None => {
                    path.pop();
                    continue;
                }
            };
            path.extend(entered);
        }
        Ok(())
    }

    /// Reads a node and visits it, and what is in it if that is items.
    fn enter<E: From<TreeError>>(
        &self,
        tree: usize,
        claim: &Claim<'_>,
        visit: &mut Visit<'_, E>,
    ) -> Result<Option<Open>, E> {
        let at = claim.at;
        let (node, form) = match self.claimed(claim) {
            Ok(read) => read,
            Err(error) => {
                let lost = Lost {
                    at,
                    low: claim.low,
                    high: claim.high,
                    items: claim.count,
                    error,
                };
                visit(Met::Lost(lost))?;
                return Ok(None);
            }
        };
        visit(Met::Node { at, form })?;
        if let Some(reason) = self.misjudged(tree, claim, &node) {
            visit(Met::Misjudged { at, reason })?;
        }
        if node.level() > 0 {
            return Ok(Some(Open {
                node,
                next: 0,
                high: claim.high.map(<[u8]>::to_vec),
            }));
        }
        for index in 0..node.len() {
            visit(Met::Item {
                key: node.key(index),
                value: node.value(index),
                leaf: at,
            })?;
        }
        Ok(None)
    }

    /// The node that a parent speaks of, if it can be used.
    fn claimed(&self, claim: &Claim<'_>) -> Result<(Node, ChunkForm), TreeError> {
        let (node, form) = self.pages.read_node_form(claim.at, self.reach())?;
        self.pages
            .check_node(&node, claim.at, claim.level, claim.count)?;
        // A node has at least one entry.
        let (first, last) = (node.key(0), node.key(node.len() - 1));
        let is_low = claim.low.is_some_and(|low| first < low);
        let is_high = claim.high.is_some_and(|high| last >= high);
        if is_low || is_high {
            let reason = "a node has keys that belong elsewhere";
            return Err(self.pages.damaged(claim.at.offset, reason));
        }
        Ok((node, form))
    }

    /// What the parent says that is not so.
    fn misjudged(&self, tree: usize, claim: &Claim<'_>, node: &Node) -> Option<&'static str> {
        let stored = node.stored_below().saturating_add(u64::from(claim.at.len));
        if stored != claim.stored {
            return Some("a node and those below it take other bytes than its parent says");
        }
        let reducer = &self.pages.reducers[tree];
        let entries = 0..node.len();
        let reduction = match node.level() {
            0 => reducer.leaf(&mut entries.map(|index| (node.key(index), node.value(index)))),
            _ => reducer.combine(&entries.map(|index| node.value(index)).collect::<Vec<_>>()),
        };
        (reduction != claim.reduction)
            .then_some("a node has another reduction than its parent says")
    }

    /// Appends the content of a chunk to `out`, and tells how it is stored.
    ///
    /// # Errors
    /// See [`Snapshot::read_chunk`].
    pub fn inspect_chunk(&self, at: ChunkRef, out: &mut Vec<u8>) -> Result<ChunkForm, TreeError> {
        let (form, payload) = self.pages.read_stored(at, self.reach())?;
        self.pages
            .expand(form, &payload, self.reach().upto(at.offset), out)?;
        Ok(form)
    }
}
