//! The bytes of one file of an overlay.
//!
//! ```text
//! file      0 ........ prefix len | at           | at              len
//!           +---------------------+--------------+-----------------+
//! lies in   | a file of the base  | scratch      | scratch
//!           +---------------------+--------------+-----------------+
//! ```

use super::super::{ReadMode, Storage, StorageError, StorageFile};
use crate::OpenMode;
use parking_lot::RwLock;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A run of bytes in the scratch file.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Where it stands in the file.
    at: u64,
    /// Where it lies.
    scratch: u64,
    len: u64,
}

#[derive(Clone, Debug, Default)]
struct FileContent {
    /// The file of the base that the first bytes are read from, and how many.
    prefix: Option<(PathBuf, u64)>,
    /// Without gaps, from the end of the prefix on.
    extents: Vec<Extent>,
    len: u64,
}

/// The bytes of a file, which may have several names.
#[derive(Debug, Default)]
pub(super) struct Content {
    state: RwLock<FileContent>,
    /// How many names the overlay itself has for it.
    names: AtomicUsize,
}

impl Content {
    /// As the first `len` bytes of a file of the base.
    pub(super) fn of_base(path: &Path, len: u64) -> Content {
        let state = FileContent {
            prefix: Some((path.to_owned(), len)),
            extents: Vec::new(),
            len,
        };
        Content {
            state: RwLock::new(state),
            names: AtomicUsize::new(0),
        }
    }

    /// The same bytes, which go their own way from here.
    pub(super) fn detached(&self) -> Content {
        Content {
            state: RwLock::new(self.state().clone()),
            names: AtomicUsize::new(0),
        }
    }

    /// One name more, or less.
    pub(super) fn named(&self) {
        self.names.fetch_add(1, Relaxed);
    }

    pub(super) fn unnamed(&self) {
        self.names.fetch_sub(1, Relaxed);
    }

    pub(super) fn names(&self) -> usize {
        self.names.load(Relaxed)
    }

    pub(super) fn len(&self) -> u64 {
        self.state().len
    }

    fn state(&self) -> parking_lot::RwLockReadGuard<'_, FileContent> {
        self.state.read()
    }

    /// Opens it under a name.
    pub(super) fn open(
        self: &Arc<Self>,
        path: &Path,
        writable: bool,
        (base, scratch): (&dyn Storage, &Arc<dyn StorageFile>),
    ) -> Result<OverlayFile, StorageError> {
        let prefix = self.state().prefix.clone();
        let prefix = prefix.map(|(path, _)| base.open(&path, OpenMode::Read));
        Ok(OverlayFile {
            path: path.to_owned(),
            content: Arc::clone(self),
            prefix: prefix.transpose()?,
            scratch: Arc::clone(scratch),
            writable,
        })
    }
}

impl FileContent {
    fn prefix_len(&self) -> u64 {
        self.prefix.as_ref().map_or(0, |(_, len)| *len)
    }

    fn truncate(&mut self, len: u64) {
        if len >= self.len {
            return;
        }
        self.len = len;
        if let Some((_, prefix)) = &mut self.prefix {
            *prefix = len.min(*prefix);
        }
        self.extents.retain(|extent| extent.at < len);
        if let Some(last) = self.extents.last_mut() {
            last.len = last.len.min(len - last.at);
        }
    }

    /// Notes that `len` more bytes lie in the scratch file.
    fn grow(&mut self, scratch: u64, len: u64) {
        let at = self.len;
        self.len += len;
        match self.extents.last_mut() {
            Some(last) if last.scratch + last.len == scratch => last.len += len,
            _ => self.extents.push(Extent { at, scratch, len }),
        }
    }
}

/// One open file of an overlay.
#[derive(Debug)]
pub(super) struct OverlayFile {
    path: PathBuf,
    content: Arc<Content>,
    prefix: Option<Arc<dyn StorageFile>>,
    scratch: Arc<dyn StorageFile>,
    writable: bool,
}

impl OverlayFile {
    fn check_writable(&self, op: &'static str) -> Result<(), StorageError> {
        let denied = || StorageError::io(op, &self.path, io::ErrorKind::PermissionDenied.into());
        if self.writable { Ok(()) } else { Err(denied()) }
    }

    fn write(&self) -> parking_lot::RwLockWriteGuard<'_, FileContent> {
        let state = &self.content.state;
        state.write()
    }

    fn read(&self, mode: ReadMode, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        let state = self.content.state();
        let there = state.len.saturating_sub(offset).min(buf.len() as u64);
        let buf = &mut buf[..there as usize];
        let in_prefix = state.prefix_len().saturating_sub(offset).min(there);
        let (before, behind) = buf.split_at_mut(in_prefix as usize);
        if let Some(prefix) = self.prefix.as_ref().filter(|_| !before.is_empty()) {
            let got = prefix.read_by(mode, offset, before)?;
            if got < before.len() {
                return Ok(got);
            }
        }
        self.read_extents(&state, mode, offset + in_prefix, behind)?;
        Ok(there as usize)
    }

    /// Reads the extents in the scratch file from `offset` on; `buf` ends where the file does.
    fn read_extents(
        &self,
        state: &FileContent,
        mode: ReadMode,
        mut offset: u64,
        mut buf: &mut [u8],
    ) -> Result<(), StorageError> {
        let first = state
            .extents
            .partition_point(|extent| extent.at + extent.len <= offset);
        for extent in state.extents.get(first..).unwrap_or_default() {
            if buf.is_empty() {
                break;
            }
            let skipped = offset - extent.at;
            let wanted = (extent.len - skipped).min(buf.len() as u64);
            let (now, rest) = buf.split_at_mut(wanted as usize);
            self.scratch
                .read_exact_by(mode, extent.scratch + skipped, now)?;
            (offset, buf) = (offset + wanted, rest);
        }
        Ok(())
    }
}

impl StorageFile for OverlayFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> Result<u64, StorageError> {
        Ok(self.content.len())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.read(ReadMode::Blocking, offset, buf)
    }

    fn read_cached_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.read(ReadMode::CachedOnly, offset, buf)
    }

    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError> {
        self.check_writable("append to")?;
        let mut state = self.write();
        let start = state.len;
        if !bytes.is_empty() {
            let scratch = self.scratch.append(bytes)?;
            state.grow(scratch, bytes.len() as u64);
        }
        Ok(start)
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.check_writable("truncate")?;
        self.write().truncate(len);
        Ok(())
    }

    /// Nothing of an overlay outlives its process.
    fn sync(&self) -> Result<(), StorageError> {
        self.check_writable("sync")
    }
}
