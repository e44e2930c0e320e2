//! A storage that passes all calls on to another one, after a test has seen or refused them.

use std::fmt::Debug;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use varve_base::storage::{Entry, EntryKind, Hole};
use varve_base::{OpenMode, Storage, StorageError, StorageFile};

/// Call that is about to be made; calls that no test has asked for yet are passed on unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opening a file.
    Open(OpenMode),
    /// Reading so many bytes from an offset on.
    Read(u64, usize),
    /// Reading so many bytes from an offset on, without waiting for the disk.
    CachedRead(u64, usize),
    /// Appending so many bytes.
    Append(usize),
    /// Cutting a file to a length.
    Truncate(u64),
    /// Making a file durable.
    Sync,
    /// Giving the room of bytes back to the system, from one offset to another.
    PunchHole(u64, u64),
    /// Renaming a file.
    Rename,
    /// Removing a file.
    Remove,
    /// Making names in a directory durable.
    SyncDirectory,
}

impl Call {
    /// The verb for an error.
    fn verb(self) -> &'static str {
        match self {
            Call::Open(_) => "open",
            Call::Read(..) | Call::CachedRead(..) => "read",
            Call::Append(_) => "append to",
            Call::Truncate(_) => "truncate",
            Call::Sync | Call::SyncDirectory => "sync",
            Call::PunchHole(..) => "make a hole in",
            Call::Rename => "rename",
            Call::Remove => "remove",
        }
    }
}

/// Reaction of a test to the calls.
pub trait Watcher: Debug + Send + Sync + 'static {
    /// Called before each; its result is what the caller gets. Of a refused append half arrives, as on a disk that
    /// becomes full. [`ErrorKind::WouldBlock`] becomes [`StorageError::WouldBlock`].
    fn before(&self, call: Call, path: &Path) -> Result<(), ErrorKind>;

    /// How much room the disk has.
    fn free_bytes(&self) -> Option<u64> {
        None
    }
}

/// A storage that is watched; clones share it.
#[derive(Debug)]
pub struct Watched<S, W> {
    inner: S,
    watcher: Arc<W>,
}

impl<S: Clone, W> Clone for Watched<S, W> {
    fn clone(&self) -> Self {
        Watched {
            inner: self.inner.clone(),
            watcher: Arc::clone(&self.watcher),
        }
    }
}

impl<S: Storage, W: Watcher> Watched<S, W> {
    /// Lets `watcher` see the calls on `inner`.
    pub fn new(inner: S, watcher: W) -> Self {
        Watched {
            inner,
            watcher: Arc::new(watcher),
        }
    }

    /// The watcher of the calls.
    pub fn watcher(&self) -> &W {
        &self.watcher
    }

    /// The storage below.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

fn ask(watcher: &impl Watcher, call: Call, path: &Path) -> Result<(), StorageError> {
    watcher.before(call, path).map_err(|kind| match kind {
        ErrorKind::WouldBlock => StorageError::WouldBlock,
        kind => StorageError::Io {
            op: call.verb(),
            path: path.to_owned(),
            source: kind.into(),
        },
    })
}

#[derive(Debug)]
struct WatchedFile<W> {
    inner: Arc<dyn StorageFile>,
    watcher: Arc<W>,
}

impl<W: Watcher> WatchedFile<W> {
    fn ask(&self, call: Call) -> Result<(), StorageError> {
        ask(self.watcher.as_ref(), call, self.inner.path())
    }
}

impl<W: Watcher> StorageFile for WatchedFile<W> {
    fn path(&self) -> &Path {
        self.inner.path()
    }
    fn len(&self) -> Result<u64, StorageError> {
        self.inner.len()
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.ask(Call::Read(offset, buf.len()))?;
        self.inner.read_at(offset, buf)
    }
    fn read_cached_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.ask(Call::CachedRead(offset, buf.len()))?;
        self.inner.read_cached_at(offset, buf)
    }
    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError> {
        let asked = self.ask(Call::Append(bytes.len()));
        if asked.is_err() {
            // The next append takes its place.
            let end = self.inner.len()?;
            self.inner.append(&bytes[..bytes.len() / 2])?;
            self.inner.truncate(end)?;
        }
        asked?;
        self.inner.append(bytes)
    }
    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.ask(Call::Truncate(len))?;
        self.inner.truncate(len)
    }
    fn sync(&self) -> Result<(), StorageError> {
        self.ask(Call::Sync)?;
        self.inner.sync()
    }
    fn punch_hole(&self, bytes: Range<u64>) -> Result<Hole, StorageError> {
        self.ask(Call::PunchHole(bytes.start, bytes.end))?;
        self.inner.punch_hole(bytes)
    }
    fn pin(&self) -> Result<(), StorageError> {
        self.inner.pin()
    }
}

impl<S: Storage, W: Watcher> Storage for Watched<S, W> {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        ask(self.watcher(), Call::Open(mode), path)?;
        Ok(Arc::new(WatchedFile {
            inner: self.inner.open(path, mode)?,
            watcher: Arc::clone(&self.watcher),
        }))
    }
    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        self.inner.kind(path)
    }
    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        self.inner.file_len(path)
    }
    fn modified(&self, directory: &Path) -> Result<Option<SystemTime>, StorageError> {
        self.inner.modified(directory)
    }
    fn list(&self, directory: &Path) -> Result<Vec<Entry>, StorageError> {
        self.inner.list(directory)
    }
    fn create_directory(&self, directory: &Path) -> Result<(), StorageError> {
        self.inner.create_directory(directory)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        ask(self.watcher(), Call::Rename, from)?;
        self.inner.rename(from, to)
    }
    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        self.inner.exchange(one, other)
    }
    fn remove_tree(&self, directory: &Path) -> Result<(), StorageError> {
        self.inner.remove_tree(directory)
    }
    fn sync_tree(&self, directory: &Path) -> Result<(), StorageError> {
        self.inner.sync_tree(directory)
    }
    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        ask(self.watcher(), Call::Remove, path)?;
        self.inner.remove(path)
    }
    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.inner.link(from, to)
    }
    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        self.inner.create_symlink(target, path)
    }
    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        self.inner.read_symlink(path)
    }
    fn sync_directory(&self, directory: &Path) -> Result<(), StorageError> {
        ask(self.watcher(), Call::SyncDirectory, directory)?;
        self.inner.sync_directory(directory)
    }
    fn free_bytes(&self, directory: &Path) -> Result<Option<u64>, StorageError> {
        match self.watcher.free_bytes() {
            None => self.inner.free_bytes(directory),
            some => Ok(some),
        }
    }
}

/// Has every cached read fail, as on a disk whose page cache is empty, once [`Cold::begin`] is
/// called.
#[derive(Debug, Default)]
pub struct Cold(AtomicBool);

impl Cold {
    /// Empties the page cache.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Watcher for Cold {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        let is_cached = matches!(call, Call::CachedRead(..));
        match is_cached && self.0.load(Ordering::Relaxed) {
            true => Err(ErrorKind::WouldBlock),
            false => Ok(()),
        }
    }
}
