//! Entry points of a fuzzer; a plain test runs them over saved and mutated inputs.

use crate::node::Node;
use crate::{NoReduction, NodeCache, Options, TreeFile};
use std::ops::Bound::Unbounded;
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_codec::EngineSetting;

/// Never panics; a node that decodes encodes to bytes that decode to the same.
pub fn node(data: &[u8]) {
    let Ok(node) = Node::decode(data) else { return };
    let (mut once, mut twice) = (Vec::new(), Vec::new());
    node.encode(&mut once);
    let Ok(again) = Node::decode(&once) else {
        unreachable!("a node does not decode from its own encoding");
    };
    again.encode(&mut twice);
    assert_eq!(once, twice);
}

/// Opens the bytes as a file of two trees and reads everything; never panics.
pub fn file(data: &[u8]) {
    /// A file may claim many more items than it has bytes; so many are enough.
    const ENOUGH: usize = 10_000;
    let storage = MemoryStorage::with_files([("f".into(), data.to_vec())]);
    let options = Options {
        kind: *b"fuzzing\0",
        reducers: vec![Arc::new(NoReduction), Arc::new(NoReduction)],
        optional_trees: 0,
        setting: EngineSetting::NONE,
        cache: NodeCache::new(1 << 20),
    };
    let Ok(file) = TreeFile::open(&storage, Path::new("f"), options) else {
        return;
    };
    let snapshot = file.snapshot();
    for tree in 0..2 {
        for direction in [crate::Direction::Forward, crate::Direction::Backward] {
            if let Ok(range) = snapshot.range(tree, (Unbounded, Unbounded), direction) {
                for item in range.take(ENOUGH).flatten() {
                    let _ = snapshot.get(tree, item.key());
                }
            }
        }
        let _ = snapshot.reduce(tree, (Unbounded, Unbounded));
    }
}
