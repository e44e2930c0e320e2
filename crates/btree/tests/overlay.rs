//! Changes in memory look as a commit of them would.

use crate::common::{self, create};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use varve_base::MemoryStorage;
use varve_btree::{Change, Direction, Overlay, Snapshot, TreeEntry, TreeError, TreeFile};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Batch = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

fn key() -> impl Strategy<Value = Vec<u8>> {
    (0u32..700).prop_map(|n| format!("a/shared/beginning/{n:04}").into_bytes())
}

fn batch() -> impl Strategy<Value = Batch> {
    let some = (any::<u8>(), 0usize..60).prop_map(|(byte, len)| Some(vec![byte; len]));
    let value = prop_oneof![3 => some, 2 => Just(None)];
    proptest::collection::btree_map(key(), value, 0..60)
}

/// The changes with the present items that their caller has looked up.
fn with_changes(view: &Overlay, batch: &Batch, header: &[u8]) -> Overlay {
    let keys: Vec<&Vec<u8>> = batch.keys().collect();
    let known = view.get_many(0, &keys).unwrap();
    let changes = batch.iter().zip(known);
    let changes = changes.map(|((key, value), known)| Change {
        key,
        value: value.as_deref(),
        was_there: known.is_some(),
    });
    view.with_changes(&[changes.collect()], header).unwrap()
}

fn told(items: impl Iterator<Item = Result<TreeEntry, TreeError>>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pair = |item: TreeEntry| (item.key().to_vec(), item.value().to_vec());
    items.map(|item| pair(item.unwrap())).collect()
}

fn apply(model: &mut Model, batch: &Batch) {
    for (key, value) in batch {
        match value {
            Some(value) => model.insert(key.clone(), value.clone()),
            None => model.remove(key),
        };
    }
}

/// Commits the model into a file of its own.
fn committed(model: &Model) -> Snapshot {
    let file = create(&MemoryStorage::default());
    write(
        &file,
        &model
            .iter()
            .map(|(key, value)| (key.clone(), Some(value.clone())))
            .collect(),
    )
}

fn write(file: &TreeFile, batch: &Batch) -> Snapshot {
    let changes: Vec<_> = batch
        .iter()
        .map(|(key, value)| (key, value.as_ref()))
        .collect();
    let mut txn = file.begin().unwrap();
    txn.update(0, &changes).unwrap();
    txn.commit().unwrap()
}

fn compare(view: &Overlay, model: &Model, runs: &[(Vec<u8>, Vec<u8>, [bool; 2])]) {
    let wanted = committed(model);
    assert_eq!(view.len(0).unwrap(), wanted.len(0).unwrap());
    assert_eq!(view.len(1).unwrap(), 0);
    let all = (Unbounded, Unbounded);
    let mut bounds = vec![all];
    for (low, high, inclusive) in runs {
        let low = if inclusive[0] {
            Included(&low[..])
        } else {
            Excluded(&low[..])
        };
        let high = if inclusive[1] {
            Included(&high[..])
        } else {
            Excluded(&high[..])
        };
        bounds.extend([(low, high), (Unbounded, high), (low, Unbounded)]);
    }
    for bounds in bounds {
        let ranks = view.ranks(0, bounds).unwrap();
        let is_empty = ranks.is_empty();
        assert!(
            is_empty || ranks == wanted.ranks(0, bounds).unwrap(),
            "{bounds:?}"
        );
        for direction in [Direction::Forward, Direction::Backward] {
            let found = view.range_by_rank(0, ranks.clone(), direction).unwrap();
            let wanted = wanted.range(0, bounds, direction).unwrap();
            assert!(told(found) == told(wanted), "{bounds:?} {direction:?}");
        }
        let wanted = wanted.reduce(0, bounds).unwrap();
        assert_eq!(view.reduce_by_rank(0, ranks).unwrap(), wanted, "{bounds:?}");
    }
    for (key, ..) in runs {
        assert_eq!(view.rank(0, key).unwrap(), wanted.rank(0, key).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn changes_in_memory_look_like_a_commit_of_them(
        base in batch(),
        more in proptest::collection::vec(batch(), 0..3),
        batches in proptest::collection::vec(batch(), 1..4),
        runs in proptest::collection::vec((key(), key(), any::<[bool; 2]>()), 1..5),
    ) {
        let file = create(&MemoryStorage::default());
        let mut model = Model::new();
        let mut snapshot = file.snapshot();
        for batch in std::iter::once(&base).chain(&more) {
            snapshot = write(&file, batch);
            apply(&mut model, batch);
        }
        let mut view = Overlay::from(snapshot.clone());
        compare(&view, &model, &runs);
        for (number, batch) in batches.iter().enumerate() {
            let (before, old) = (view.clone(), model.clone());
            view = with_changes(&view, batch, &[number as u8]);
            apply(&mut model, batch);
            compare(&view, &model, &runs);
            compare(&before, &old, &runs);
        }
        // The file has them once they are written.
        let mut txn = file.begin().unwrap();
        view.write_to(&mut txn).unwrap();
        let written = txn.commit().unwrap();
        prop_assert_eq!(written.user_header(), [batches.len() as u8 - 1]);
        compare(&Overlay::from(written), &model, &runs);
        let untouched = Overlay::from(snapshot.clone()).len(0).unwrap();
        prop_assert_eq!(snapshot.len(0).unwrap(), untouched);
    }
}

#[test]
fn changes_that_end_where_they_began_are_none() {
    let file = create(&MemoryStorage::default());
    let base = write(&file, &Batch::from([(b"b".to_vec(), Some(b"1".to_vec()))]));
    let view = Overlay::from(base);
    let insert = Batch::from([(b"a".to_vec(), Some(b"22".to_vec()))]);
    let one = with_changes(&view, &insert, b"x");
    assert_eq!((one.changed_items(), one.len(0).unwrap()), (1, 2));
    assert_eq!(
        (one.user_header(), view.user_header()),
        (&b"x"[..], &b""[..])
    );
    assert_eq!(one.reduce_by_rank(0, 0..9).unwrap(), common::number(3));
    let none = with_changes(&one, &Batch::from([(b"a".to_vec(), None)]), b"y");
    assert_eq!((none.changed_items(), none.len(0).unwrap()), (0, 1));
    // Nor is the removal of an absent key counted.
    let none = with_changes(&none, &Batch::from([(b"c".to_vec(), None)]), b"z");
    assert_eq!((none.changed_items(), none.len(0).unwrap()), (0, 1));
    assert!(none.changed_bytes() < one.changed_bytes());
}

#[test]
fn what_is_not_in_order_is_refused() {
    let view = Overlay::from(create(&MemoryStorage::default()).snapshot());
    let change = |key| Change {
        key,
        value: None,
        was_there: false,
    };
    let unsorted = vec![change(&b"b"[..]), change(b"a")];
    let error = view.with_changes(&[unsorted], b"").unwrap_err();
    assert!(
        matches!(
            error,
            TreeError::Unsorted {
                tree: 0,
                position: 1
            }
        ),
        "{error}"
    );
    let error = view
        .with_changes(&[vec![], vec![], vec![]], b"")
        .unwrap_err();
    assert!(matches!(error, TreeError::NoTree { .. }), "{error}");
    assert!(view.len(2).is_err() && view.rank(2, b"").is_err());
}
