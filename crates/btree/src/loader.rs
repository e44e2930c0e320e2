//! Building a tree from items that come in order: packed nodes, nothing read back.

use crate::TreeError;
use crate::commit::Root;
use crate::error::check_len;
use crate::node::{MAX_KEY, MAX_VALUE, Node};
use crate::pages::NodeSource;
use crate::transaction::Transaction;

/// Fills one tree from its first item to its last. Several loaders can work side by side in one
/// transaction, and chunks can be appended between the items.
#[derive(Clone, Debug)]
pub struct Loader {
    tree: usize,
    /// The open node of each level, leaves first.
    open: Vec<Node>,
    pushed: u64,
}

impl Loader {
    /// A loader for the tree with this number.
    pub fn new(tree: usize) -> Self {
        Loader {
            tree,
            open: vec![Node::new(0)],
            pushed: 0,
        }
    }

    /// A loader that goes on behind the items of a tree.
    ///
    /// # Errors
    /// Damage; an error of the storage.
    pub fn resume(tree: usize, txn: &Transaction<'_>) -> Result<Self, TreeError> {
        let mut loader = Loader::new(tree);
        let root = txn.root(tree)?;
        loader.pushed = root.count;
        let mut next = txn.root_node(root)?;
        let mut open = Vec::new();
        while let Some(node) = next {
            let mut node = Node::clone(&node);
            next = match node.level() {
                0 => None,
                _ => Some(txn.child_node(&node, node.child(node.len() - 1))?),
            };
            if node.level() > 0 {
                // It is entered once more when it is full.
                node.pop();
            }
            open.push(node);
        }
        if !open.is_empty() {
            open.reverse();
            loader.open = open;
        }
        Ok(loader)
    }

    /// Makes the items pushed so far the tree's content. More may follow in this transaction or, once this one has
    /// committed, in the next one; until then the tree has a few nodes more than needed.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn pause(&self, txn: &mut Transaction<'_>) -> Result<(), TreeError> {
        self.clone().finish(txn)
    }

    /// Adds an item behind the others.
    ///
    /// # Errors
    /// [`TreeError::Unsorted`], [`TreeError::TooLong`], or an error of the storage.
    pub fn push(
        &mut self,
        txn: &mut Transaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), TreeError> {
        check_len("key", key.len(), MAX_KEY)?;
        check_len("value", value.len(), MAX_VALUE)?;
        let leaf = &mut self.open[0];
        let in_order = leaf.is_empty() || leaf.key(leaf.len() - 1) < key;
        if !in_order {
            return Err(TreeError::Unsorted {
                tree: self.tree,
                position: self.pushed,
            });
        }
        if !leaf.is_empty() && leaf.is_full_for(key, value) {
            let full = std::mem::replace(leaf, Node::new(0));
            self.close(txn, full)?;
        }
        self.open[0].push(key, value);
        self.pushed += 1;
        Ok(())
    }

    /// Writes a full node and enters it into the level above, which may become full by that.
    fn close(&mut self, txn: &mut Transaction<'_>, full: Node) -> Result<(), TreeError> {
        let mut full = full;
        loop {
            let above = usize::from(full.level()) + 1;
            if self.open.len() == above {
                self.open.push(Node::new(above as u8));
            }
            let parent = &mut self.open[above];
            txn.write_loaded(self.tree, full, parent)?;
            match parent.overflow() {
                Some(node) => full = node,
                None => return Ok(()),
            }
        }
    }

    /// Makes the pushed items the tree's whole content.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn finish(mut self, txn: &mut Transaction<'_>) -> Result<(), TreeError> {
        txn.check_tree(self.tree)?;
        let mut root = Root::default();
        let mut level = 0;
        while level < self.open.len() {
            let node = std::mem::replace(&mut self.open[level], Node::new(level as u8));
            let is_top = level + 1 == self.open.len();
            if is_top && !node.is_empty() {
                root = txn.write_root(self.tree, node)?;
            } else if !node.is_empty() {
                self.close(txn, node)?;
            }
            level += 1;
        }
        txn.set_root(self.tree, root);
        Ok(())
    }
}
