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

/// Bytes that a node takes of the budget.
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
    use crate::{NoReduction, Options, TreeFile};
    use std::path::Path;
    use varve_base::MemoryStorage;
    use varve_codec::EngineSetting;

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

    /// The least memory that a node can take.
    fn least(node: &Node) -> usize {
        let item = |index| node.key(index).len() + node.value(index).len();
        let items: usize = (0..node.len()).map(item).sum();
        // A slot, and for a child its place and the count before it.
        let each = 16 + usize::from(node.level() > 0) * (size_of::<crate::node::Child>() + 8);
        size_of::<Node>() + items + node.len() * each + 8
    }

    fn options(cache: &NodeCache) -> Options {
        Options {
            kind: *b"test\0\0\0\0",
            reducers: vec![Arc::new(NoReduction)],
            optional_trees: 0,
            setting: EngineSetting::ZSTD,
            cache: cache.clone(),
        }
    }

    /// Checks that all nodes in the cache are without unused room; returns how many there are.
    fn check_kept(cache: &NodeCache) -> usize {
        let mut count = 0;
        for shard in cache.shards.iter() {
            let shard = shard.lock();
            let costs: usize = shard.nodes.values().map(|kept| cost(&kept.node)).sum();
            assert_eq!(shard.used, costs);
            for kept in shard.nodes.values() {
                let (memory, least) = (kept.node.memory(), least(&kept.node));
                assert!(memory <= least + least / 12, "{memory}, not {least}");
                count += 1;
            }
        }
        count
    }

    #[test]
    fn nodes_that_were_written_or_read_are_kept_without_unused_room() {
        let (storage, path) = (MemoryStorage::default(), Path::new("file"));
        let written = NodeCache::new(64 << 20);
        let file = TreeFile::create(&storage, path, options(&written)).unwrap();
        for batch in 0..20_u32 {
            let key = |number: u32| (batch * 1000 + number).to_be_bytes();
            let change = |number| (key(number), Some([7; 20]));
            let changes: Vec<_> = (0..1000).map(change).collect();
            let mut txn = file.begin().unwrap();
            txn.update(0, &changes).unwrap();
            txn.commit().unwrap();
        }
        assert!(check_kept(&written) > 60);
        let read = NodeCache::new(64 << 20);
        let file = TreeFile::open(&storage, path, options(&read)).unwrap();
        let snapshot = file.snapshot();
        for number in 0..20_000_u32 {
            let found = snapshot.get(0, &number.to_be_bytes()).unwrap();
            assert_eq!(found.unwrap().value(), [7; 20]);
        }
        assert!(check_kept(&read) > 60);
    }
}
