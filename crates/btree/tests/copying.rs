//! Functions for copying a file: diff of two commits, and chunks as they are stored.

use crate::common;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::Unbounded;
use varve_base::MemoryStorage;
use varve_btree::{ChunkRef, Direction, EncodedChunk, Snapshot, TreeError, TreeFile};
use varve_codec::{Compressor, EngineSetting};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
/// A key with its value before and after.
type Found = Vec<(Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>)>;

fn model(snapshot: &Snapshot) -> Model {
    let items = snapshot.range(0, (Unbounded, Unbounded), Direction::Forward);
    let items = items.unwrap().map(Result::unwrap);
    items
        .map(|item| (item.key().to_vec(), item.value().to_vec()))
        .collect()
}

fn expected(before: &Model, after: &Model) -> Found {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let pair = |key: &&Vec<u8>| {
        (
            (*key).clone(),
            before.get(*key).cloned(),
            after.get(*key).cloned(),
        )
    };
    keys.iter()
        .map(pair)
        .filter(|(_, before, after)| before != after)
        .collect()
}

fn found(after: &Snapshot, before: &Snapshot) -> Found {
    let diff = after.diff(0, before).unwrap().map(Result::unwrap);
    let found = diff.map(|difference| {
        let either = difference.after.as_ref().or(difference.before.as_ref());
        let value = |item: &varve_btree::TreeEntry| item.value().to_vec();
        (
            either.unwrap().key().to_vec(),
            difference.before.as_ref().map(value),
            difference.after.as_ref().map(value),
        )
    });
    found.collect()
}

fn commit(
    file: &TreeFile,
    keys: std::ops::Range<u32>,
    step: usize,
    value: Option<&str>,
) -> Snapshot {
    let changes: Vec<_> = keys
        .step_by(step.max(1))
        .map(|key| (format!("key {key:07}"), value))
        .collect();
    let mut txn = file.begin().unwrap();
    txn.update(0, &changes).unwrap();
    txn.commit().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn differences_are_those_of_the_items(
        edits in prop::collection::vec((0..9000u32, 1..3000u32, 1..400usize, prop::option::of("[ab]{0,40}")), 1..12),
        cached in any::<bool>(),
    ) {
        let storage = MemoryStorage::default();
        let file = common::create(&storage);
        let mut states = vec![file.snapshot(), commit(&file, 0..9000, 1, Some("first"))];
        for (start, len, step, value) in edits {
            states.push(commit(&file, start..start + len, step, value.as_deref()));
        }
        let last = states.last().unwrap().clone();
        let last = if cached { last } else { last.uncached() };
        for earlier in &states {
            let wanted = expected(&model(earlier), &model(&last));
            prop_assert_eq!(found(&last, earlier), wanted);
            let back = expected(&model(&last), &model(earlier));
            prop_assert_eq!(found(earlier, &last), back);
        }
        let (one, other) = (MemoryStorage::default(), common::create(&MemoryStorage::default()));
        let copy = commit(&common::create(&one), 0..5000, 7, Some("elsewhere"));
        prop_assert_eq!(found(&copy, &last), expected(&model(&last), &model(&copy)));
        prop_assert!(!copy.is_same_file(&other.snapshot()));
    }
}

fn chunks(file: &TreeFile, lens: &[usize]) -> (Snapshot, Vec<ChunkRef>) {
    let mut compressor = Compressor::new(EngineSetting::ZSTD).unwrap();
    let mut txn = file.begin().unwrap();
    let mut places = Vec::new();
    for (number, len) in lens.iter().enumerate() {
        let chunk = EncodedChunk::encode(&mut compressor, &content(number, *len)).unwrap();
        places.push(txn.append_chunk(&chunk).unwrap());
    }
    (txn.commit().unwrap(), places)
}

fn content(number: usize, len: usize) -> Vec<u8> {
    varve_testkit::repos::noise(len, number as u32 + 1)
}

#[test]
fn chunks_come_in_file_order_whatever_the_order_of_the_places() {
    let storage = MemoryStorage::default();
    let file = common::create(&storage);
    let lens = [10, 40_000, 5, 900_000, 700_000, 0, 1_500_000, 20, 30];
    let (snapshot, places) = chunks(&file, &lens);
    let order = [8, 3, 0, 6, 6, 1, 5, 2];
    let wanted: Vec<_> = order.iter().map(|&index| places[index]).collect();
    let mut seen = Vec::new();
    let other = MemoryStorage::default();
    let copy = common::create(&other);
    let mut txn = copy.begin().unwrap();
    let mut copied = Vec::new();
    let visited = snapshot.visit_stored::<TreeError>(&wanted, &mut |index, stored| {
        let mut out = Vec::new();
        stored.expand(&mut out)?;
        assert_eq!(out, content(order[index], lens[order[index]]));
        seen.push(wanted[index]);
        copied.push((order[index], txn.append_chunk(&stored.to_chunk())?));
        Ok(())
    });
    visited.unwrap();
    let mut sorted = wanted.clone();
    sorted.sort();
    assert_eq!(seen, sorted);
    let copy = txn.commit().unwrap();
    for (number, place) in copied {
        let mut out = Vec::new();
        copy.read_chunk(place, &mut out).unwrap();
        assert_eq!(out, content(number, lens[number]));
    }
}

#[test]
fn places_that_lie_are_refused_without_reading_or_reserving() {
    let storage = MemoryStorage::default();
    let file = common::create(&storage);
    let (snapshot, places) = chunks(&file, &[10, 20]);
    for (offset, len) in [
        (places[0].offset, places[0].len + 1),
        (places[0].offset, 3),
        (places[0].offset + 1, places[0].len),
        (places[1].offset, u32::MAX),
        (u64::MAX, 20),
        (0, 20),
    ] {
        let lies = [places[1], ChunkRef { offset, len }];
        let read = snapshot.visit_stored::<TreeError>(&lies, &mut |_, _| Ok(()));
        assert!(read.unwrap_err().is_damage(), "{offset} {len}");
    }
    assert!(snapshot.stored_chunk(places[1]).is_ok());
}
