//! A check, before anything depends on it, that the store creates an object once.

use super::{CreateOutcome, ObjectStore};
use crate::error::SharedError;
use crate::format::nonce;
use std::fmt::Write;

/// Creates an object twice, with different bytes; the second must be refused, and the first must be read back.
///
/// # Errors
/// [`SharedError::NoExclusiveCreate`]; errors of the store.
pub fn probe(store: &dyn ObjectStore) -> Result<(), SharedError> {
    let mut key = "probe/".to_owned();
    for byte in nonce()? {
        let _ = write!(key, "{byte:02x}");
    }
    let first = store.create(&key, b"first")?;
    let second = store.create(&key, b"second");
    let there = store.read(&key);
    store.remove(&key)?;
    let is_exclusive = first == CreateOutcome::Created
        && second? == CreateOutcome::AlreadyThere
        && there?.as_deref() == Some(b"first");
    let store = store.address();
    let refused = SharedError::NoExclusiveCreate { store };
    is_exclusive.then_some(()).ok_or(refused)
}
