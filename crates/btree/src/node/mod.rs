//! Tree nodes in memory: looking things up in them, filling and cutting them.

mod encoding;

use crate::chunk::ChunkRef;

/// Nodes are cut so that their encoded form is not longer than this, if their items allow it.
pub(crate) const MAX_NODE: usize = 8 << 10;
/// A node that lost items and is now shorter than this joins a sibling.
pub(crate) const MIN_NODE: usize = MAX_NODE / 4;
/// Nodes are also cut where their keys without compression would take more than this.
pub(crate) const MAX_DECODED: usize = 16 * MAX_NODE;
/// Longest key in bytes.
pub const MAX_KEY: usize = 8 << 20;
/// Longest value in bytes.
pub const MAX_VALUE: usize = 64 << 20;
/// Highest level of a node; with two children a node this is more items than a file has bytes.
pub(crate) const MAX_LEVEL: u8 = 48;

/// Unused room of less than this part is not worth a copy.
const COMPACT_FROM: usize = 16;
/// Numbers of an entry beside its key and value, encoded, at most: two lengths and `shared`.
const LEAF_COST: usize = 6;
/// The same for inner nodes.
const INNER_COST: usize = 22;

/// One entry: its key and value stand one behind the other in the node's bytes, and the next entry behind them. Tiny
/// documents have as many bytes in slots as in keys and values.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key_at: usize,
    key_len: u32,
    /// How much of the key is the beginning of the key before it.
    shared: u32,
}
const _: () = assert!(size_of::<Slot>() == 16);

impl Slot {
    fn value_at(self) -> usize {
        self.key_at + self.key_len as usize
    }
}

/// Entry of a child in an inner node, besides key and reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) at: ChunkRef,
    pub(crate) count: u64,
    pub(crate) stored: u64,
}

/// A node in memory. Entries of inner nodes have the reduction in the place of the value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    level: u8,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// Inner nodes: one for each slot.
    children: Vec<Child>,
    /// Inner nodes: items before each child, and at the end of all.
    before: Vec<u64>,
    /// Upper bound of the encoded length.
    cost: usize,
}

impl Node {
    pub(crate) fn new(level: u8) -> Self {
        Node {
            level,
            bytes: Vec::new(),
            slots: Vec::new(),
            children: Vec::new(),
            before: vec![0],
            cost: 1 + 3,
        }
    }

    /// An empty node with room for the entries of `old` and so many more, of so many bytes.
    pub(crate) fn in_place_of(old: &Node, more: usize, bytes: usize) -> Self {
        let inner = if old.level == 0 { 0 } else { old.len() + more };
        let mut new = Node::new(old.level);
        new.bytes.reserve_exact(old.bytes.len() + bytes);
        new.slots.reserve_exact(old.len() + more);
        new.children.reserve_exact(inner);
        new.before.reserve_exact(inner);
        new
    }

    pub(crate) fn level(&self) -> u8 {
        self.level
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) fn cost(&self) -> usize {
        self.cost
    }

    pub(crate) fn key(&self, index: usize) -> &[u8] {
        let slot = self.slots[index];
        &self.bytes[slot.key_at..][..slot.key_len as usize]
    }

    /// Leaf: the value. Inner node: the child's reduction.
    pub(crate) fn value(&self, index: usize) -> &[u8] {
        let end = match self.slots.get(index + 1) {
            Some(next) => next.key_at,
            None => self.bytes.len(),
        };
        &self.bytes[self.slots[index].value_at()..end]
    }

    pub(crate) fn child(&self, index: usize) -> Child {
        self.children[index]
    }

    /// Items of the leaf, or below the inner node.
    pub(crate) fn count(&self) -> u64 {
        match self.level {
            0 => self.slots.len() as u64,
            _ => self.before.last().copied().unwrap_or(0),
        }
    }

    /// Items below the children before child `index`.
    pub(crate) fn before(&self, index: usize) -> u64 {
        self.before[index]
    }

    /// Stored bytes of the children and everything below them.
    pub(crate) fn stored_below(&self) -> u64 {
        self.children
            .iter()
            .fold(0, |sum, child| sum.saturating_add(child.stored))
    }

    /// Memory that the node takes, without what the allocator adds.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Node>()
            + self.bytes.capacity()
            + self.slots.capacity() * size_of::<Slot>()
            + self.children.capacity() * size_of::<Child>()
            + self.before.capacity() * size_of::<u64>()
    }

    /// The node without the room that it kept for more entries, for a node that stays in memory as it is. Copies it:
    /// allocators may leave a block that shrinks as long as it was.
    pub(crate) fn compacted(self) -> Node {
        let is_loose = |len: usize, capacity: usize| capacity - len > len / COMPACT_FROM;
        match is_loose(self.bytes.len(), self.bytes.capacity())
            || is_loose(self.slots.len(), self.slots.capacity())
        {
            true => self.clone(),
            false => self,
        }
    }

    /// Index of the first key that is not before `key`, and whether it is `key`.
    pub(crate) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        self.search_from(0, key)
    }

    /// The same, where all entries before index `from` are known to come before `key`.
    pub(crate) fn search_from(&self, from: usize, key: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (from, self.slots.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.key(middle).cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Inner node: the child below which `key` is, if anywhere.
    pub(crate) fn child_for(&self, key: &[u8]) -> usize {
        match self.search(key) {
            Ok(index) => index,
            Err(index) => index.saturating_sub(1),
        }
    }

    /// Inner node: the child that has the item with number `rank` below it.
    pub(crate) fn child_at(&self, rank: u64) -> usize {
        self.before[1..]
            .partition_point(|&end| end <= rank)
            .min(self.slots.len() - 1)
    }

    /// Leaf: adds an item behind the others.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        let shared = match self.slots.is_empty() {
            true => 0,
            false => shared_len(self.key(self.slots.len() - 1), key),
        };
        self.push_slot(key, value, shared, LEAF_COST);
    }

    /// Inner node: adds a child behind the others.
    pub(crate) fn push_child(&mut self, key: &[u8], child: Child, reduction: &[u8]) {
        let shared = match self.slots.is_empty() {
            true => 0,
            false => shared_len(self.key(self.slots.len() - 1), key),
        };
        self.push_slot(key, reduction, shared, INNER_COST);
        self.children.push(child);
        self.before.push(self.count().saturating_add(child.count));
    }

    fn push_slot(&mut self, key: &[u8], value: &[u8], shared: usize, overhead: usize) {
        self.cost += overhead + key.len() - shared + value.len();
        // The key's length was checked against MAX_KEY.
        self.slots.push(Slot {
            key_at: self.bytes.len(),
            key_len: key.len() as u32,
            shared: shared as u32,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    /// Adds entry `index` of a node of the same level behind the others.
    pub(crate) fn push_from(&mut self, other: &Node, index: usize) {
        if self.level == 0 {
            self.push(other.key(index), other.value(index));
        } else {
            self.push_child(other.key(index), other.child(index), other.value(index));
        }
    }

    pub(crate) fn extend(&mut self, other: &Node) {
        for index in 0..other.len() {
            self.push_from(other, index);
        }
    }

    /// Whether the node is long enough that the next entry belongs into another one.
    pub(crate) fn is_full_for(&self, key: &[u8], value: &[u8]) -> bool {
        let least = if self.level == 0 { 1 } else { 2 };
        let more = key.len() + value.len();
        self.len() >= least
            && (self.bytes.len() + more > MAX_DECODED || {
                let shared = shared_len(self.key(self.len() - 1), key);
                let overhead = if self.level == 0 {
                    LEAF_COST
                } else {
                    INNER_COST
                };
                self.cost + overhead + more - shared > MAX_NODE
            })
    }

    /// Takes all entries but the last, if they should not stay together with it.
    pub(crate) fn overflow(&mut self) -> Option<Node> {
        if self.cost <= MAX_NODE && self.bytes.len() <= MAX_DECODED || self.len() <= 2 {
            return None;
        }
        let last = self.len() - 1;
        let mut next = Node::new(self.level);
        next.push_from(self, last);
        let mut full = std::mem::replace(self, next);
        full.pop();
        Some(full)
    }

    /// Removes the last entry.
    pub(crate) fn pop(&mut self) {
        let Some(slot) = self.slots.pop() else { return };
        let overhead = if self.level == 0 {
            LEAF_COST
        } else {
            INNER_COST
        };
        let value_len = self.bytes.len() - slot.value_at();
        self.cost -= overhead + (slot.key_len - slot.shared) as usize + value_len;
        self.bytes.truncate(slot.key_at);
        if self.children.pop().is_some() {
            self.before.pop();
        }
    }

    /// Cuts a node of any length into nodes that are not too long: filled from the left if keys
    /// arrive in order, else evenly, so that all have room.
    pub(crate) fn split(self, in_order: bool) -> Vec<Node> {
        if self.cost <= MAX_NODE && self.bytes.len() <= MAX_DECODED {
            return if self.is_empty() {
                Vec::new()
            } else {
                vec![self]
            };
        }
        let target = match in_order {
            true => MAX_NODE,
            false => self.cost / self.cost.div_ceil(MAX_NODE),
        };
        let least = if self.level == 0 { 1 } else { 2 };
        let mut nodes = Vec::new();
        let mut open = Node::new(self.level);
        for index in 0..self.len() {
            let full = open.is_full_for(self.key(index), self.value(index));
            if full || (open.len() >= least && open.cost >= target) {
                nodes.push(std::mem::replace(&mut open, Node::new(self.level)));
            }
            open.push_from(&self, index);
        }
        nodes.push(open);
        nodes
    }
}

fn shared_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}
