//! Decoded nodes, kept within a budget and shared by all files and snapshots.

use crate::node::Node;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Locks are per shard, so that readers seldom meet.
const SHARDS: usize = 16;

/// In bytes: what a node takes beside its own memory. Counts of the [`Arc`], entries of map and queue with the room that
/// these keep for more, and heads of four blocks of the allocator.
const NODE_OVERHEAD: usize = 128;
/// The allocator rounds the lengths of blocks up by less than an eighth: half of that on average.
const ROUNDING: usize = 16;

/// Number of the open file, and the node's offset in it.
type CacheKey = (u64, u64);

/// A budget of memory for decoded nodes; clones share it. A server has one for all its files.
#[derive(Clone)]
pub struct NodeCache {
    shards: Arc<[Mutex<Shard>; SHARDS]>,
    files: Arc<AtomicU64>,
}

/// First in, first out, except that a node that was used since it came goes round once more.
#[derive(Default)]
struct Shard {
    budget: usize,
    used: usize,
    nodes: HashMap<CacheKey, CachedNode>,
    /// Every place in `nodes` once, the next to go first.
    queue: VecDeque<CacheKey>,
}

struct CachedNode {
    node: Arc<Node>,
    memory: usize,
    used: bool,
}

impl fmt::Debug for NodeCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeCache")
    }
}

impl NodeCache {
    /// A cache of about `bytes` of memory.
    pub fn new(bytes: usize) -> Self {
        let shard = |_| {
            Mutex::new(Shard {
                budget: bytes / SHARDS,
                ..Shard::default()
            })
        };
        NodeCache {
            shards: Arc::new(std::array::from_fn(shard)),
            files: Arc::default(),
        }
    }

    /// A number for a file that was opened; never given twice.
    pub(crate) fn new_file(&self) -> u64 {
        self.files.fetch_add(1, Ordering::Relaxed)
    }

    fn shard(&self, (file, offset): CacheKey) -> &Mutex<Shard> {
        let hash = (offset ^ file << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.shards[(hash >> 60) as usize % SHARDS]
    }

    pub(crate) fn get(&self, key: CacheKey) -> Option<Arc<Node>> {
        let mut shard = self.shard(key).lock();
        let kept = shard.nodes.get_mut(&key)?;
        kept.used = true;
        Some(kept.node.clone())
    }

    pub(crate) fn put(&self, key: CacheKey, node: &Arc<Node>) {
        let memory = cost(node);
        let mut shard = self.shard(key).lock();
        if memory > shard.budget || shard.nodes.contains_key(&key) {
            return;
        }
        shard.make_room(memory);
        let kept = CachedNode {
            node: node.clone(),
            memory,
            used: false,
        };
        shard.nodes.insert(key, kept);
        shard.queue.push_back(key);
        shard.used += memory;
    }
}

/// What a node takes of the budget.
fn cost(node: &Node) -> usize {
    let memory = node.memory();
    memory + memory / ROUNDING + NODE_OVERHEAD
}

impl Shard {
    fn make_room(&mut self, memory: usize) {
        while self.used + memory > self.budget {
            let Some(key) = self.queue.pop_front() else {
                return;
            };
            match self.nodes.get_mut(&key) {
                Some(kept) if kept.used => {
                    kept.used = false;
                    self.queue.push_back(key);
                }
                Some(kept) => {
                    self.used -= kept.memory;
                    self.nodes.remove(&key);
                }
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_holds_and_used_nodes_stay() {
        let cache = NodeCache::new(SHARDS * 10_000);
        let mut node = Node::new(0);
        node.push(b"key", &[0; 500]);
        let node = Arc::new(node);
        let file = cache.new_file();
        cache.put((file, 1), &node);
        for offset in 2..5000 {
            cache.put((file, offset), &node);
            assert!(cache.get((file, 1)).is_some(), "lost at {offset}");
            let newest = cache.shard((file, offset)).lock();
            assert!(
                newest.nodes.contains_key(&(file, offset)),
                "{offset} did not stay"
            );
        }
        for shard in cache.shards.iter() {
            let shard = shard.lock();
            assert!(shard.used <= shard.budget && shard.used > shard.budget / 2);
            assert_eq!(shard.nodes.len(), shard.queue.len());
        }
        assert!(cache.get((cache.new_file(), 1)).is_none());
    }
}
