//! The one seam through which everything durable goes.
//!
//! Files only grow, or are replaced whole by rename; bytes that no reader needs any more may be given
//! back to the system from the middle of one. Readers use positions and never a cursor, so
//! any number of threads read one file while one writer appends to it. The local disk
//! ([`DiskStorage`]), memory ([`MemoryStorage`]) and one that is laid over another and leaves it as
//! it is ([`OverlayStorage`]) are here; `testkit` has the recorder that yields every state a power
//! cut could have left.

mod disk;
mod memory;
mod new_modes;
mod overlay;
mod redirected;
mod removal;
mod shared_sync;

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

pub use disk::{DiskStorage, scratch_file};
pub use memory::MemoryStorage;
pub use overlay::OverlayStorage;
pub use redirected::RedirectedStorage;

/// A storage call failed.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The system refused; `op` is a verb such as `read`.
    #[error("cannot {op} {path}: {source}", path = path.display())]
    Io {
        /// The operation that failed.
        op: &'static str,
        /// The file or directory that it was applied to.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file ends before the bytes that were asked for.
    #[error("{path} ends at byte {len}, before byte {wanted} that something points to",
            path = path.display())]
    Short {
        /// Which file.
        path: PathBuf,
        /// Its length.
        len: u64,
        /// The end of the range that was wanted.
        wanted: u64,
    },
    /// A [`ReadMode::CachedOnly`] read needs bytes that are not in memory, or work that takes too
    /// long for a thread that serves connections. A [`ReadMode::Blocking`] read gets them.
    #[error("the read would block")]
    WouldBlock,
}

/// Whether a read may wait for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadMode {
    /// Waits as long as the disk takes.
    #[default]
    Blocking,
    /// Fails with [`StorageError::WouldBlock`] where the bytes are not in the page cache.
    CachedOnly,
}

impl ReadMode {
    /// Refuses work that is too long for a [`ReadMode::CachedOnly`] reader, whatever it reads.
    ///
    /// # Errors
    /// [`StorageError::WouldBlock`] if `is_long` and the mode is not [`ReadMode::Blocking`].
    pub fn refuse_long_work(self, is_long: bool) -> Result<(), StorageError> {
        match self {
            ReadMode::CachedOnly if is_long => Err(StorageError::WouldBlock),
            _ => Ok(()),
        }
    }
}

impl StorageError {
    pub(crate) fn io(op: &'static str, path: &Path, source: io::Error) -> Self {
        StorageError::Io {
            op,
            path: path.to_owned(),
            source,
        }
    }

    /// Whether the file may not be written to: its rights or those of its file system forbid it.
    pub fn is_refused(&self) -> bool {
        matches!(self, StorageError::Io { source, .. } if matches!(
            source.kind(),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
        ))
    }

    /// Whether the file or directory does not exist.
    pub fn is_not_found(&self) -> bool {
        self.kind() == Some(io::ErrorKind::NotFound)
    }

    /// Whether [`OpenMode::CreateNew`] found the file already there.
    pub fn is_already_there(&self) -> bool {
        self.kind() == Some(io::ErrorKind::AlreadyExists)
    }

    /// Whether there is no room: on the disk, in a quota, or below a limit of file sizes.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(
            self.kind(),
            Some(StorageFull | QuotaExceeded | FileTooLarge)
        )
    }

    /// Whether a [`ReadMode::Blocking`] read would have gone on.
    pub fn is_would_block(&self) -> bool {
        matches!(self, StorageError::WouldBlock)
    }

    fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            StorageError::Io { source, .. } => Some(source.kind()),
            StorageError::Short { .. } | StorageError::WouldBlock => None,
        }
    }
}

/// How [`Storage::open`] treats a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Must exist; appending fails.
    Read,
    /// Must exist; may be appended to and truncated. A file with several names gets bytes of its
    /// own first, so that the others stay as they are.
    Append,
    /// Must not exist yet; its directory must.
    CreateNew,
}

/// Kind of a path or of a directory's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else, such as the symbolic link of a Mercurial lock.
    Other,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name without the directory.
    pub name: std::ffi::OsString,
    /// File, directory or other.
    pub kind: EntryKind,
}

/// Result of making a hole in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hole {
    /// The hole is there.
    Made,
    /// Not now: a reader needs the file whole.
    InUse,
    /// Files have no holes here.
    Impossible,
}

/// A tree of directories with files; paths are relative to its root.
pub trait Storage: Send + Sync + Debug {
    /// Opens one file.
    ///
    /// # Errors
    /// [`StorageError::is_not_found`] or [`StorageError::is_already_there`] as the mode demands.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError>;

    /// Kind of the entry at `path`; `None` if there is none.
    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError>;

    /// Length of a file without opening it; `None` if there is no such file.
    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError>;

    /// When a name in this directory last came, went or changed its file; `None` if there is no such
    /// directory. Only good for telling whether something happened between two looks.
    fn modified(&self, directory: &Path) -> Result<Option<SystemTime>, StorageError>;

    /// The entries of a directory, in no particular order.
    fn list(&self, directory: &Path) -> Result<Vec<Entry>, StorageError>;

    /// Makes a directory and those above it; no error if it is there.
    fn create_directory(&self, directory: &Path) -> Result<(), StorageError>;

    /// Moves a file or directory, replacing a file at `to`, in one atomic step.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError>;

    /// Swaps two files or directories in one atomic step; both must be there.
    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError>;

    /// Removes a directory with all that is in it; no error if it is not there.
    fn remove_tree(&self, directory: &Path) -> Result<(), StorageError>;

    /// Makes everything below a directory survive a power cut: for many files written at once, of
    /// which none counts before all are there.
    fn sync_tree(&self, directory: &Path) -> Result<(), StorageError>;

    /// Removes a file or a symbolic link.
    fn remove(&self, path: &Path) -> Result<(), StorageError>;

    /// Gives a file a second name, which must not be there yet. Where the system cannot do that,
    /// its bytes are copied: good for files that are only ever replaced whole.
    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError>;

    /// Makes a symbolic link, in one step that only one of several can take.
    ///
    /// # Errors
    /// [`StorageError::is_already_there`] if anything stands at `path`.
    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError>;

    /// Target of the symbolic link at `path`; of a file its text, because systems without such links write files in
    /// their place. `None` if nothing is there.
    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError>;

    /// Makes creations, renames and removals in this directory survive a power cut.
    fn sync_directory(&self, directory: &Path) -> Result<(), StorageError>;

    /// Bytes that files in this directory may still take; `None` if the storage sets no limit.
    ///
    /// # Errors
    /// Errors of the system.
    fn free_bytes(&self, _directory: &Path) -> Result<Option<u64>, StorageError> {
        Ok(None)
    }
}

/// One open file. There is at most one appender at a time; readers are never disturbed by it.
pub trait StorageFile: Send + Sync + Debug {
    /// Path as given to [`Storage::open`], for messages.
    fn path(&self) -> &Path;

    /// The open file of the system behind this one, if there is one: for handing its contents to a socket inside the
    /// kernel.
    fn disk_file(&self) -> Option<&File> {
        None
    }

    /// Whether the file is known to have no name any more.
    fn is_removed(&self) -> bool {
        false
    }

    /// Length in bytes now.
    fn len(&self) -> Result<u64, StorageError>;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> Result<bool, StorageError> {
        Ok(self.len()? == 0)
    }

    /// Fills as much of `buf` as the file has from `offset` on; less only at its end.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError>;

    /// [`StorageFile::read_at`] without waiting for the disk.
    ///
    /// # Errors
    /// [`StorageError::WouldBlock`] if the bytes are not all in memory, or are more than a thread
    /// that serves connections should copy.
    fn read_cached_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError>;

    /// [`StorageFile::read_at`] or [`StorageFile::read_cached_at`], as the mode says.
    ///
    /// # Errors
    /// As theirs.
    fn read_by(&self, mode: ReadMode, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        match mode {
            ReadMode::Blocking => self.read_at(offset, buf),
            ReadMode::CachedOnly => self.read_cached_at(offset, buf),
        }
    }

    /// Adds bytes behind the last successful append and returns where they begin. After an error
    /// the next append takes the same place, so torn bytes never stay in the middle.
    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError>;

    /// Cuts the file to `len` bytes.
    fn truncate(&self, len: u64) -> Result<(), StorageError>;

    /// Makes the file longer by bytes that read as zeros until [`StorageFile::fill`]. Returns false if the storage cannot do that.
    ///
    /// # Errors
    /// Errors of the system.
    fn extend(&self, _len: u64) -> Result<bool, StorageError> {
        Ok(false)
    }

    /// Writes bytes that are inside the file, where [`StorageFile::extend`] has made room for them.
    ///
    /// # Errors
    /// Errors of the system; a storage that cannot extend files cannot fill them.
    fn fill(&self, _offset: u64, _bytes: &[u8]) -> Result<(), StorageError> {
        let unsupported = io::ErrorKind::Unsupported.into();
        Err(StorageError::io("fill", self.path(), unsupported))
    }

    /// Returns once all appended bytes survive a power cut.
    fn sync(&self) -> Result<(), StorageError>;

    /// Gives the room that some bytes take back to the system; they may read as zeros from then on.
    ///
    /// # Errors
    /// Errors of the system.
    fn punch_hole(&self, _bytes: Range<u64>) -> Result<Hole, StorageError> {
        Ok(Hole::Impossible)
    }

    /// Keeps all processes from making holes until this handle is closed.
    ///
    /// # Errors
    /// Errors of the system.
    fn pin(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Fills all of `buf`.
    ///
    /// # Errors
    /// [`StorageError::Short`] if the file ends before.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), StorageError> {
        self.read_exact_by(ReadMode::Blocking, offset, buf)
    }

    /// Fills all of `buf` as the mode allows.
    ///
    /// # Errors
    /// [`StorageError::Short`] if the file ends before; [`StorageError::WouldBlock`].
    fn read_exact_by(
        &self,
        mode: ReadMode,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<(), StorageError> {
        let got = self.read_by(mode, offset, buf)?;
        if got == buf.len() {
            return Ok(());
        }
        let wanted = offset.saturating_add(buf.len() as u64);
        Err(StorageError::Short {
            path: self.path().to_owned(),
            len: self.len()?,
            wanted,
        })
    }

    /// The `len` bytes at `offset`; checked against the file's length before memory is reserved.
    ///
    /// # Errors
    /// [`StorageError::Short`] if the file ends before.
    fn read_vec(&self, offset: u64, len: usize) -> Result<Vec<u8>, StorageError> {
        let wanted = offset.saturating_add(len as u64);
        // A small claim is cheaper to try than to check.
        if len > CHECKED_ABOVE {
            let file_len = self.len()?;
            if wanted > file_len {
                return Err(StorageError::Short {
                    path: self.path().to_owned(),
                    len: file_len,
                    wanted,
                });
            }
        }
        let mut bytes = vec![0; len];
        self.read_exact_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// The whole file.
    fn read_all(&self) -> Result<Vec<u8>, StorageError> {
        let len = usize::try_from(self.len()?).unwrap_or(usize::MAX);
        self.read_vec(0, len)
    }
}

/// Reads longer than this are checked against the file's length before memory is reserved.
const CHECKED_ABOVE: usize = 1 << 20;

/// Reads a whole small file; `None` if there is none.
///
/// # Errors
/// Any failure but a missing file.
pub fn read_if_there(storage: &dyn Storage, path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
    match storage.open(path, OpenMode::Read) {
        Ok(file) => file.read_all().map(Some),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces a small file whole, so that a power cut leaves the old or the new one.
///
/// # Errors
/// Any failure; the old file is then untouched.
pub fn replace(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    if storage.kind(&beside)?.is_some() {
        storage.remove(&beside)?;
    }
    let file = storage.open(&beside, OpenMode::CreateNew)?;
    file.append(bytes)?;
    file.sync()?;
    storage.rename(&beside, path)?;
    storage.sync_directory(path.parent().unwrap_or(Path::new("")))
}

#[cfg(test)]
mod tests;
