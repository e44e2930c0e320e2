//! How trees are filled: from sorted items, by appending, at random, and emptied again.

use crate::common;
use std::ops::Bound::Unbounded;
use varve_base::MemoryStorage;
use varve_btree::{Direction, Loader, Snapshot, TreeError, TreeFile};

const ITEMS: u32 = 20_000;

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn check(snapshot: &Snapshot, expected: u32) {
    let range = snapshot
        .range(0, (Unbounded, Unbounded), Direction::Forward)
        .unwrap();
    assert_eq!(range.size_hint().0, expected as usize);
    for (n, item) in (0..expected).zip(range) {
        assert_eq!(item.unwrap().key(), key(n));
    }
}

/// Number of nodes and their mean length before compression.
fn fill(snapshot: &Snapshot) -> (usize, usize) {
    let (mut nodes, mut bytes) = (0, 0);
    let mut visit = |raw: &[u8]| -> Result<(), TreeError> {
        assert!(raw.len() <= 8 << 10, "a node of {} bytes", raw.len());
        nodes += 1;
        bytes += raw.len();
        Ok(())
    };
    snapshot.visit_nodes(0, &mut visit).unwrap();
    (nodes, bytes / nodes)
}

fn load(file: &TreeFile, items: u32) -> Snapshot {
    let mut txn = file.begin().unwrap();
    let mut loader = Loader::new(0);
    for n in 0..items {
        loader.push(&mut txn, &key(n), &[n as u8; 25]).unwrap();
    }
    loader.finish(&mut txn).unwrap();
    txn.commit().unwrap()
}

#[test]
fn loading_packs_nodes() {
    for items in [0, 1, 2, 290, 291, 292, 600, ITEMS] {
        let file = common::create(&MemoryStorage::default());
        let snapshot = load(&file, items);
        check(&snapshot, items);
        let sum = snapshot.reduce(0, (Unbounded, Unbounded)).unwrap();
        assert_eq!(common::read_number(&sum), u64::from(items) * 25);
    }
    let file = common::create(&MemoryStorage::default());
    let (_, mean) = fill(&load(&file, ITEMS));
    assert!(mean > 6500, "mean {mean}");
    // Loaded trees take changes like any other.
    let mut txn = file.begin().unwrap();
    let changes: Vec<_> = (ITEMS..ITEMS + 500)
        .map(|n| (key(n), Some([1; 25])))
        .collect();
    txn.update(0, &changes).unwrap();
    check(&txn.commit().unwrap(), ITEMS + 500);
}

#[test]
fn loading_goes_on_where_it_was_paused_or_where_a_file_ends() {
    let file = common::create(&MemoryStorage::default());
    let whole = fill(&load(&file, ITEMS));
    for step in [1, 7, 290, 291, 3777] {
        for is_reopened in [false, true] {
            let storage = MemoryStorage::default();
            let mut file = common::create(&storage);
            let mut loader = Loader::new(0);
            // Single steps only at the first few levels.
            let items = if step == 1 { 700 } else { ITEMS };
            for start in (0..items).step_by(step as usize) {
                if is_reopened {
                    drop(file);
                    file = common::open(&storage);
                }
                let mut txn = file.begin().unwrap();
                if is_reopened {
                    loader = Loader::resume(0, &txn).unwrap();
                }
                for n in start..items.min(start + step) {
                    loader.push(&mut txn, &key(n), &[n as u8; 25]).unwrap();
                }
                assert!(loader.push(&mut txn, &key(start), b"").is_err());
                loader.pause(&mut txn).unwrap();
                let snapshot = txn.commit().unwrap();
                if start % 13 == 0 || start + step >= items {
                    check(&snapshot, items.min(start + step));
                }
            }
            let snapshot = file.snapshot();
            let sum = snapshot.reduce(0, (Unbounded, Unbounded)).unwrap();
            assert_eq!(common::read_number(&sum), u64::from(items) * 25);
            let (nodes, _) = fill(&snapshot);
            let most = whole.0 as f64 * f64::from(items) / f64::from(ITEMS) + 2.0;
            assert!(nodes as f64 <= most, "{nodes} of {whole:?}, step {step}");
        }
    }
}

#[test]
fn a_loader_takes_what_is_there_however_it_came_there() {
    let file = common::create(&MemoryStorage::default());
    let mut txn = file.begin().unwrap();
    let mut none = Loader::resume(0, &txn).unwrap();
    none.push(&mut txn, &key(0), b"first").unwrap();
    none.pause(&mut txn).unwrap();
    let changes: Vec<_> = (0..3000).map(|n| (key(n), Some([1; 25]))).collect();
    txn.update(0, &changes).unwrap();
    let mut loader = Loader::resume(0, &txn).unwrap();
    for n in 3000..9000 {
        loader.push(&mut txn, &key(n), &[2; 25]).unwrap();
    }
    loader.finish(&mut txn).unwrap();
    check(&txn.commit().unwrap(), 9000);
}

#[test]
fn appending_in_batches_fills_nodes_and_random_order_does_not_waste_them() {
    let file = common::create(&MemoryStorage::default());
    for start in (0..ITEMS).step_by(100) {
        let mut txn = file.begin().unwrap();
        let changes: Vec<_> = (start..start + 100)
            .map(|n| (key(n), Some([7; 25])))
            .collect();
        txn.update(0, &changes).unwrap();
        txn.commit().unwrap();
    }
    check(&file.snapshot(), ITEMS);
    let (_, mean) = fill(&file.snapshot());
    assert!(mean > 6500, "appending: mean {mean}");

    let file = common::create(&MemoryStorage::default());
    for start in 0..200 {
        let mut txn = file.begin().unwrap();
        let changes: Vec<_> = (0..100)
            .map(|n| (key(n * 200 + start * 37 % 200), Some([7; 25])))
            .collect();
        txn.update(0, &changes).unwrap();
        txn.commit().unwrap();
    }
    check(&file.snapshot(), ITEMS);
    let (_, mean) = fill(&file.snapshot());
    assert!(mean > 3500, "random: mean {mean}");
}

#[test]
fn removing_gives_nodes_back() {
    let file = common::create(&MemoryStorage::default());
    let (before, _) = fill(&load(&file, ITEMS));
    // Nine of ten, scattered: the other items fit into far fewer nodes.
    for part in 1..10 {
        let mut txn = file.begin().unwrap();
        let changes: Vec<_> = (0..ITEMS / 10)
            .map(|n| (key(n * 10 + part), None::<&[u8]>))
            .collect();
        txn.update(0, &changes).unwrap();
        txn.commit().unwrap();
    }
    let (after, _) = fill(&file.snapshot());
    assert_eq!(file.snapshot().len(0).unwrap(), u64::from(ITEMS / 10));
    assert!(after * 3 < before, "{before} nodes, then {after}");
    let mut txn = file.begin().unwrap();
    let changes: Vec<_> = (0..ITEMS / 10)
        .map(|n| (key(n * 10), None::<&[u8]>))
        .collect();
    txn.update(0, &changes).unwrap();
    let empty = txn.commit().unwrap();
    check(&empty, 0);
    assert_eq!(empty.stored_len(0).unwrap(), 0);
}

#[test]
fn a_loader_refuses_items_out_of_order() {
    let file = common::create(&MemoryStorage::default());
    let mut txn = file.begin().unwrap();
    let mut loader = Loader::new(1);
    loader.push(&mut txn, b"b", b"").unwrap();
    for wrong in [b"b", b"a"] {
        let error = loader.push(&mut txn, wrong, b"").unwrap_err();
        assert!(
            matches!(
                error,
                TreeError::Unsorted {
                    tree: 1,
                    position: 1
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn items_of_every_length_have_a_place() {
    let file = common::create(&MemoryStorage::default());
    let mut txn = file.begin().unwrap();
    // Keys of 100 kB that share almost everything, and values far longer than a node.
    let long = |n: u32| [vec![b'k'; 100_000], n.to_be_bytes().to_vec()].concat();
    let changes: Vec<_> = (0..60)
        .map(|n| (long(n), Some(vec![1; (n * 1000) as usize])))
        .collect();
    txn.update(0, &changes).unwrap();
    let snapshot = txn.commit().unwrap();
    for (n, (key, value)) in changes.iter().enumerate() {
        let found = snapshot.get(0, key).unwrap().unwrap();
        assert_eq!(Some(found.value()), value.as_deref(), "item {n}");
    }
    assert_eq!(snapshot.rank(0, &long(30)).unwrap(), 30);
}
