//! The log of one database: where it ends, and how records get into it.

mod cursor;
mod opening;

use crate::clock::Clock;
use crate::error::SharedError;
use crate::format::{LogKeys, SegmentName, nonce};
use crate::store::{ObjectStore, Settled, create_if_absent};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use cursor::{Appended, Cursor};
pub(crate) use opening::{Announced, Opened, announced_checkpoints};

/// Name of a log: what stands before `/log/` in its keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogId(String);

/// Parts of a key that have a meaning of their own.
const RESERVED: &[&str] = &["log", "segment", "checkpoint", "probe"];
const LONGEST_NAME: usize = 500;

impl LogId {
    /// The log of this name.
    ///
    /// # Errors
    /// [`SharedError::BadName`]
    pub fn new(name: &str) -> Result<LogId, SharedError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte);
        let is_part = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.bytes().all(is_plain)
                && !RESERVED.contains(&part)
        };
        match name.len() <= LONGEST_NAME && name.split('/').all(is_part) {
            true => Ok(LogId(name.to_owned())),
            false => Err(SharedError::BadName(name.to_owned())),
        }
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Options of a log.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Time back to which a log can be restored. A process that was away for longer than half of it makes sure that its position
    /// still exists. All processes of one store must have the same.
    pub retention: Duration,
    /// Records after which the owner makes a checkpoint.
    pub checkpoint_slots: u64,
    /// Bytes in records after which the owner makes a checkpoint.
    pub checkpoint_bytes: u64,
    /// Bytes of one commit that stay in its record; more go into segments.
    pub inline_bytes: u64,
    /// Most bytes of a segment.
    pub segment_bytes: usize,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions {
            retention: Duration::from_hours(7 * 24),
            checkpoint_slots: 1000,
            checkpoint_bytes: 64 << 20,
            inline_bytes: 1 << 20,
            segment_bytes: 16 << 20,
        }
    }
}

/// A log in its store.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) id: LogId,
    pub(crate) keys: LogKeys,
    pub(crate) options: LogOptions,
}

impl Log {
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        clock: Arc<dyn Clock>,
        id: LogId,
        options: LogOptions,
    ) -> Log {
        let keys = LogKeys::new(&id.0);
        Log {
            store,
            clock,
            id,
            keys,
            options,
        }
    }

    /// Stores a segment that the record in `slot` is going to name.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn put_segment(&self, bytes: &[u8], slot: u64) -> Result<SegmentName, SharedError> {
        let name = SegmentName::of(bytes, slot, nonce()?);
        self.create(&self.keys.segment(&name), bytes)?;
        Ok(name)
    }

    /// Creates an object whose name no other process can choose.
    pub(crate) fn create(&self, key: &str, bytes: &[u8]) -> Result<(), SharedError> {
        match create_if_absent(self.store.as_ref(), self.clock.as_ref(), key, bytes)? {
            Settled::Ours => Ok(()),
            Settled::Theirs(_) => Err(SharedError::damaged(
                key,
                "it has other bytes than its name",
            )),
        }
    }

    /// The bytes of a segment, checked against its name.
    ///
    /// # Errors
    /// [`SharedError::Missing`], naming `wanted_by`; [`SharedError::Damaged`]; errors of the store.
    pub(crate) fn segment(
        &self,
        name: &SegmentName,
        wanted_by: &str,
    ) -> Result<Vec<u8>, SharedError> {
        let key = self.keys.segment(name);
        let Some(bytes) = self.store.read(&key)? else {
            let wanted_by = wanted_by.to_owned();
            return Err(SharedError::Missing { key, wanted_by });
        };
        match name.is_of(&bytes) {
            true => Ok(bytes),
            false => Err(SharedError::damaged(
                &key,
                "its bytes are not those of its name",
            )),
        }
    }

    pub(crate) fn no_such_log(&self) -> SharedError {
        let (log, store) = (self.id.to_string(), self.store.address());
        SharedError::NoSuchLog { log, store }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_as_keys_and_paths() {
        for good in ["x", "databases/a_b-c+d", "a.b"] {
            assert_eq!(LogId::new(good).unwrap().to_string(), good);
        }
        for bad in [
            "", "/", "a/", "..", "a/../b", "a/log", "segment", ".x", "a b", "é",
        ] {
            assert!(LogId::new(bad).is_err(), "{bad:?}");
        }
    }
}
