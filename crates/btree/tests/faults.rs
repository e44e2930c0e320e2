//! A disk that refuses: the file stays readable at its last commit, and goes on when the disk does.

use crate::common::{self, PATH};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use varve_base::storage::{Entry, EntryKind};
use varve_base::{MemoryStorage, OpenMode, Storage, StorageError, StorageFile};
use varve_btree::{EncodedChunk, TreeFile};
use varve_codec::{Compressor, EngineSetting};

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

#[derive(Clone, Debug, Default)]
struct Failing {
    memory: MemoryStorage,
    plan: Arc<Plan>,
}

#[derive(Debug)]
struct FailingFile {
    inner: Arc<dyn StorageFile>,
    plan: Arc<Plan>,
}

impl FailingFile {
    fn check(&self, op: &'static str, fuse: &Fuse, kind: ErrorKind) -> Result<(), StorageError> {
        if !fuse.blows() {
            return Ok(());
        }
        let path = self.inner.path().to_owned();
        Err(StorageError::Io {
            op,
            path,
            source: kind.into(),
        })
    }
}

impl StorageFile for FailingFile {
    fn path(&self) -> &Path {
        self.inner.path()
    }
    fn len(&self) -> Result<u64, StorageError> {
        self.inner.len()
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.inner.read_at(offset, buf)
    }
    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError> {
        let failed = self.check("append to", &self.plan.appends, ErrorKind::StorageFull);
        if failed.is_err() {
            // Half of it arrives, as on a disk that becomes full; the next append takes its place.
            let end = self.inner.len()?;
            self.inner.append(&bytes[..bytes.len() / 2])?;
            self.inner.truncate(end)?;
        }
        failed?;
        self.inner.append(bytes)
    }
    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.check("truncate", &self.plan.truncates, ErrorKind::Other)?;
        self.inner.truncate(len)
    }
    fn sync(&self) -> Result<(), StorageError> {
        self.check("sync", &self.plan.syncs, ErrorKind::Other)?;
        self.inner.sync()
    }
}

impl Storage for Failing {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        let inner = self.memory.open(path, mode)?;
        Ok(Arc::new(FailingFile {
            inner,
            plan: self.plan.clone(),
        }))
    }
    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        self.memory.kind(path)
    }
    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        self.memory.file_len(path)
    }
    fn modified(&self, folder: &Path) -> Result<Option<std::time::SystemTime>, StorageError> {
        self.memory.modified(folder)
    }
    fn list(&self, folder: &Path) -> Result<Vec<Entry>, StorageError> {
        self.memory.list(folder)
    }
    fn create_folder(&self, folder: &Path) -> Result<(), StorageError> {
        self.memory.create_folder(folder)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.memory.rename(from, to)
    }
    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        self.memory.remove(path)
    }
    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        self.memory.exchange(one, other)
    }
    fn remove_tree(&self, folder: &Path) -> Result<(), StorageError> {
        self.memory.remove_tree(folder)
    }
    fn sync_tree(&self, folder: &Path) -> Result<(), StorageError> {
        self.memory.sync_tree(folder)
    }
    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.memory.link(from, to)
    }
    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        self.memory.create_symlink(target, path)
    }
    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        self.memory.read_symlink(path)
    }
    fn sync_folder(&self, folder: &Path) -> Result<(), StorageError> {
        self.memory.sync_folder(folder)
    }
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
    let disk = Failing::default();
    let file = common::create(&disk);
    put(&file, 1, true).unwrap();
    for (round, failing) in [&disk.plan.appends, &disk.plan.syncs]
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
        disk.plan.truncates.arm(0, 1);
        let _ = put(&file, base + 1, true);
        disk.plan.truncates.arm(0, 0);
        put(&file, base + 2, true).unwrap();
        let seen = keys(&file);
        assert!(
            seen.contains(&(base + 2)) && !seen.contains(&base),
            "{seen:?}"
        );
        let again = common::open(&disk.memory);
        assert_eq!(keys(&again), seen);
        assert_eq!(again.recovery().ignored, 0);
    }
}

#[test]
fn unsynced_commits_survive_a_failed_sync_and_a_full_disk() {
    let disk = Failing::default();
    let file = common::create(&disk);
    put(&file, 1, true).unwrap();
    (2..6).for_each(|key| put(&file, key, false).unwrap());
    disk.plan.syncs.arm(0, 1);
    put(&file, 6, true).unwrap_err();
    assert_eq!(keys(&file), [1, 2, 3, 4, 5]);
    // Writing them again finds the disk full twice.
    disk.plan.appends.arm(0, 2);
    put(&file, 7, true).unwrap_err();
    put(&file, 7, true).unwrap_err();
    put(&file, 7, true).unwrap();
    assert_eq!(keys(&file), [1, 2, 3, 4, 5, 7]);
    assert_eq!(keys(&common::open(&disk.memory)), [1, 2, 3, 4, 5, 7]);
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let disk = Failing::default();
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
    assert_eq!(keys(&common::open(&disk.memory)), [1, 3]);
    assert!(file.sizes().file < 10_000, "{:?}", file.sizes());
}

/// The spilled part of a transaction is synced before its record is appended; if then the record
/// does not arrive, later commits must not count on those bytes.
#[test]
fn a_long_transaction_that_fails_at_its_end_leaves_nothing() {
    let disk = Failing::default();
    let file = common::create(&disk);
    put(&file, 1, true).unwrap();
    for (fuse, pass) in [(&disk.plan.syncs, 1), (&disk.plan.appends, 1)] {
        let mut txn = file.begin().unwrap();
        txn.append_chunk(&long_chunk()).unwrap();
        txn.update(0, &[(2u32.to_be_bytes(), Some("gone"))])
            .unwrap();
        fuse.arm(pass, 1);
        txn.commit().unwrap_err();
        put(&file, 3, true).unwrap();
        assert_eq!(keys(&common::open(&disk.memory)), [1, 3]);
    }
}
