//! Creating an object when answers may be lost.

use super::{CreateOutcome, ObjectStore};
use crate::clock::Clock;
use crate::error::StoreError;
use std::time::Duration;

/// Attempts of a request before it counts as unanswered.
const ATTEMPTS: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(20);

/// Result of [`create_if_absent`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The object has our bytes.
    Ours,
    /// The object has these bytes of another process.
    Theirs(Vec<u8>),
}

/// Creates an object whose bytes are unlike those of all other attempts. An attempt without an answer is repeated with the
/// same bytes: the object is then read back, and equal bytes are ours, whichever attempt has brought them.
///
/// # Errors
/// The last error of the store; the object may be there, or may still arrive.
pub(crate) fn create_if_absent(
    store: &dyn ObjectStore,
    clock: &dyn Clock,
    key: &str,
    bytes: &[u8],
) -> Result<Settled, StoreError> {
    let mut wait = FIRST_WAIT;
    let mut attempt = 1;
    loop {
        match try_once(store, key, bytes) {
            Ok(Some(settled)) => return Ok(settled),
            Ok(None) if attempt == ATTEMPTS => {
                return Err(StoreError::new(
                    "read back",
                    key,
                    "it is there, and is not found",
                ));
            }
            Err(error) if attempt == ATTEMPTS => return Err(error),
            Ok(None) | Err(_) => {}
        }
        attempt += 1;
        clock.sleep(wait);
        wait *= 2;
    }
}

/// `None` if the object was there for one request and absent for the next.
fn try_once(
    store: &dyn ObjectStore,
    key: &str,
    bytes: &[u8],
) -> Result<Option<Settled>, StoreError> {
    match store.create(key, bytes)? {
        CreateOutcome::Created => Ok(Some(Settled::Ours)),
        CreateOutcome::AlreadyThere => Ok(store.read(key)?.map(|there| match there == bytes {
            true => Settled::Ours,
            false => Settled::Theirs(there),
        })),
    }
}
