//! The store of objects: the few calls that the protocol needs of one.

mod create;
mod directory;
mod probe;

use crate::error::StoreError;
use std::fmt::Debug;
use std::time::Duration;

pub(crate) use create::{Settled, create_distinct_if_absent, create_if_absent};
pub use directory::DirectoryStore;
pub use probe::probe;

/// Result of [`ObjectStore::create`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateOutcome {
    /// The object is new, and durable.
    Created,
    /// An object of this key is there, and durable; it stays as it is.
    AlreadyThere,
}

/// One object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The whole key.
    pub key: String,
    /// Length in bytes.
    pub len: u64,
    /// Time of its creation, since 1970 by the store's clock.
    pub modified: Duration,
}

/// Objects by key. An object is created whole and never changed. Once a call that sees or makes an object has returned, all
/// later calls of all processes see it (what S3 calls strong consistency).
pub trait ObjectStore: Send + Sync + Debug {
    /// Address for messages.
    fn address(&self) -> String;

    /// Makes an object unless there is one.
    ///
    /// # Errors
    /// After any error the object may be there, or may still arrive.
    fn create(&self, key: &str, bytes: &[u8]) -> Result<CreateOutcome, StoreError>;

    /// The whole object; `None` if it is absent.
    ///
    /// # Errors
    /// Errors of the store.
    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Length of an object; `None` if it is absent.
    ///
    /// # Errors
    /// Errors of the store.
    fn object_len(&self, key: &str) -> Result<Option<u64>, StoreError>;

    /// All objects whose keys begin with `prefix`, which is empty or ends with a slash, in the order of their keys.
    ///
    /// # Errors
    /// Errors of the store.
    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError>;

    /// Removes an object; no error if it is absent.
    ///
    /// # Errors
    /// Errors of the store.
    fn remove(&self, key: &str) -> Result<(), StoreError>;
}
