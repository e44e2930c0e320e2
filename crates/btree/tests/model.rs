//! Random batches against a `BTreeMap`, the file opened anew after each.

use crate::common::{self, PATH, read_number};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::path::Path;
use varve_base::MemoryStorage;
use varve_btree::{Direction, Snapshot, TreeFile};
use varve_codec::EngineSetting;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Batch = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

fn pairs(
    snapshot: &Snapshot,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    to: Direction,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let range = snapshot.range(0, bounds, to).unwrap();
    let expected = range.size_hint().0;
    let found: Vec<_> = range
        .map(|item| {
            item.map(|item| (item.key().to_vec(), item.value().to_vec()))
                .unwrap()
        })
        .collect();
    assert_eq!(found.len(), expected);
    found
}

fn check_whole(snapshot: &Snapshot, model: &Model) {
    let expected: Vec<_> = model.clone().into_iter().collect();
    assert_eq!(snapshot.len(0).unwrap(), model.len() as u64);
    assert!(pairs(snapshot, (Unbounded, Unbounded), Direction::Forward) == expected);
    let mut backward = pairs(snapshot, (Unbounded, Unbounded), Direction::Backward);
    backward.reverse();
    assert!(backward == expected);
    let keys: Vec<_> = model.keys().collect();
    let found = snapshot.get_many(0, &keys).unwrap();
    assert!(
        found
            .iter()
            .map(|item| item.as_ref().unwrap().value())
            .eq(model.values())
    );
}

fn check_run(snapshot: &Snapshot, model: &Model, bounds: (Bound<&[u8]>, Bound<&[u8]>)) {
    let expected: Vec<_> = match model.is_empty() {
        true => Vec::new(),
        false => model
            .range::<[u8], _>(bounds)
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
    };
    assert!(
        pairs(snapshot, bounds, Direction::Forward) == expected,
        "{bounds:?}"
    );
    assert_eq!(snapshot.count(0, bounds).unwrap(), expected.len() as u64);
    let sum: usize = expected.iter().map(|(_, value)| value.len()).sum();
    assert_eq!(
        read_number(&snapshot.reduce(0, bounds).unwrap()),
        sum as u64,
        "{bounds:?}"
    );
    let mut range = snapshot.range(0, bounds, Direction::Backward).unwrap();
    let skipped = range
        .nth(expected.len() / 2)
        .map(|item| item.unwrap().key().to_vec());
    let mut reversed = expected.iter().rev();
    assert_eq!(
        skipped.as_ref(),
        reversed.nth(expected.len() / 2).map(|(key, _)| key)
    );
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let short = proptest::collection::vec(0u8..4, 0..5);
    let shared = (0u32..3000).prop_map(|n| format!("a/long/shared/beginning/{n:06}").into_bytes());
    prop_oneof![1 => short, 4 => shared]
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    let some = (any::<u8>(), prop_oneof![5 => 0usize..60, 1 => 0usize..900]);
    let some = some.prop_map(|(byte, len)| Some(vec![byte; len]));
    prop_oneof![2 => some, 1 => Just(None)]
}

fn batch() -> impl Strategy<Value = Batch> {
    let random = proptest::collection::btree_map(key(), value(), 0..400);
    // Runs of neighbours, removed or set, empty whole leaves.
    let run = (0u32..3000, 0u32..900, value()).prop_map(|(from, len, value)| {
        let key = |n| format!("a/long/shared/beginning/{n:06}").into_bytes();
        (from..from + len)
            .map(|n| (key(n), value.clone()))
            .collect()
    });
    prop_oneof![random, run]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_tree_is_a_map(
        batches in proptest::collection::vec(batch(), 1..10),
        runs in proptest::collection::vec((key(), key(), any::<[bool; 2]>()), 1..6),
    ) {
        let storage = MemoryStorage::default();
        let settings: Vec<_> = EngineSetting::all().collect();
        let mut file = common::create(&storage);
        let mut model = Model::new();
        for (step, batch) in batches.iter().enumerate() {
            let before = file.snapshot();
            let old = model.clone();
            let changes: Vec<_> = batch.iter().collect();
            let changes: Vec<_> = changes.iter().map(|(k, v)| (k, v.as_ref())).collect();
            let mut txn = file.begin().unwrap();
            txn.update(0, &changes).unwrap();
            for (key, value) in batch {
                match value {
                    Some(value) => model.insert(key.clone(), value.clone()),
                    None => model.remove(key),
                };
                let found = txn.get(0, key).unwrap();
                prop_assert_eq!(found.as_ref().map(|item| item.value()), value.as_deref());
            }
            check_whole(&txn.commit().unwrap(), &model);
            check_whole(&before, &old);
            let setting = settings[step * 7 % settings.len()];
            file = TreeFile::open(&storage, Path::new(PATH), common::options(setting)).unwrap();
            let snapshot = file.snapshot();
            check_whole(&snapshot, &model);
            for (a, b, inclusive) in &runs {
                let (low, high) = (a.min(b).as_slice(), a.max(b).as_slice());
                let low = if inclusive[0] || low == high { Included(low) } else { Excluded(low) };
                let high = if inclusive[1] { Included(high) } else { Excluded(high) };
                check_run(&snapshot, &model, (low, high));
                check_run(&snapshot, &model, (Unbounded, high));
                check_run(&snapshot, &model, (low, Unbounded));
            }
        }
    }
}
