//! The changes of one tree, in the order of their keys.

use super::Change;
use crate::TreeError;
use crate::entry::TreeEntry;
use crate::node::Node;
use crate::snapshot::Snapshot;
use std::sync::{Arc, OnceLock};

/// Effect of a change on the commit's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Adds an item.
    Insert,
    /// Gives an item another value.
    Replace,
    /// Takes an item away.
    Remove,
}

impl Effect {
    /// By how much the number of items grows.
    fn added(self) -> i64 {
        match self {
            Effect::Insert => 1,
            Effect::Replace => 0,
            Effect::Remove => -1,
        }
    }

    /// Combined effect of a change with this effect and a later one; `None` if the two cancel out.
    fn then(self, has_value: bool) -> Option<Effect> {
        match (self, has_value) {
            (Effect::Insert, true) => Some(Effect::Insert),
            (Effect::Insert, false) => None,
            (Effect::Replace | Effect::Remove, true) => Some(Effect::Replace),
            (Effect::Replace | Effect::Remove, false) => Some(Effect::Remove),
        }
    }
}

/// Sorted changes, each key once.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// Keys and new values; a removed item has an empty one. The node is never written, so it may
    /// be longer than nodes in files.
    node: Arc<Node>,
    effects: Vec<Effect>,
    /// How many items of the commit come before each key; filled in at the first lookup.
    ranks: Vec<OnceLock<u64>>,
    /// How many items the changes before each one add, and at the end all of them.
    added: Vec<i64>,
}

impl Default for Changes {
    fn default() -> Self {
        Changes {
            node: Arc::new(Node::new(0)),
            effects: Vec::new(),
            ranks: Vec::new(),
            added: vec![0],
        }
    }
}

impl Changes {
    pub(super) fn len(&self) -> usize {
        self.effects.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    pub(super) fn memory(&self) -> usize {
        let each = size_of::<Effect>() + size_of::<OnceLock<u64>>() + size_of::<i64>();
        self.node.memory() + self.len() * each
    }

    /// These changes, and others after them; the others ascend.
    pub(super) fn and(&self, others: &[Change<'_>]) -> Changes {
        let bytes = |change: &Change<'_>| change.key.len() + change.value.map_or(0, <[u8]>::len);
        let bytes = others.iter().map(bytes).sum();
        let mut all = Changes::default();
        let mut node = Node::in_place_of(&self.node, others.len(), bytes);
        let mut from = 0;
        for other in others {
            let place = self.node.search_from(from, other.key);
            let upto = place.unwrap_or_else(|index| index);
            (from..upto).for_each(|index| all.keep(&mut node, self, index));
            from = upto + usize::from(place.is_ok());
            let (before, rank) = match place {
                Ok(index) => (Some(self.effects[index]), self.ranks[index].clone()),
                // As if it had been put there with its old value.
                Err(_) => (other.was_there.then_some(Effect::Replace), OnceLock::new()),
            };
            let effect = match before {
                Some(before) => before.then(other.value.is_some()),
                None => other.value.map(|_| Effect::Insert),
            };
            if let Some(effect) = effect {
                node.push(other.key, other.value.unwrap_or_default());
                all.push(effect, rank);
            }
        }
        (from..self.len()).for_each(|index| all.keep(&mut node, self, index));
        all.node = Arc::new(node);
        all
    }

    fn keep(&mut self, node: &mut Node, of: &Changes, index: usize) {
        node.push_from(&of.node, index);
        self.push(of.effects[index], of.ranks[index].clone());
    }

    fn push(&mut self, effect: Effect, rank: OnceLock<u64>) {
        self.effects.push(effect);
        self.ranks.push(rank);
        self.added.push(self.added() + effect.added());
    }

    /// How many items all changes add.
    pub(super) fn added(&self) -> i64 {
        self.added.last().copied().unwrap_or(0)
    }

    /// How many items the first `count` changes add.
    pub(super) fn added_before(&self, count: usize) -> i64 {
        self.added[count]
    }

    /// As [`Node::search`].
    pub(super) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        self.node.search(key)
    }

    /// Whether the change leaves an item.
    pub(super) fn has_item(&self, index: usize) -> bool {
        self.effects[index] != Effect::Remove
    }

    /// The item that the change leaves.
    pub(super) fn item(&self, index: usize) -> Option<TreeEntry> {
        let has_item = self.has_item(index);
        has_item.then(|| TreeEntry::new(Arc::clone(&self.node), index))
    }

    /// Key and value of the item that the change leaves.
    pub(super) fn entry(&self, index: usize) -> (&[u8], &[u8]) {
        (self.node.key(index), self.node.value(index))
    }

    /// How many items of the commit stand before the key.
    pub(super) fn rank(
        &self,
        base: &Snapshot,
        tree: usize,
        index: usize,
    ) -> Result<u64, TreeError> {
        if let Some(rank) = self.ranks[index].get() {
            return Ok(*rank);
        }
        let rank = base.rank(tree, self.node.key(index))?;
        Ok(*self.ranks[index].get_or_init(|| rank))
    }

    /// All of them, each a key with its new value, or none.
    pub(super) fn list(&self) -> Vec<(&[u8], Option<&[u8]>)> {
        let change = |index| {
            let (key, value) = self.entry(index);
            (key, self.has_item(index).then_some(value))
        };
        (0..self.len()).map(change).collect()
    }
}
