//! A store of objects for tests that count requests.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_shared::{CreateOutcome, DirectoryStore, ObjectInfo, ObjectStore, StoreError};

/// A store that counts the requests of one server.
#[derive(Debug)]
pub(crate) struct CountingStore {
    store: DirectoryStore,
    requests: AtomicU64,
}

impl CountingStore {
    pub(crate) fn in_directory(directory: &Path) -> CountingStore {
        CountingStore {
            store: DirectoryStore::new(directory).unwrap(),
            requests: AtomicU64::new(0),
        }
    }

    /// Number of requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    fn count(&self) -> &DirectoryStore {
        self.requests.fetch_add(1, Ordering::SeqCst);
        &self.store
    }
}

impl ObjectStore for CountingStore {
    fn address(&self) -> String {
        self.store.address()
    }

    fn create(&self, key: &str, bytes: &[u8]) -> Result<CreateOutcome, StoreError> {
        self.count().create(key, bytes)
    }

    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.count().read(key)
    }

    fn object_len(&self, key: &str) -> Result<Option<u64>, StoreError> {
        self.count().object_len(key)
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        self.count().list(prefix)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.count().remove(key)
    }
}
