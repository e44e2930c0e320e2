//! A store in a directory for one test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage, StorageError};
use varve_shared::{
    DirectoryStore, LogId, LogOptions, ObjectInfo, ObjectStore, SharedError, SharedStorage,
    SystemClock, VerifyReport, verify,
};

pub struct Setup {
    directory: tempfile::TempDir,
    pub store: Arc<dyn ObjectStore>,
    pub options: LogOptions,
}

impl Setup {
    pub fn new(options: LogOptions) -> Setup {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(DirectoryStore::new(directory.path()).unwrap());
        Setup {
            directory,
            store,
            options,
        }
    }

    pub fn try_open(
        &self,
        log: &str,
        local: Arc<dyn Storage>,
    ) -> Result<SharedStorage, SharedError> {
        let id = LogId::new(log).unwrap();
        let clock = Arc::new(SystemClock::default());
        SharedStorage::open(
            Arc::clone(&self.store),
            clock,
            id,
            self.options.clone(),
            local,
        )
    }

    pub fn open(&self, log: &str) -> SharedStorage {
        self.try_open(log, Arc::new(MemoryStorage::default()))
            .unwrap()
    }

    pub fn verify(&self, log: &str) -> VerifyReport {
        verify(&self.store, &LogId::new(log).unwrap(), &self.options).unwrap()
    }

    pub fn objects(&self, prefix: &str) -> Vec<ObjectInfo> {
        self.store.list(prefix).unwrap()
    }

    pub fn path(&self, key: &str) -> PathBuf {
        self.directory.path().join(key)
    }
}

pub fn write(storage: &dyn Storage, path: &str, bytes: &[u8]) -> Result<(), StorageError> {
    let file = storage.open(Path::new(path), OpenMode::CreateNew)?;
    file.append(bytes)?;
    file.sync()
}

pub fn contents(storage: &dyn Storage, path: &str) -> Vec<u8> {
    storage
        .open(Path::new(path), OpenMode::Read)
        .unwrap()
        .read_all()
        .unwrap()
}

pub fn shared_error(error: &StorageError) -> Option<&SharedError> {
    match error {
        StorageError::Io { source, .. } => source.get_ref()?.downcast_ref(),
        _ => None,
    }
}
