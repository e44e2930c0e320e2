//! Which logs have something in them: one object for each, so that they can be listed without their records.
//!
//! An entry is a hint and the log decides: a log whose files are all removed may still have an entry after a crash. The
//! other way round is impossible for those that keep to the order: an owner adds an entry before the record that makes
//! the first file, or any process adds one after it; and entries are removed only if they were listed before a record that
//! removes all files, or before a fence behind which there are none.

use crate::clock::Clock;
use crate::error::{SharedError, StoreError};
use crate::format::nonce;
use crate::log::LogId;
use crate::store::{ObjectStore, Settled, create_if_absent};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

const CATALOG: &str = "catalog/";

/// The entries of a store's logs.
#[derive(Clone, Debug)]
pub struct Catalog {
    store: Arc<dyn ObjectStore>,
    clock: Arc<dyn Clock>,
}

/// One entry. Its key is used once, so that a late removal never concerns a later entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogEntry(String);

impl Catalog {
    /// The catalog of a store.
    pub fn new(store: Arc<dyn ObjectStore>, clock: Arc<dyn Clock>) -> Catalog {
        Catalog { store, clock }
    }

    /// Adds an entry for a log.
    ///
    /// # Errors
    /// Errors of the store; the entry may be there.
    pub fn add(&self, log: &LogId) -> Result<CatalogEntry, SharedError> {
        let mut key = directory_of(log);
        for byte in nonce()? {
            // Writing to a text does not fail.
            let _ = write!(key, "{byte:02x}");
        }
        let bytes = log.to_string();
        let made = create_if_absent(
            self.store.as_ref(),
            self.clock.as_ref(),
            &key,
            bytes.as_bytes(),
        )?;
        match made {
            Settled::Ours => Ok(CatalogEntry(key)),
            Settled::Theirs(_) => Err(SharedError::damaged(
                &key,
                "it does not name the log of its key",
            )),
        }
    }

    /// The entries of a log; one request.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn entries(&self, log: &LogId) -> Result<Vec<CatalogEntry>, SharedError> {
        let directory = directory_of(log);
        let found = self.store.list(&directory)?.into_iter();
        // Below it there may be logs whose names go on with a slash.
        let is_own = |key: &str| {
            key.strip_prefix(&directory)
                .is_some_and(|nonce| !nonce.contains('/'))
        };
        let own = found.filter(|object| is_own(&object.key));
        Ok(own.map(|object| CatalogEntry(object.key)).collect())
    }

    /// Removes entries.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn remove(&self, entries: &[CatalogEntry]) -> Result<(), SharedError> {
        for CatalogEntry(key) in entries {
            self.store.remove(key)?;
        }
        Ok(())
    }

    /// Names of all logs with an entry below a directory, such as `databases/`, in order; without one, of all. One request for
    /// about a thousand of them.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn logs(&self, directory: &str) -> Result<BTreeSet<String>, SharedError> {
        let found = self.store.list(&format!("{CATALOG}{directory}"))?;
        let names = found.iter().filter_map(|object| {
            let (log, _) = object.key.strip_prefix(CATALOG)?.rsplit_once('/')?;
            Some(log.to_owned())
        });
        Ok(names.collect())
    }
}

fn directory_of(log: &LogId) -> String {
    format!("{CATALOG}{log}/")
}

/// The bytes of an object that is created with `bytes` if it is absent: the same for all processes, for ever.
///
/// # Errors
/// Errors of the store.
pub fn read_or_create(
    store: &dyn ObjectStore,
    clock: &dyn Clock,
    key: &str,
    bytes: &[u8],
) -> Result<Vec<u8>, StoreError> {
    match create_if_absent(store, clock, key, bytes)? {
        Settled::Ours => Ok(bytes.to_vec()),
        Settled::Theirs(there) => Ok(there),
    }
}
