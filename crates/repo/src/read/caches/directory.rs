//! Reading and writing in `.hg/cache`, where failures are ignored.

use crate::format::RepoError;
use crate::format::context::RepoContext;
use crate::format::lock::{Lock, LockKind, LockOwner};
use crate::read::Repository;
use parking_lot::{Mutex, MutexGuard};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_base::{OpenMode, StorageError};

/// `.hg/cache` of one repository.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheDirectory<'a>(&'a Arc<RepoContext>);

/// Keeps other processes from changing a cache that grows; the threads of this one, too.
#[derive(Debug)]
pub(crate) struct CacheGuard {
    _lock: Option<Lock>,
    _threads: MutexGuard<'static, ()>,
}

impl<'a> CacheDirectory<'a> {
    pub fn of(context: &'a Arc<RepoContext>) -> CacheDirectory<'a> {
        CacheDirectory(context)
    }

    fn path(self, name: &str) -> PathBuf {
        self.0.hg().join("cache").join(name)
    }

    /// The first `most` bytes of a file, none if it cannot be read.
    pub fn read(self, name: &str, most: usize) -> Vec<u8> {
        let read = || -> Result<Vec<u8>, StorageError> {
            let file = self.0.storage.open(&self.path(name), OpenMode::Read)?;
            let len = usize::try_from(file.len()?).unwrap_or(usize::MAX);
            file.read_vec(0, len.min(most))
        };
        read().unwrap_or_default()
    }

    /// Length of a file; 0 if there is none.
    pub fn len(self, name: &str) -> u64 {
        let len = self.0.storage.file_len(&self.path(name));
        len.ok().flatten().unwrap_or_default()
    }

    /// Parts of one file, of equal length, by their places; `None` for missing ones.
    pub fn read_parts(self, name: &str, len: usize, places: &[u64]) -> Vec<Option<Vec<u8>>> {
        let Ok(file) = self.0.storage.open(&self.path(name), OpenMode::Read) else {
            return vec![None; places.len()];
        };
        let part = |place: &u64| file.read_vec(*place, len).ok();
        places.iter().map(part).collect()
    }

    /// Replaces a file whole. Without a sync: a reader checks it.
    pub fn replace(self, name: &str, bytes: &[u8]) {
        let _ = self.try_replace(name, bytes);
    }

    fn try_replace(self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let beside = self.path(&format!(".{name}-{}-{count}~", std::process::id()));
        let storage = self.0.storage.as_ref();
        let open = || storage.open(&beside, OpenMode::CreateNew);
        let file = match open() {
            Err(error) if error.is_not_found() => {
                storage.create_directory(&self.0.hg().join("cache"))?;
                open()?
            }
            // Of a process that had our number and was killed.
            Err(error) if error.is_already_there() => {
                storage.remove(&beside)?;
                open()?
            }
            other => other?,
        };
        let written = file.append(bytes);
        let moved = written.and_then(|_| storage.rename(&beside, &self.path(name)));
        if moved.is_err() {
            let _ = storage.remove(&beside);
        }
        moved
    }

    /// Adds to a file that has `len` bytes; `false` if it has another length or cannot be written.
    pub fn append(self, name: &str, len: u64, bytes: &[u8]) -> bool {
        let append = || -> Result<bool, StorageError> {
            let file = self.0.storage.open(&self.path(name), OpenMode::Append)?;
            if file.len()? != len {
                return Ok(false);
            }
            file.append(bytes)?;
            Ok(true)
        };
        append().unwrap_or(false)
    }

    pub fn remove(self, name: &str) {
        let _ = self.0.storage.remove(&self.path(name));
    }

    /// Takes the lock under which Mercurial changes a cache, if no other process holds it. That this
    /// process holds it already is as good.
    pub fn guard(self, what: LockKind) -> Option<CacheGuard> {
        static THREADS: Mutex<()> = Mutex::new(());
        let threads = THREADS.lock();
        let lock = match Repository::of(self.0).try_lock(what) {
            Ok(lock) => Some(lock),
            Err(RepoError::LockHeld { owner, .. }) if owner == LockOwner::this_process() => None,
            Err(_) => return None,
        };
        Some(CacheGuard {
            _lock: lock,
            _threads: threads,
        })
    }
}
