//! Power cuts at every byte: nothing acknowledged is lost, nothing uncommitted appears.

use crate::common::{self, PATH};
use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;
use std::path::Path;
use varve_btree::{Direction, Loader, Snapshot, TreeError, TreeFile};
use varve_codec::EngineSetting;
use varve_testkit::Recorder;

/// Everything that can be seen of a commit: both trees and the user header.
type Content = (BTreeMap<Vec<u8>, Vec<u8>>, u64, Vec<u8>);

fn content(snapshot: &Snapshot) -> Content {
    let all = (Unbounded, Unbounded);
    let items = snapshot.range(0, all, Direction::Forward).unwrap();
    let items = items.map(|item| {
        item.map(|i| (i.key().to_vec(), i.value().to_vec()))
            .unwrap()
    });
    (
        items.collect(),
        snapshot.len(1).unwrap(),
        snapshot.user_header().to_vec(),
    )
}

/// Commit number `step`: some chunks, some changes of both trees, the number as user header.
fn commit(file: &TreeFile, step: u32, synced: bool) -> Snapshot {
    let mut txn = file.begin().unwrap();
    let changes: Vec<_> = (0..step * 5)
        .map(|n| format!("{:05}", n * 7919 % 1000))
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .map(|key| {
            (
                key,
                (step % 4 != 3).then(|| format!("value {step}").repeat(3)),
            )
        })
        .collect();
    txn.update(0, &changes).unwrap();
    txn.update(1, &[(step.to_be_bytes(), Some("x"))]).unwrap();
    txn.set_user_header(&step.to_le_bytes());
    match synced {
        true => txn.commit().unwrap(),
        false => txn.commit_unsynced().unwrap(),
    }
}

/// Which of the recorded states an image holds; panics if it is none of them.
fn found(storage: &dyn varve_base::Storage, states: &[Content], cut: &str) -> Option<usize> {
    let opened = TreeFile::open(
        storage,
        Path::new(PATH),
        common::options(EngineSetting::ZSTD),
    );
    let file = match opened {
        Err(TreeError::Unfinished { .. }) => return None,
        Err(TreeError::Foreign { .. } | TreeError::Version { .. } | TreeError::Damaged { .. })
            if cut.contains("torn") =>
        {
            return None;
        }
        // Nothing was there yet.
        Err(TreeError::Storage(error)) if error.is_not_found() => return None,
        other => other.unwrap(),
    };
    let seen = content(&file.snapshot());
    let index = states.iter().position(|state| *state == seen);
    let index = index.unwrap_or_else(|| panic!("a state that was never committed: {cut}"));
    // The file can go on from there.
    let next = commit(&file, 9, true);
    let again = common::open(storage);
    assert_eq!(again.recovery().ignored, 0, "{cut}");
    assert_eq!(content(&again.snapshot()), content(&next), "{cut}");
    Some(index)
}

#[test]
fn no_cut_loses_an_acknowledged_commit_or_shows_another() {
    let disk = Recorder::default();
    let file = common::create(&disk);
    disk.acknowledge();
    let mut states = vec![content(&file.snapshot())];
    for step in 1..=6 {
        states.push(content(&commit(&file, step, true)));
        disk.acknowledge();
    }
    let images = disk.for_each_image(400, |image| {
        let found = found(&image.storage, &states, &image.cut).map_or(0, |index| index + 1);
        let acknowledged = image.acknowledged;
        assert!(
            found >= acknowledged,
            "found {found}, acknowledged {acknowledged}: {}",
            image.cut
        );
        assert!(
            found <= acknowledged + 1,
            "found {found} of {acknowledged}: {}",
            image.cut
        );
    });
    assert!(images > 3000, "only {images} images");
}

#[test]
fn unsynced_commits_are_lost_from_the_end_only() {
    let disk = Recorder::default();
    let file = common::create(&disk);
    let mut states = vec![content(&file.snapshot())];
    disk.acknowledge();
    let mut durable = vec![0];
    for step in 1..=8 {
        let synced = step == 4 || step == 8;
        states.push(content(&commit(&file, step, synced)));
        if synced {
            durable.push(states.len() - 1);
            disk.acknowledge();
        }
    }
    let images = disk.for_each_image(300, |image| {
        let found = found(&image.storage, &states, &image.cut);
        let least = image
            .acknowledged
            .checked_sub(1)
            .map(|index| durable[index]);
        assert!(
            found >= least,
            "found {found:?}, not {least:?}: {}",
            image.cut
        );
    });
    assert!(images > 3000, "only {images} images");
}

#[test]
fn bytes_that_reached_the_disk_out_of_order_are_seen() {
    let disk = varve_base::MemoryStorage::default();
    let file = common::create(&disk);
    let mut ends = vec![file.sizes().file];
    let mut states = vec![content(&file.snapshot())];
    for step in 1..=5 {
        states.push(content(&commit(&file, step, step <= 2)));
        ends.push(file.sizes().file);
    }
    let whole = read(&disk);
    // A hole in the span of commit n, all later bytes there: the newest commit is n - 1.
    for at in ends[2] as usize..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let image = varve_base::MemoryStorage::with_files([(PATH.into(), bytes)]);
        let expected = ends.iter().filter(|&&end| end <= at as u64).count() - 1;
        assert_eq!(
            found(&image, &states, "hole"),
            Some(expected),
            "hole at {at}"
        );
    }
}

fn read(storage: &dyn varve_base::Storage) -> Vec<u8> {
    let file = storage
        .open(Path::new(PATH), varve_base::OpenMode::Read)
        .unwrap();
    file.read_all().unwrap()
}

#[test]
fn a_document_that_holds_a_commit_record_is_not_taken_for_one() {
    let disk = varve_base::MemoryStorage::default();
    let file = common::create(&disk);
    commit(&file, 1, true);
    let sizes = file.sizes();
    let whole = read(&disk);
    // The file's own records, at every alignment, behind the newest commit and torn off there.
    for shift in 0..64 {
        let mut bytes = whole.clone();
        bytes.resize(bytes.len() + shift, b' ');
        bytes.extend_from_slice(&whole[40..]);
        bytes.extend_from_slice(b"torn");
        let image = varve_base::MemoryStorage::with_files([(PATH.into(), bytes)]);
        let opened = common::open(&image);
        assert_eq!(opened.sizes(), sizes, "shift {shift}");
        assert!(opened.recovery().ignored > 0);
        assert_eq!(read(&image), whole, "the torn end is cut off");
    }
}

#[test]
fn a_spilled_transaction_is_one_commit() {
    let disk = Recorder::default();
    let file = common::create(&disk);
    disk.acknowledge();
    let mut txn = file.begin().unwrap();
    let mut compressor = varve_codec::Compressor::new(EngineSetting::NONE).unwrap();
    let mut loader = Loader::new(0);
    let mut chunks = Vec::new();
    for n in 0..40u32 {
        let body: Vec<u8> = (0..500_000u32)
            .map(|i| (i.wrapping_mul(n + 7) >> 5) as u8)
            .collect();
        let chunk = varve_btree::EncodedChunk::encode(&mut compressor, &body).unwrap();
        let at = txn.append_chunk(&chunk).unwrap();
        loader
            .push(&mut txn, &n.to_be_bytes(), &at.offset.to_le_bytes())
            .unwrap();
        let mut back = Vec::new();
        txn.read_chunk(at, &mut back).unwrap();
        assert_eq!(back, body);
        chunks.push((at, body));
    }
    loader.finish(&mut txn).unwrap();
    assert_eq!(txn.len(0).unwrap(), 40);
    assert_eq!(
        txn.get(0, &7u32.to_be_bytes()).unwrap().unwrap().value(),
        chunks[7].0.offset.to_le_bytes()
    );
    let snapshot = txn.commit().unwrap();
    disk.acknowledge();
    for (at, body) in &chunks {
        let mut back = Vec::new();
        snapshot.read_chunk(*at, &mut back).unwrap();
        assert!(back == *body);
    }
    let images = disk.for_each_image(6, |image| {
        let opened = TreeFile::open(
            &image.storage,
            Path::new(PATH),
            common::options(EngineSetting::ZSTD),
        );
        let items = opened.map_or(None, |file| file.snapshot().len(0).ok());
        let fits = match image.acknowledged {
            0 | 1 => items.is_none_or(|items| items == 0 || items == 40),
            _ => items == Some(40),
        };
        assert!(fits, "{items:?} items: {}", image.cut);
    });
    assert!(images > 30, "only {images} images");
}
