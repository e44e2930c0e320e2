//! Open files of a copy with gaps.

use super::as_storage_error;
use super::gaps::{GapFile, Gaps};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Hole, StorageError, StorageFile};

/// An open file of the copy with gaps, which are filled when they are read.
#[derive(Debug)]
pub(super) struct LazyFile {
    local: Arc<dyn StorageFile>,
    file: Arc<GapFile>,
    gaps: Arc<Gaps>,
}

impl LazyFile {
    pub(super) fn new(
        local: Arc<dyn StorageFile>,
        file: Arc<GapFile>,
        gaps: Arc<Gaps>,
    ) -> LazyFile {
        LazyFile { local, file, gaps }
    }
}

fn range_of(offset: u64, buf: &[u8]) -> Range<u64> {
    offset..offset.saturating_add(buf.len() as u64)
}

impl StorageFile for LazyFile {
    fn path(&self) -> &Path {
        self.local.path()
    }

    fn disk_file(&self) -> Option<&File> {
        self.local.disk_file().filter(|_| self.file.is_whole())
    }

    fn is_removed(&self) -> bool {
        self.local.is_removed()
    }

    fn len(&self) -> Result<u64, StorageError> {
        self.local.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        if !self.file.is_whole() {
            let filled = self.gaps.fill(&self.file, &range_of(offset, buf));
            filled.map_err(|error| as_storage_error("read", self.local.path(), error))?;
        }
        self.local.read_at(offset, buf)
    }

    fn read_cached_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        match self.gaps.has_gap(&self.file, &range_of(offset, buf)) {
            true => Err(StorageError::WouldBlock),
            false => self.local.read_cached_at(offset, buf),
        }
    }

    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError> {
        self.local.append(bytes)
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.local.truncate(len)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.local.sync()
    }

    fn punch_hole(&self, bytes: Range<u64>) -> Result<Hole, StorageError> {
        self.local.punch_hole(bytes)
    }

    fn pin(&self) -> Result<(), StorageError> {
        self.local.pin()
    }
}
