//! The diff of a tree between two commits of one file.

use crate::TreeError;
use crate::entry::TreeEntry;
use crate::node::Node;
use crate::pages::NodeSource;
use crate::snapshot::Snapshot;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// One key whose value differs between the commits.
#[derive(Clone, Debug)]
pub struct DiffEntry {
    /// `None` for a new key.
    pub before: Option<TreeEntry>,
    /// `None` for a key that is gone.
    pub after: Option<TreeEntry>,
}

/// Walks two trees at once, in key order. Nodes that both have in common are not read.
pub struct Diff {
    before: Cursor,
    after: Cursor,
    /// Whether equal places mean equal nodes.
    same_file: bool,
}

impl fmt::Debug for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Diff")
    }
}

impl Snapshot {
    /// The items of a tree that differ from those of an earlier commit.
    ///
    /// # Errors
    /// See [`Snapshot::get`]; the iterator gives an error at most once and then ends.
    pub fn diff(&self, tree: usize, earlier: &Snapshot) -> Result<Diff, TreeError> {
        let mut walk = Diff {
            before: Cursor::new(earlier.clone()),
            after: Cursor::new(self.clone()),
            same_file: self.is_same_file(earlier),
        };
        let (old, new) = (earlier.root(tree)?, self.root(tree)?);
        if walk.same_file && old.node == new.node {
            return Ok(walk);
        }
        walk.before.path.extend(earlier.root_node(old)?.map(first));
        walk.after.path.extend(self.root_node(new)?.map(first));
        Ok(walk)
    }
}

fn first(node: Arc<Node>) -> (Arc<Node>, usize) {
    (node, 0)
}

/// A place in one of the trees.
struct Cursor {
    source: Snapshot,
    /// Nodes from the root on, each with the entry that comes next.
    path: Vec<(Arc<Node>, usize)>,
}

impl Cursor {
    fn new(source: Snapshot) -> Self {
        Cursor {
            source,
            path: Vec::new(),
        }
    }

    /// The node and the entry that come next.
    fn top(&mut self) -> Option<(Arc<Node>, usize)> {
        while let Some((node, index)) = self.path.last() {
            if *index < node.len() {
                return Some((node.clone(), *index));
            }
            self.path.pop();
        }
        None
    }

    fn advance(&mut self) {
        if let Some((_, index)) = self.path.last_mut() {
            *index += 1;
        }
    }

    /// Goes down into the child that comes next.
    fn descend(&mut self) -> Result<(), TreeError> {
        let Some((node, index)) = self.top() else {
            return Ok(());
        };
        let child = self.source.child_node(&node, node.child(index))?;
        self.advance();
        self.path.push((child, 0));
        Ok(())
    }

    /// Takes the item that comes next; `None` if that is a child, which is gone down into.
    fn take(&mut self) -> Result<Option<TreeEntry>, TreeError> {
        match self.top() {
            Some((node, index)) if node.level() == 0 => {
                self.advance();
                Ok(Some(TreeEntry::new(node, index)))
            }
            _ => self.descend().map(|()| None),
        }
    }
}

impl Diff {
    /// One step of the walk; `None` if it found nothing.
    fn step(&mut self) -> Result<Option<DiffEntry>, TreeError> {
        let (old, new) = match (self.before.top(), self.after.top()) {
            (Some(old), Some(new)) => (old, new),
            (Some(_), None) => return self.gone(),
            (None, _) => return self.added(),
        };
        let (old_level, new_level) = (old.0.level(), new.0.level());
        let order = old.0.key(old.1).cmp(new.0.key(new.1));
        match (old_level, new_level, order) {
            (0, 0, Ordering::Equal) => {
                let (before, after) = (self.before.take()?, self.after.take()?);
                let same = old.0.value(old.1) == new.0.value(new.1);
                Ok((!same).then_some(DiffEntry { before, after }))
            }
            // A child's key is not after any key below it, so an item before it is below neither.
            (0, _, Ordering::Less) => self.gone(),
            (_, 0, Ordering::Greater) => self.added(),
            (0, _, _) => self.after.descend().map(|()| None),
            (_, 0, _) => self.before.descend().map(|()| None),
            _ if self.same_file && old.0.child(old.1).at == new.0.child(new.1).at => {
                self.before.advance();
                self.after.advance();
                Ok(None)
            }
            _ if old_level >= new_level => self.before.descend().map(|()| None),
            _ => self.after.descend().map(|()| None),
        }
    }

    fn gone(&mut self) -> Result<Option<DiffEntry>, TreeError> {
        let before = self.before.take()?;
        let after = None;
        Ok(before.is_some().then_some(DiffEntry { before, after }))
    }

    fn added(&mut self) -> Result<Option<DiffEntry>, TreeError> {
        let after = self.after.take()?;
        let before = None;
        Ok(after.is_some().then_some(DiffEntry { before, after }))
    }
}

impl Iterator for Diff {
    type Item = Result<DiffEntry, TreeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.before.top().is_none() && self.after.top().is_none() {
                return None;
            }
            match self.step() {
                Ok(None) => {}
                Ok(Some(found)) => return Some(Ok(found)),
                Err(error) => {
                    self.before.path.clear();
                    self.after.path.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}
