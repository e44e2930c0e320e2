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
    until_settled(clock, key, || try_once(store, key, bytes))
}

/// Creates an object with bytes of its own at each attempt, and returns the number of the attempt, from 0, whose bytes it has;
/// `None` if they are those of another process.
///
/// For names that become free again, as the slots of a log do: an attempt after a long pause can bring an object back that
/// others have read and that was removed since. They must not take it for the one that they know.
///
/// # Errors
/// As [`create_if_absent`].
pub(crate) fn create_distinct_if_absent(
    store: &dyn ObjectStore,
    clock: &dyn Clock,
    key: &str,
    mut encode: impl FnMut(u8) -> Vec<u8>,
) -> Result<Option<u8>, StoreError> {
    let mut sent: Vec<Vec<u8>> = Vec::new();
    until_settled(clock, key, || {
        let bytes = encode(u8::try_from(sent.len()).unwrap_or(u8::MAX));
        sent.push(bytes.clone());
        let there = match try_once(store, key, &bytes)? {
            None => return Ok(None),
            Some(Settled::Ours) => bytes,
            Some(Settled::Theirs(there)) => there,
        };
        let attempt = sent.iter().position(|bytes| *bytes == there);
        Ok(Some(attempt.and_then(|it| u8::try_from(it).ok())))
    })
}

/// Repeats an attempt that fails or returns `None`.
fn until_settled<T>(
    clock: &dyn Clock,
    key: &str,
    mut attempt_once: impl FnMut() -> Result<Option<T>, StoreError>,
) -> Result<T, StoreError> {
    let mut wait = FIRST_WAIT;
    let mut attempt = 1;
    loop {
        match attempt_once() {
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
