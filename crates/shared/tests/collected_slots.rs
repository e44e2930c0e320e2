//! A process that stood still while the slot of its record was filled and removed.

use crate::common::{Setup, shared_error, write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_shared::{
    CreateOutcome, LogId, LogOptions, ObjectInfo, ObjectStore, SharedError, SharedStorage,
    StoreError, SystemClock, collect_garbage,
};

/// Loses the answer to the creation of one record, and returns only when others have read it, gone on and removed it.
#[derive(Debug)]
struct PausedStore {
    inner: Arc<dyn ObjectStore>,
    key: &'static str,
    was_paused: AtomicBool,
    options: LogOptions,
    follower: SharedStorage,
    next_owner: SharedStorage,
}

impl PausedStore {
    fn let_others_go_on(&self) {
        self.follower.ensure_current().unwrap();
        self.next_owner.ensure_current().unwrap();
        self.next_owner.take_over().unwrap();
        write(&self.next_owner, "of the next owner", b"1").unwrap();
        self.next_owner.checkpoint().unwrap();
        let (id, clock) = (LogId::new("db").unwrap(), Arc::new(SystemClock::default()));
        collect_garbage(&self.inner, Some(clock), &id, &self.options).unwrap();
        assert_eq!(self.inner.read(self.key).unwrap(), None);
    }
}

impl ObjectStore for PausedStore {
    fn address(&self) -> String {
        self.inner.address()
    }

    fn create(&self, key: &str, bytes: &[u8]) -> Result<CreateOutcome, StoreError> {
        let outcome = self.inner.create(key, bytes)?;
        if key != self.key || self.was_paused.swap(true, Ordering::SeqCst) {
            return Ok(outcome);
        }
        self.let_others_go_on();
        Err(StoreError::new("create", key, "no answer"))
    }

    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.read(key)
    }

    fn object_len(&self, key: &str) -> Result<Option<u64>, StoreError> {
        self.inner.object_len(key)
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        self.inner.list(prefix)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.inner.remove(key)
    }
}

#[test]
fn a_record_that_is_sent_again_into_a_removed_slot_misleads_no_follower() {
    // Nothing is kept for a time, so each position is checked.
    let options = LogOptions {
        retention: Duration::ZERO,
        ..LogOptions::default()
    };
    let setup = Setup::new(options.clone());
    let (follower, next_owner) = (setup.open("db"), setup.open("db"));
    let key = "db/log/00000000000000000003";
    let store = Arc::new(PausedStore {
        inner: Arc::clone(&setup.store),
        key,
        was_paused: AtomicBool::new(false),
        options: options.clone(),
        follower: follower.clone(),
        next_owner,
    });
    let id = LogId::new("db").unwrap();
    let (clock, local) = (SystemClock::default(), MemoryStorage::default());
    let owner = SharedStorage::open(store, Arc::new(clock), id, options, Arc::new(local)).unwrap();
    owner.take_over().unwrap();
    write(&owner, "x", b"1").unwrap();
    let file = owner.open(Path::new("x"), OpenMode::Append).unwrap();
    file.append(b"2").unwrap();
    let error = file.sync().unwrap_err();
    let is_collected = |error: &SharedError| matches!(error, SharedError::PositionCollected { .. });
    assert!(shared_error(&error).is_some_and(is_collected), "{error}");
    assert!(
        setup.store.read(key).unwrap().is_some(),
        "it was sent again"
    );
    let error = follower.ensure_current().unwrap_err();
    assert!(is_collected(&error), "{error}");
    let reopened = setup.open("db");
    assert_eq!(reopened.file_len(Path::new("x")).unwrap(), Some(2));
    assert!(
        reopened
            .file_len(Path::new("of the next owner"))
            .unwrap()
            .is_some()
    );
}
