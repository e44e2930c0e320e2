//! The operations of the seam: each changes the copy at once, and is noted for the next commit.

use super::file::SharedFile;
use super::{Shared, SharedStorage, as_storage_error};
use crate::format::Operation;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use varve_base::storage::{Entry, EntryKind};
use varve_base::{OpenMode, Storage, StorageError, StorageFile};

impl Shared {
    /// Changes the local copy, and notes the change for the next commit.
    fn change<T>(
        &self,
        op: &'static str,
        path: &Path,
        operation: impl FnOnce() -> Operation,
        local: impl FnOnce() -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut journal = self.journal.lock();
        journal.ensure_writable(&self.log.id, op, path)?;
        let operation = operation();
        if !operation.has_plain_paths() {
            let (path, source) = (path.to_owned(), io::ErrorKind::InvalidFilename.into());
            return Err(StorageError::Io { op, path, source });
        }
        let done = self.gaps.change(&operation, local);
        let done = done.map_err(|error| as_storage_error(op, path, error))?;
        journal.push(operation);
        Ok(done)
    }
}

impl Storage for SharedStorage {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        let shared = &self.shared;
        let opened = match mode {
            OpenMode::Read => return shared.gaps.open(path),
            OpenMode::Append => shared.gaps.wrap(path, shared.local.open(path, mode)?),
            OpenMode::CreateNew => {
                let create = || Operation::Create(path.to_owned());
                shared.change("create", path, create, || shared.local.open(path, mode))?
            }
        };
        let name = shared.journal.lock().name_handle(path);
        Ok(Arc::new(SharedFile::new(opened, Arc::clone(shared), name)))
    }

    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        self.shared.local.kind(path)
    }

    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        self.shared.local.file_len(path)
    }

    fn modified(&self, directory: &Path) -> Result<Option<SystemTime>, StorageError> {
        self.shared.local.modified(directory)
    }

    fn list(&self, directory: &Path) -> Result<Vec<Entry>, StorageError> {
        self.shared.local.list(directory)
    }

    fn create_directory(&self, directory: &Path) -> Result<(), StorageError> {
        let local = &self.shared.local;
        if local.kind(directory)? == Some(EntryKind::Directory) {
            return Ok(());
        }
        let operation = || Operation::CreateDirectory(directory.to_owned());
        let make = || local.create_directory(directory);
        self.shared
            .change("create directory", directory, operation, make)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let operation = || Operation::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        let rename = || self.shared.local.rename(from, to);
        self.shared.change("rename", from, operation, rename)
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        let operation = || Operation::Exchange {
            one: one.to_owned(),
            other: other.to_owned(),
        };
        let exchange = || self.shared.local.exchange(one, other);
        self.shared.change("exchange", one, operation, exchange)
    }

    fn remove_tree(&self, directory: &Path) -> Result<(), StorageError> {
        let operation = || Operation::RemoveTree(directory.to_owned());
        let remove = || self.shared.local.remove_tree(directory);
        self.shared.change("remove", directory, operation, remove)
    }

    fn sync_tree(&self, directory: &Path) -> Result<(), StorageError> {
        self.sync_directory(directory)
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        let operation = || Operation::Remove(path.to_owned());
        let remove = || self.shared.local.remove(path);
        self.shared.change("remove", path, operation, remove)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let operation = || Operation::Link {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        let link = || self.shared.local.link(from, to);
        self.shared.change("link", from, operation, link)
    }

    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        let operation = || Operation::Symlink {
            target: target.to_owned(),
            path: path.to_owned(),
        };
        let create = || self.shared.local.create_symlink(target, path);
        self.shared.change("create", path, operation, create)
    }

    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        self.shared.local.read_symlink(path)
    }

    fn sync_directory(&self, directory: &Path) -> Result<(), StorageError> {
        let done = self.shared.commit();
        done.map_err(|error| as_storage_error("sync", directory, error))
    }

    fn free_bytes(&self, directory: &Path) -> Result<Option<u64>, StorageError> {
        self.shared.local.free_bytes(directory)
    }
}
