//! The local disk behind the [`Storage`] trait.

use super::new_modes::NewModes;
use super::removal;
use super::shared_sync::SharedSyncs;
use super::{Entry, EntryKind, Hole, OpenMode, ReadMode, Storage, StorageError, StorageFile};
use parking_lot::Mutex;
use rustix::io::{Errno, ReadWriteFlags};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Files below one directory of the local disk.
#[derive(Clone, Debug)]
pub struct DiskStorage {
    root: PathBuf,
    new_modes: NewModes,
    names_from_root: bool,
    /// Shared by all clones.
    directory_syncs: Arc<SharedSyncs>,
}

impl DiskStorage {
    /// All paths will be taken relative to `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        DiskStorage {
            root: root.into(),
            new_modes: NewModes::default(),
            names_from_root: false,
            directory_syncs: Arc::default(),
        }
    }

    /// Errors name files from the root on: they may be read by clients, who need not know where it is.
    #[must_use]
    pub fn with_names_from_root(mut self) -> Self {
        self.names_from_root = true;
        self
    }

    /// A full path as errors name it.
    fn name<'p>(&self, full: &'p Path) -> &'p Path {
        match full.strip_prefix(&self.root) {
            Ok(below) if self.names_from_root && below.as_os_str().is_empty() => Path::new("."),
            Ok(below) if self.names_from_root => below,
            _ => full,
        }
    }

    /// Files and directories that are made in these directories are for their owner only (0600, 0700), whatever the
    /// umask says. Those that are there stay as they are.
    #[must_use]
    pub fn with_private(mut self, directories: &[&str]) -> Self {
        self.new_modes.set_private(directories);
        self
    }

    /// Files and directories that are made anywhere below a directory of the name `below` get the permission bits of
    /// its directory `like`, as far as they suit, whatever the umask says: a group shares what its directory is open to.
    #[must_use]
    pub fn with_modes_like(mut self, below: &str, like: &str) -> Self {
        self.new_modes.set_model(below, like);
        self
    }

    fn at(&self, path: &Path) -> PathBuf {
        if path.as_os_str().is_empty() {
            self.root.clone()
        } else {
            self.root.join(path)
        }
    }
}

fn kind_of(kind: fs::FileType) -> EntryKind {
    if kind.is_file() {
        EntryKind::File
    } else if kind.is_dir() {
        EntryKind::Directory
    } else {
        EntryKind::Other
    }
}

impl Storage for DiskStorage {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        let full = self.at(path);
        if mode == OpenMode::Append {
            detach(&full).map_err(|e| StorageError::io("detach", self.name(&full), e))?;
        }
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => &mut options,
            OpenMode::Append => options.write(true),
            OpenMode::CreateNew => options.write(true).create_new(true),
        };
        self.new_modes.before_file(path, &mut options);
        let op = if mode == OpenMode::CreateNew {
            "create"
        } else {
            "open"
        };
        let file = options
            .open(&full)
            .map_err(|e| StorageError::io(op, self.name(&full), e))?;
        if mode == OpenMode::CreateNew {
            let settled = self.new_modes.after_file(&full, &file);
            settled.map_err(|e| StorageError::io(op, self.name(&full), e))?;
        }
        let end = match mode {
            OpenMode::Append => file
                .metadata()
                .map_err(|e| StorageError::io("stat", self.name(&full), e))?
                .len(),
            OpenMode::Read | OpenMode::CreateNew => 0,
        };
        Ok(Arc::new(DiskFile {
            path: self.name(&full).to_owned(),
            file,
            end: Mutex::new(end),
        }))
    }

    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        let full = self.at(path);
        match fs::symlink_metadata(&full) {
            Ok(found) => Ok(Some(kind_of(found.file_type()))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(StorageError::io("stat", self.name(&full), error)),
        }
    }

    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        let full = self.at(path);
        match fs::metadata(&full) {
            Ok(found) => Ok(found.is_file().then_some(found.len())),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(StorageError::io("stat", self.name(&full), error)),
        }
    }

    fn modified(&self, directory: &Path) -> Result<Option<SystemTime>, StorageError> {
        let full = self.at(directory);
        match fs::metadata(&full).and_then(|found| found.modified()) {
            Ok(time) => Ok(Some(time)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(StorageError::io("stat", self.name(&full), error)),
        }
    }

    fn list(&self, directory: &Path) -> Result<Vec<Entry>, StorageError> {
        let full = self.at(directory);
        let fail = |e| StorageError::io("list", self.name(&full), e);
        fs::read_dir(&full)
            .map_err(fail)?
            .map(|entry| {
                let entry = entry.map_err(fail)?;
                let kind = kind_of(entry.file_type().map_err(fail)?);
                Ok(Entry {
                    name: entry.file_name(),
                    kind,
                })
            })
            .collect()
    }

    fn create_directory(&self, directory: &Path) -> Result<(), StorageError> {
        let full = self.at(directory);
        let made = self.new_modes.make_directories(directory, &full);
        made.map_err(|e| StorageError::io("create directory", self.name(&full), e))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let full = self.at(from);
        fs::rename(&full, self.at(to)).map_err(|e| StorageError::io("rename", self.name(&full), e))
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        let full = self.at(one);
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(
            rustix::fs::CWD,
            &full,
            rustix::fs::CWD,
            self.at(other),
            flags,
        )
        .map_err(|e| StorageError::io("exchange", self.name(&full), e.into()))
    }

    fn remove_tree(&self, directory: &Path) -> Result<(), StorageError> {
        let full = self.at(directory);
        match removal::remove_tree(&full) {
            Err(error) if !is_absent(&error) => {
                Err(StorageError::io("remove", self.name(&full), error))
            }
            _ => Ok(()),
        }
    }

    fn sync_tree(&self, directory: &Path) -> Result<(), StorageError> {
        let full = self.at(directory);
        let open = File::open(&full).map_err(|e| StorageError::io("open", self.name(&full), e))?;
        // One call for the whole file system; one for each file would wait as often for the disk.
        rustix::fs::syncfs(&open).map_err(|e| StorageError::io("sync", self.name(&full), e.into()))
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        let full = self.at(path);
        fs::remove_file(&full).map_err(|e| StorageError::io("remove", self.name(&full), e))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let (full, beside) = (self.at(from), self.at(to));
        match fs::hard_link(&full, &beside) {
            Err(error) if cannot_link(&error) => fs::copy(&full, &beside).map(|_| ()),
            other => other,
        }
        .map_err(|e| StorageError::io("link", self.name(&full), e))
    }

    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        let full = self.at(path);
        std::os::unix::fs::symlink(target, &full)
            .map_err(|e| StorageError::io("create", self.name(&full), e))
    }

    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        let full = self.at(path);
        let text = match fs::read_link(&full) {
            // Not a link, but perhaps a file.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => fs::read(&full),
            other => other.map(|target| target.into_os_string().into_vec()),
        };
        match text {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(StorageError::io("read", self.name(&full), error)),
        }
    }

    fn sync_directory(&self, directory: &Path) -> Result<(), StorageError> {
        let full = self.at(directory);
        let open = File::open(&full).map_err(|e| StorageError::io("open", self.name(&full), e))?;
        let synced = self.directory_syncs.run(&full, || open.sync_all());
        synced.map_err(|e| StorageError::io("sync", self.name(&full), e))
    }

    fn free_bytes(&self, directory: &Path) -> Result<Option<u64>, StorageError> {
        let full = self.at(directory);
        let found = rustix::fs::statvfs(&full).map_err(|e| {
            StorageError::io("ask for the free room of", self.name(&full), e.into())
        })?;
        Ok(Some(found.f_bavail.saturating_mul(found.f_frsize)))
    }
}

/// An empty file in `directory` that has no name any more: it is gone when the last handle closes, however
/// the process ends.
///
/// # Errors
/// If it cannot be made.
pub fn scratch_file(directory: &Path) -> Result<Arc<dyn StorageFile>, StorageError> {
    let mut tried = 0_u32;
    loop {
        let name = format!("varve-scratch-{}-{tried}", std::process::id());
        let path = directory.join(name);
        let mut options = OpenOptions::new();
        let made = options.read(true).write(true).create_new(true).mode(0o600);
        let file = match made.open(&path) {
            // Another thread, or a process that had this number and was stopped right here.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                tried += 1;
                continue;
            }
            made => made.map_err(|e| StorageError::io("create", &path, e))?,
        };
        fs::remove_file(&path).map_err(|e| StorageError::io("remove", &path, e))?;
        return Ok(Arc::new(DiskFile {
            path,
            file,
            end: Mutex::new(0),
        }));
    }
}

/// A cached read copies at most this many bytes.
const MAX_CACHED_READ: usize = 256 << 10;

/// One read from the page cache. Every failure but an interruption counts as [`StorageError::WouldBlock`]: some file
/// systems cannot say what they have cached, and a blocking read reports the real error.
fn read_page_cache(file: &File, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
    let mut parts = [io::IoSliceMut::new(buf)];
    loop {
        match rustix::io::preadv2(file, &mut parts, offset, ReadWriteFlags::NOWAIT) {
            Ok(read) => return Ok(read),
            Err(Errno::INTR) => {}
            Err(_) => return Err(StorageError::WouldBlock),
        }
    }
}

/// A file in place of a directory above it means just as well that there is nothing.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Whether the file system cannot lock files, as some that are mounted over a network.
fn has_no_locks(error: &io::Error) -> bool {
    let kinds = [Errno::NOLCK, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS];
    kinds
        .iter()
        .any(|one| error.raw_os_error() == Some(one.raw_os_error()))
        || error.kind() == io::ErrorKind::Unsupported
}

#[cfg(target_os = "linux")]
fn fallocate_hole(file: &File, bytes: Range<u64>) -> io::Result<Hole> {
    use rustix::fs::FallocateFlags;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let len = bytes.end.saturating_sub(bytes.start);
    match rustix::fs::fallocate(file, flags, bytes.start, len) {
        Ok(()) => Ok(Hole::Made),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Hole::Impossible),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn fallocate_hole(_: &File, _: Range<u64>) -> io::Result<Hole> {
    Ok(Hole::Impossible)
}

/// Gives a file with several names bytes of its own, so that appended bytes do not appear under the others: local
/// clones of Mercurial share files until one of them writes.
fn detach(full: &Path) -> io::Result<()> {
    match fs::symlink_metadata(full) {
        Ok(found) if found.is_file() && found.nlink() > 1 => {}
        // Opening reports a missing file.
        _ => return Ok(()),
    }
    let mut beside = full.as_os_str().to_owned();
    beside.push(".detached");
    // Synced, because the bytes under the old name are committed ones.
    fs::copy(full, &beside)
        .and_then(|_| File::open(&beside)?.sync_all())
        .and_then(|()| fs::rename(&beside, full))
}

/// Whether the system refused because of the file system and not because of the names.
fn cannot_link(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::CrossesDevices
            | io::ErrorKind::TooManyLinks
    )
}

#[derive(Debug)]
struct DiskFile {
    path: PathBuf,
    file: File,
    /// Where the next append goes; behind torn bytes of a failed one it does not move.
    end: Mutex<u64>,
}

impl DiskFile {
    fn fail(&self, op: &'static str) -> impl Fn(io::Error) -> StorageError + '_ {
        move |error| StorageError::io(op, &self.path, error)
    }
}

impl StorageFile for DiskFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn disk_file(&self) -> Option<&File> {
        Some(&self.file)
    }

    fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.nlink() == 0)
    }

    fn len(&self) -> Result<u64, StorageError> {
        Ok(self.file.metadata().map_err(self.fail("stat"))?.len())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        let mut filled = 0;
        while filled < buf.len() {
            match self
                .file
                .read_at(&mut buf[filled..], offset + filled as u64)
            {
                Ok(0) => break,
                Ok(got) => filled += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail("read")(error)),
            }
        }
        Ok(filled)
    }

    fn read_cached_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        ReadMode::CachedOnly.refuse_long_work(buf.len() > MAX_CACHED_READ)?;
        let mut filled = 0;
        while filled < buf.len() {
            match read_page_cache(&self.file, offset + filled as u64, &mut buf[filled..])? {
                0 => break,
                got => filled += got,
            }
        }
        Ok(filled)
    }

    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError> {
        let mut end = self.end.lock();
        let start = *end;
        self.file
            .write_all_at(bytes, start)
            .map_err(self.fail("append to"))?;
        *end = start + bytes.len() as u64;
        Ok(start)
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        let mut end = self.end.lock();
        self.file.set_len(len).map_err(self.fail("truncate"))?;
        *end = len;
        Ok(())
    }

    fn extend(&self, len: u64) -> Result<bool, StorageError> {
        let mut end = self.end.lock();
        if len > *end {
            self.file.set_len(len).map_err(self.fail("extend"))?;
            *end = len;
        }
        Ok(true)
    }

    fn fill(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.file
            .write_all_at(bytes, offset)
            .map_err(self.fail("fill"))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.file.sync_data().map_err(self.fail("sync"))
    }

    fn punch_hole(&self, bytes: Range<u64>) -> Result<Hole, StorageError> {
        match self.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Hole::InUse),
            // No reader could keep the file whole.
            Err(TryLockError::Error(error)) if has_no_locks(&error) => return Ok(Hole::Impossible),
            Err(TryLockError::Error(error)) => return Err(self.fail("lock")(error)),
        }
        let made = fallocate_hole(&self.file, bytes);
        self.file.unlock().map_err(self.fail("unlock"))?;
        made.map_err(self.fail("make a hole in"))
    }

    fn pin(&self) -> Result<(), StorageError> {
        match self.file.lock_shared() {
            // Then no holes are made either.
            Err(error) if has_no_locks(&error) => Ok(()),
            other => other.map_err(self.fail("lock")),
        }
    }
}
