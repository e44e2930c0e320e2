//! Room in the middle of a file is given back, and no read misses its old content.

use crate::common::{create, open};
use std::cell::RefCell;
use std::ops::Bound::Unbounded;
use varve_base::{Hole, MemoryStorage};
use varve_btree::{ChunkRef, Direction, Snapshot, TreeError, TreeFile, Visited};

/// Items of the first tree.
const ITEMS: u32 = 20_000;

fn fill(file: &TreeFile) {
    let mut txn = file.begin().unwrap();
    let items: Vec<_> = (0..ITEMS)
        .map(|n| (n.to_be_bytes(), Some(format!("value {n}").repeat(4))))
        .collect();
    txn.update(0, &items).unwrap();
    txn.update(1, &[("one", Some("item"))]).unwrap();
    txn.commit().unwrap();
}

fn values(snapshot: &Snapshot) -> Vec<Vec<u8>> {
    let items = snapshot.range(0, (Unbounded, Unbounded), Direction::Forward);
    let items = items.unwrap().map(|item| item.unwrap().value().to_vec());
    items.collect()
}

/// All nodes of both trees.
fn nodes(snapshot: &Snapshot) -> Vec<ChunkRef> {
    let mut all = Vec::new();
    for tree in 0..2 {
        let visit = &mut |met: Visited<'_>| {
            match met {
                Visited::Node { at, .. } => all.push(at),
                Visited::Entry { .. } => {}
                Visited::Lost(_) | Visited::Mismatched { .. } => panic!("{met:?}"),
            }
            Ok::<_, TreeError>(())
        };
        snapshot.visit_reachable(tree, visit).unwrap();
    }
    all
}

/// Moves the nodes that begin before `end`, in steps of so many bytes; returns the number of steps.
fn move_before(file: &TreeFile, end: u64, most: u64) -> usize {
    let mut steps = 0;
    for tree in 0..2 {
        let mut from: Option<Vec<u8>> = None;
        loop {
            let mut txn = file.begin().unwrap();
            let is_moved = |at: ChunkRef| at.offset < end;
            from = txn
                .move_nodes(tree, &is_moved, from.as_deref(), most)
                .unwrap();
            txn.commit().unwrap();
            steps += 1;
            if from.is_none() {
                break;
            }
        }
    }
    steps
}

/// Has references to older commits refused from the commit on that this makes.
fn refuse(file: &TreeFile) -> Snapshot {
    let txn = file.begin().unwrap();
    txn.refuse_older();
    txn.commit().unwrap()
}

#[test]
fn nodes_are_moved_in_steps_and_a_hole_takes_their_place() {
    let storage = MemoryStorage::default();
    let file = create(&storage);
    fill(&file);
    let expected = values(&file.snapshot());
    let middle = file.sizes().file / 2;
    let before = nodes(&file.snapshot()).len();
    assert!(before > 100, "{before}");
    let steps = move_before(&file, middle, 5_000);
    assert!(steps > 10, "{steps}");
    let moved = nodes(&file.snapshot());
    assert_eq!(moved.len(), before);
    assert!(moved.iter().all(|at| at.offset >= middle));
    refuse(&file);
    assert_eq!(file.punch_hole(64..middle).unwrap(), Hole::Made);
    assert_eq!(values(&file.snapshot()), expected);
    assert_eq!(nodes(&file.snapshot()), moved);
    drop(file);
    let again = open(&storage);
    assert_eq!(values(&again.snapshot()), expected);
    assert_eq!(again.snapshot().len(1).unwrap(), 1);
    // Reductions and counts were kept.
    let sum: usize = expected.iter().map(Vec::len).sum();
    let all = again.snapshot().reduce(0, (Unbounded, Unbounded)).unwrap();
    assert_eq!(crate::common::read_number(&all), sum as u64);
}

#[test]
fn a_hole_waits_for_those_who_read_what_was_there() {
    let storage = MemoryStorage::default();
    let file = create(&storage);
    fill(&file);
    let reader = file.snapshot();
    let expected = values(&reader);
    let middle = file.sizes().file / 2;
    // A commit that was never acknowledged before it is there is not refused.
    assert!(file.begin().unwrap().accepts(&reader));
    assert_eq!(file.punch_hole(64..middle).unwrap(), Hole::InUse, "needed");
    move_before(&file, middle, u64::MAX);
    assert!(file.begin().unwrap().accepts(&reader));
    let newest = refuse(&file);
    let txn = file.begin().unwrap();
    assert!(!txn.accepts(&reader) && txn.accepts(&newest));
    drop(txn);
    assert_eq!(file.punch_hole(64..middle).unwrap(), Hole::InUse);
    assert!(file.has_older_readers());
    assert_eq!(values(&reader), expected);
    let end = newest.position();
    drop(reader);
    assert!(!file.has_older_readers());
    let too_far = file.punch_hole(64..end + 2).unwrap();
    assert_eq!(too_far, Hole::InUse, "the newest commit stands there");
    assert_eq!(file.punch_hole(64..middle).unwrap(), Hole::Made);
    assert_eq!(values(&file.snapshot()), expected);
}

#[test]
fn a_single_leaf_moves_too_and_nothing_moves_without_reason() {
    let storage = MemoryStorage::default();
    let file = create(&storage);
    let mut txn = file.begin().unwrap();
    txn.update(1, &[("one", Some("item"))]).unwrap();
    txn.commit().unwrap();
    let before = nodes(&file.snapshot());
    let asked = RefCell::new(Vec::new());
    let mut txn = file.begin().unwrap();
    let never = |at: ChunkRef| {
        asked.borrow_mut().push(at);
        false
    };
    assert_eq!(txn.move_nodes(1, &never, None, 1).unwrap(), None);
    assert_eq!(txn.move_nodes(0, &|_| true, None, 1).unwrap(), None);
    txn.commit().unwrap();
    assert_eq!(*asked.borrow(), before);
    assert_eq!(nodes(&file.snapshot()), before);
    move_before(&file, u64::MAX, 1);
    assert!(nodes(&file.snapshot())[0].offset > before[0].offset);
    assert_eq!(
        file.snapshot().get(1, b"one").unwrap().unwrap().value(),
        b"item"
    );
}

#[test]
fn a_commit_that_was_not_synced_is_sealed_once_it_is() {
    let storage = MemoryStorage::default();
    let file = create(&storage);
    fill(&file);
    let mut txn = file.begin().unwrap();
    txn.update(1, &[("two", Some("item"))]).unwrap();
    txn.commit_unsynced().unwrap();
    let mut txn = file.begin().unwrap();
    assert!(!txn.repeat_roots().unwrap(), "it may be lost yet");
    txn.sync_base().unwrap();
    assert!(txn.repeat_roots().unwrap());
    txn.commit_unsynced().unwrap();
    assert_eq!(file.snapshot().len(1).unwrap(), 2);
}
