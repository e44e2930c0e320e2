//! A disk that refuses: the file stays readable at its last commit, and goes on when the disk does.

use crate::common::{self, PATH};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use varve_base::MemoryStorage;
use varve_btree::{EncodedChunk, TreeFile};
use varve_codec::{Compressor, EngineSetting};
use varve_testkit::watched::{Call, Watched, Watcher};

/// Lets some calls through, then refuses some.
#[derive(Debug, Default)]
struct Fuse {
    pass: AtomicUsize,
    refuse: AtomicUsize,
}

impl Fuse {
    fn arm(&self, pass: usize, refuse: usize) {
        self.pass.store(pass, Relaxed);
        self.refuse.store(refuse, Relaxed);
    }

    fn blows(&self) -> bool {
        let take = |count: &AtomicUsize| count.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1));
        take(&self.pass).is_err() && take(&self.refuse).is_ok()
    }
}

#[derive(Debug, Default)]
struct Plan {
    appends: Fuse,
    syncs: Fuse,
    truncates: Fuse,
}

impl Watcher for Plan {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        let (fuse, kind) = match call {
            Call::Append(_) => (&self.appends, ErrorKind::StorageFull),
            Call::Sync => (&self.syncs, ErrorKind::Other),
            Call::Truncate(_) => (&self.truncates, ErrorKind::Other),
            _ => return Ok(()),
        };
        match fuse.blows() {
            true => Err(kind),
            false => Ok(()),
        }
    }
}

type Failing = Watched<MemoryStorage, Plan>;

fn failing() -> Failing {
    Watched::new(MemoryStorage::default(), Plan::default())
}

fn put(file: &TreeFile, key: u32, synced: bool) -> Result<(), varve_btree::TreeError> {
    let mut txn = file.begin()?;
    txn.update(0, &[(key.to_be_bytes(), Some("value".repeat(40)))])?;
    match synced {
        true => txn.commit()?,
        false => txn.commit_unsynced()?,
    };
    Ok(())
}

/// Longer than a transaction keeps in memory.
fn long_chunk() -> EncodedChunk {
    let mut compressor = Compressor::new(EngineSetting::NONE).unwrap();
    EncodedChunk::encode(&mut compressor, &vec![7; 9 << 20]).unwrap()
}

fn keys(file: &TreeFile) -> Vec<u32> {
    let (low, high) = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    let range = file
        .snapshot()
        .range(0, (low, high), varve_btree::Direction::Forward)
        .unwrap();
    range
        .map(|item| u32::from_be_bytes(item.unwrap().key().try_into().unwrap()))
        .collect()
}

#[test]
fn after_a_failed_commit_the_next_one_works() {
    let disk = failing();
    let file = common::create(&disk);
    put(&file, 1, true).unwrap();
    for (round, failing) in [&disk.watcher().appends, &disk.watcher().syncs]
        .into_iter()
        .enumerate()
    {
        let base = 10 * (round as u32 + 1);
        failing.arm(0, 2);
        for _ in 0..2 {
            let error = put(&file, base, true).unwrap_err().to_string();
            assert!(error.contains(PATH), "{error}");
            assert!(!keys(&file).contains(&base));
        }
        disk.watcher().truncates.arm(0, 1);
        let _ = put(&file, base + 1, true);
        disk.watcher().truncates.arm(0, 0);
        put(&file, base + 2, true).unwrap();
        let seen = keys(&file);
        assert!(
            seen.contains(&(base + 2)) && !seen.contains(&base),
            "{seen:?}"
        );
        let again = common::open(disk.inner());
        assert_eq!(keys(&again), seen);
        assert_eq!(again.recovery().ignored, 0);
    }
}

#[test]
fn unsynced_commits_survive_a_failed_sync_and_a_full_disk() {
    let disk = failing();
    let file = common::create(&disk);
    put(&file, 1, true).unwrap();
    (2..6).for_each(|key| put(&file, key, false).unwrap());
    disk.watcher().syncs.arm(0, 1);
    put(&file, 6, true).unwrap_err();
    assert_eq!(keys(&file), [1, 2, 3, 4, 5]);
    // Writing them again finds the disk full twice.
    disk.watcher().appends.arm(0, 2);
    put(&file, 7, true).unwrap_err();
    put(&file, 7, true).unwrap_err();
    put(&file, 7, true).unwrap();
    assert_eq!(keys(&file), [1, 2, 3, 4, 5, 7]);
    assert_eq!(keys(&common::open(disk.inner())), [1, 2, 3, 4, 5, 7]);
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let disk = failing();
    let file = common::create(&disk);
    put(&file, 1, true).unwrap();
    let sizes = file.sizes();
    let mut txn = file.begin().unwrap();
    txn.update(0, &[(2u32.to_be_bytes(), Some("gone"))])
        .unwrap();
    txn.append_chunk(&long_chunk()).unwrap();
    drop(txn);
    assert_eq!(file.sizes(), sizes);
    put(&file, 3, true).unwrap();
    assert_eq!(keys(&file), [1, 3]);
    assert_eq!(keys(&common::open(disk.inner())), [1, 3]);
    assert!(file.sizes().file < 10_000, "{:?}", file.sizes());
}

/// The spilled part of a transaction is synced before its record is appended; if then the record
/// does not arrive, later commits must not count on those bytes.
#[test]
fn a_long_transaction_that_fails_at_its_end_leaves_nothing() {
    let disk = failing();
    let file = common::create(&disk);
    put(&file, 1, true).unwrap();
    for (fuse, pass) in [(&disk.watcher().syncs, 1), (&disk.watcher().appends, 1)] {
        let mut txn = file.begin().unwrap();
        txn.append_chunk(&long_chunk()).unwrap();
        txn.update(0, &[(2u32.to_be_bytes(), Some("gone"))])
            .unwrap();
        fuse.arm(pass, 1);
        txn.commit().unwrap_err();
        put(&file, 3, true).unwrap();
        assert_eq!(keys(&common::open(disk.inner())), [1, 3]);
    }
}
