//! Storage in which some paths stand for others: that of a working copy whose history lies elsewhere.

use super::{Entry, EntryKind, OpenMode, Storage, StorageError, StorageFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Storage that finds what is below some paths below others. Files keep the names that they have there.
#[derive(Clone, Debug)]
pub struct RedirectedStorage {
    inner: Arc<dyn Storage>,
    /// A path, and where it and all below it is.
    redirects: Vec<(PathBuf, PathBuf)>,
}

impl RedirectedStorage {
    /// Everything as in `inner`, but for each path of `redirects` that stands for the other one.
    pub fn new(inner: Arc<dyn Storage>, redirects: Vec<(PathBuf, PathBuf)>) -> Self {
        RedirectedStorage { inner, redirects }
    }

    fn at(&self, path: &Path) -> PathBuf {
        for (from, to) in &self.redirects {
            if let Ok(rest) = path.strip_prefix(from) {
                return match rest.as_os_str().is_empty() {
                    true => to.clone(),
                    false => to.join(rest),
                };
            }
        }
        path.to_owned()
    }
}

impl Storage for RedirectedStorage {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        self.inner.open(&self.at(path), mode)
    }

    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        self.inner.kind(&self.at(path))
    }

    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        self.inner.file_len(&self.at(path))
    }

    fn modified(&self, directory: &Path) -> Result<Option<SystemTime>, StorageError> {
        self.inner.modified(&self.at(directory))
    }

    fn list(&self, directory: &Path) -> Result<Vec<Entry>, StorageError> {
        self.inner.list(&self.at(directory))
    }

    fn create_directory(&self, directory: &Path) -> Result<(), StorageError> {
        self.inner.create_directory(&self.at(directory))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.inner.rename(&self.at(from), &self.at(to))
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        self.inner.exchange(&self.at(one), &self.at(other))
    }

    fn remove_tree(&self, directory: &Path) -> Result<(), StorageError> {
        self.inner.remove_tree(&self.at(directory))
    }

    fn sync_tree(&self, directory: &Path) -> Result<(), StorageError> {
        self.inner.sync_tree(&self.at(directory))
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        self.inner.remove(&self.at(path))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.inner.link(&self.at(from), &self.at(to))
    }

    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        self.inner.create_symlink(target, &self.at(path))
    }

    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        self.inner.read_symlink(&self.at(path))
    }

    fn sync_directory(&self, directory: &Path) -> Result<(), StorageError> {
        self.inner.sync_directory(&self.at(directory))
    }

    fn free_bytes(&self, directory: &Path) -> Result<Option<u64>, StorageError> {
        self.inner.free_bytes(&self.at(directory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStorage;

    #[test]
    fn paths_below_a_redirect_are_found_elsewhere() {
        let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let redirects = vec![(PathBuf::from("s/store"), PathBuf::from("r/store"))];
        let storage = RedirectedStorage::new(Arc::clone(&inner), redirects);
        storage.create_directory(Path::new("s/store/data")).unwrap();
        storage.create_directory(Path::new("s/storehouse")).unwrap();
        let kind = |path: &str| inner.kind(Path::new(path)).unwrap();
        assert_eq!(kind("r/store/data"), Some(EntryKind::Directory));
        assert_eq!(kind("s/storehouse"), Some(EntryKind::Directory));
        assert_eq!(kind("s/store"), None);
        let file = storage.open(Path::new("s/store/data/f"), OpenMode::CreateNew);
        file.unwrap().append(b"text").unwrap();
        let (from, to) = (Path::new("s/store/data/f"), Path::new("s/g"));
        storage.link(from, to).unwrap();
        assert_eq!(storage.file_len(from).unwrap(), Some(4));
        assert_eq!(kind("s/g"), Some(EntryKind::File));
        storage.rename(to, Path::new("s/store/g")).unwrap();
        assert_eq!(kind("r/store/g"), Some(EntryKind::File));
        let listed = storage.list(Path::new("s/store")).unwrap();
        assert_eq!(listed.len(), 2);
    }
}
