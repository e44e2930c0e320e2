//! Entries of a tree, and the bounds of ranges of them.

use crate::node::Node;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// Lower and upper bound of a range, in key order whatever the direction of reading.
pub type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Order in which the entries of a range are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Keys ascend.
    Forward,
    /// Keys descend.
    Backward,
}

/// A key and its value in a tree. The entry keeps its node in memory and copies nothing.
#[derive(Clone)]
pub struct TreeEntry {
    leaf: Arc<Node>,
    index: usize,
}

impl TreeEntry {
    pub(crate) fn new(leaf: Arc<Node>, index: usize) -> Self {
        TreeEntry { leaf, index }
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        self.leaf.key(self.index)
    }

    /// The value.
    pub fn value(&self) -> &[u8] {
        self.leaf.value(self.index)
    }
}

impl fmt::Debug for TreeEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} = {}",
            self.key().escape_ascii(),
            self.value().escape_ascii()
        )
    }
}
