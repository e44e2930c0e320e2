//! Walking over trees that are damaged, or differ from their parents' descriptions.

use crate::common::{self, PATH};
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_btree::{Reducer, TreeError, TreeFile, Visited};
use varve_codec::EngineSetting;

/// Numbers of items and nodes seen and of items lost, and the reasons of mismatches.
#[derive(Debug, Default, PartialEq)]
struct VisitCounts {
    items: u64,
    nodes: Vec<u64>,
    lost: u64,
    misjudged: Vec<&'static str>,
}

fn visit_reachable(file: &TreeFile) -> VisitCounts {
    let mut seen = VisitCounts::default();
    let mut last = Vec::new();
    let walked = file.snapshot().visit_reachable(0, &mut |met| {
        match met {
            Visited::Entry { key, .. } => {
                assert!(last < key.to_vec(), "{key:?}");
                last = key.to_vec();
                seen.items += 1;
            }
            Visited::Node { at, .. } => seen.nodes.push(at.offset),
            Visited::Lost(lost) => {
                assert!(lost.low.is_none_or(|low| low >= &last[..]));
                assert!(lost.high.is_none_or(|high| high > &last[..]));
                assert_eq!(lost.error.offset(), Some(lost.at.offset));
                seen.lost += lost.items;
            }
            Visited::Mismatched { reason, .. } => seen.misjudged.push(reason),
        }
        Ok::<_, TreeError>(())
    });
    walked.unwrap();
    seen
}

const ITEMS: u64 = 20_000;

fn made() -> Vec<u8> {
    let storage = MemoryStorage::default();
    let file = common::create(&storage);
    let mut txn = file.begin().unwrap();
    let keys = (0..ITEMS).map(|n| (n.to_be_bytes(), Some(format!("value {n}"))));
    txn.update(0, &keys.collect::<Vec<_>>()).unwrap();
    txn.commit().unwrap();
    let mut txn = file.begin().unwrap();
    txn.update(1, &[(b"behind", Some(b"it"))]).unwrap();
    txn.commit().unwrap();
    let file = storage.open(Path::new(PATH), OpenMode::Read).unwrap();
    file.read_all().unwrap()
}

fn open(bytes: Vec<u8>) -> TreeFile {
    let storage = MemoryStorage::with_files([(PATH.into(), bytes)]);
    let options = common::options(EngineSetting::NONE);
    TreeFile::open_read_only(&storage, Path::new(PATH), options).unwrap()
}

#[test]
fn what_is_behind_a_damaged_node_is_seen() {
    let bytes = made();
    let whole = visit_reachable(&open(bytes.clone()));
    assert_eq!((whole.items, whole.lost), (ITEMS, 0));
    assert_eq!(whole.misjudged, Vec::<&str>::new());
    assert!(whole.nodes.len() > 40, "{whole:?}");
    for at in &whole.nodes {
        let mut bytes = bytes.clone();
        bytes[*at as usize + 20] ^= 1;
        let seen = visit_reachable(&open(bytes));
        assert_eq!(seen.items + seen.lost, ITEMS, "{at}");
        assert!(seen.lost > 0 && seen.misjudged.is_empty(), "{at}");
        let is_root = *at == whole.nodes[0];
        assert_eq!(seen.lost == ITEMS, is_root, "{at}");
    }
}

/// Counts the bytes of keys, unlike the reducer that the file was made with.
struct OtherSum;

impl Reducer for OtherSum {
    fn leaf(&self, items: &mut dyn Iterator<Item = (&[u8], &[u8])>) -> Vec<u8> {
        common::number(items.map(|(key, _)| key.len() as u64).sum())
    }

    fn combine(&self, parts: &[&[u8]]) -> Vec<u8> {
        common::number(parts.iter().map(|part| common::read_number(part)).sum())
    }
}

#[test]
fn wrong_reductions_are_told_and_the_items_are_seen() {
    let storage = MemoryStorage::with_files([(PATH.into(), made())]);
    let mut options = common::options(EngineSetting::NONE);
    options.reducers[0] = Arc::new(OtherSum);
    let file = TreeFile::open_read_only(&storage, Path::new(PATH), options).unwrap();
    let seen = visit_reachable(&file);
    assert_eq!((seen.items, seen.lost), (ITEMS, 0));
    // Inner nodes add up their entries' claims, so only leaves differ from them.
    let told = "a node has another reduction than its parent says";
    assert!(seen.misjudged.iter().all(|reason| *reason == told));
    assert!(seen.misjudged.len() + 3 > seen.nodes.len(), "{seen:?}");
}
