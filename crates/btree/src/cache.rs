//! Decoded nodes, kept within a budget and shared by all files and snapshots.

use crate::node::Node;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Locks are per shard, so that readers seldom meet.
const SHARDS: usize = 16;

/// Which open file a node belongs to, and where it stands there.
type Place = (u64, u64);

/// A budget of memory for decoded nodes; clones share it. A server has one for all its files.
#[derive(Clone)]
pub struct NodeCache {
    shards: Arc<[Mutex<Shard>; SHARDS]>,
    files: Arc<AtomicU64>,
}

/// Eviction is by the clock algorithm: a hand goes round and takes what was not used since its
/// last visit.
#[derive(Default)]
struct Shard {
    budget: usize,
    used: usize,
    hand: usize,
    places: HashMap<Place, usize>,
    ring: Vec<Kept>,
}

struct Kept {
    place: Place,
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

    fn shard(&self, (file, offset): Place) -> &Mutex<Shard> {
        let hash = (offset ^ file << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.shards[(hash >> 60) as usize % SHARDS]
    }

    pub(crate) fn get(&self, place: Place) -> Option<Arc<Node>> {
        let mut shard = self
            .shard(place)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let index = *shard.places.get(&place)?;
        let kept = &mut shard.ring[index];
        kept.used = true;
        Some(kept.node.clone())
    }

    pub(crate) fn put(&self, place: Place, node: &Arc<Node>) {
        let memory = node.memory();
        let mut shard = self
            .shard(place)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if memory > shard.budget || shard.places.contains_key(&place) {
            return;
        }
        shard.make_room(memory);
        let index = shard.ring.len();
        shard.places.insert(place, index);
        shard.ring.push(Kept {
            place,
            node: node.clone(),
            memory,
            used: false,
        });
        shard.used += memory;
    }
}

impl Shard {
    fn make_room(&mut self, memory: usize) {
        while self.used + memory > self.budget && !self.ring.is_empty() {
            if self.hand >= self.ring.len() {
                self.hand = 0;
            }
            if std::mem::take(&mut self.ring[self.hand].used) {
                self.hand += 1;
                continue;
            }
            let gone = self.ring.swap_remove(self.hand);
            self.used -= gone.memory;
            self.places.remove(&gone.place);
            if let Some(moved) = self.ring.get(self.hand) {
                self.places.insert(moved.place, self.hand);
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
        }
        for shard in cache.shards.iter() {
            let shard = shard.lock().unwrap();
            assert!(shard.used <= shard.budget && shard.used > shard.budget / 2);
            assert_eq!(shard.places.len(), shard.ring.len());
        }
        assert!(cache.get((cache.new_file(), 1)).is_none());
    }
}
