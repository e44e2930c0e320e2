//! An open file whose appends are noted for the next commit.

use super::journal::HandleName;
use super::{Shared, as_storage_error};
use crate::format::Operation;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Hole, StorageError, StorageFile};

#[derive(Debug)]
pub(super) struct SharedFile {
    local: Arc<dyn StorageFile>,
    shared: Arc<Shared>,
    name: HandleName,
}

impl SharedFile {
    pub(super) fn new(local: Arc<dyn StorageFile>, shared: Arc<Shared>, name: HandleName) -> Self {
        SharedFile {
            local,
            shared,
            name,
        }
    }
}

impl StorageFile for SharedFile {
    fn path(&self) -> &Path {
        self.local.path()
    }

    fn disk_file(&self) -> Option<&File> {
        self.local.disk_file()
    }

    fn is_removed(&self) -> bool {
        self.name.lock().is_none() || self.local.is_removed()
    }

    fn len(&self) -> Result<u64, StorageError> {
        self.local.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.local.read_at(offset, buf)
    }

    fn read_cached_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.local.read_cached_at(offset, buf)
    }

    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError> {
        let id = &self.shared.log.id;
        let mut journal = self.shared.journal.lock();
        journal.ensure_writable(id, "append to", self.local.path())?;
        let offset = self.local.append(bytes)?;
        // A file without a name is gone once it is closed.
        if let Some(name) = self.name.lock().as_deref() {
            journal.push_append(name, offset, bytes);
        }
        let is_full = journal.is_full();
        drop(journal);
        if is_full {
            let done = self.shared.drain();
            done.map_err(|error| as_storage_error("append to", self.local.path(), error))?;
        }
        Ok(offset)
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        let mut journal = self.shared.journal.lock();
        journal.ensure_writable(&self.shared.log.id, "truncate", self.local.path())?;
        let before = self.local.len()?;
        self.local.truncate(len)?;
        let name = self.name.lock().clone();
        if let Some(path) = name.filter(|_| len < before) {
            journal.push(Operation::Truncate { path, len });
        }
        Ok(())
    }

    /// Returns once all changes of all files of the log are in its record.
    fn sync(&self) -> Result<(), StorageError> {
        let done = self.shared.commit();
        done.map_err(|error| as_storage_error("sync", self.local.path(), error))
    }

    /// The local copy is read for checkpoints, so it keeps all bytes.
    fn punch_hole(&self, _bytes: Range<u64>) -> Result<Hole, StorageError> {
        Ok(Hole::Impossible)
    }
}
