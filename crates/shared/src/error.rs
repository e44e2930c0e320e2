//! Errors of shared storage.

use varve_base::{Interrupted, StorageError};

/// Reason of the store, for messages.
pub type StoreFailure = Box<dyn std::error::Error + Send + Sync>;

/// A request failed, or its answer was lost.
#[derive(Debug, thiserror::Error)]
#[error("cannot {op} object {key}: {source}")]
pub struct StoreError {
    /// The operation, a verb such as `read`.
    pub op: &'static str,
    /// The object, or the beginning of the keys that were to be listed.
    pub key: String,
    /// The store's reason.
    pub source: StoreFailure,
}

impl StoreError {
    /// An error of one request.
    pub fn new(op: &'static str, key: &str, source: impl Into<StoreFailure>) -> StoreError {
        StoreError {
            op,
            key: key.to_owned(),
            source: source.into(),
        }
    }
}

/// A call on shared storage failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SharedError {
    /// The store of objects refused or did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The local copy could not be read or written.
    #[error(transparent)]
    Local(#[from] StorageError),
    /// An object has bytes that no Varve has written, or that were changed since.
    #[error("object {key} is damaged: {reason}")]
    Damaged {
        /// Key of the object.
        key: String,
        /// The first rule that it breaks.
        reason: &'static str,
    },
    /// An object that others point to is gone.
    #[error("object {key} is missing: {wanted_by} needs it")]
    Missing {
        /// Key of the object.
        key: String,
        /// Key of the object that names it.
        wanted_by: String,
    },
    /// Another process has taken the log over; the local copy may have bytes that were never committed.
    #[error("another process owns {log} now; it must be opened again")]
    Fenced {
        /// Name of the log.
        log: String,
    },
    /// The store did not say in time if a record is there; it may be, or may still arrive.
    #[error("the store did not confirm {key}: the commit may have taken place or not; {source}")]
    Unconfirmed {
        /// Key of the record.
        key: String,
        /// The last answer of the store.
        source: StoreError,
    },
    /// An earlier commit failed, so that the local copy is ahead of the log.
    #[error("{log} must be opened again, as an earlier call failed: {reason}")]
    Abandoned {
        /// Name of the log.
        log: String,
        /// Message of the error of that call.
        reason: String,
    },
    /// The log went on so far that the records after this position have been removed.
    #[error("the position in {log} is too old; it must be opened again")]
    PositionCollected {
        /// Name of the log.
        log: String,
    },
    /// A write on a copy that only follows.
    #[error("this process does not own {log}")]
    NotOwner {
        /// Name of the log.
        log: String,
    },
    /// No log of this name is in the store.
    #[error("there is no {log} in {store}")]
    NoSuchLog {
        /// Name of the log.
        log: String,
        /// Address of the store.
        store: String,
    },
    /// The log has no state as old as was asked for.
    #[error("{log} goes back to slot {oldest} only, written at {oldest_time} (seconds since 1970)")]
    TooOld {
        /// Name of the log.
        log: String,
        /// The oldest slot that can be restored.
        oldest: u64,
        /// Time of the record.
        oldest_time: u64,
    },
    /// The store lets two processes create the same object.
    #[error(
        "{store} cannot be shared: it created the same object twice, and would lose commits so; it needs \
         'create if absent' (If-None-Match: * of S3)"
    )]
    NoExclusiveCreate {
        /// Address of the store.
        store: String,
    },
    /// A name that no log can have.
    #[error("{0:?} is no name of a log: letters, digits, '_', '-', '+', '.' and '/' between them")]
    BadName(String),
    /// The call was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    NoRandom,
}

impl SharedError {
    /// True if the process is no longer the owner, or cannot know it: it must open the log again.
    pub fn must_reopen(&self) -> bool {
        matches!(
            self,
            SharedError::Fenced { .. }
                | SharedError::Unconfirmed { .. }
                | SharedError::Abandoned { .. }
                | SharedError::PositionCollected { .. }
        )
    }

    /// True if the store has no such log.
    pub fn is_not_found(&self) -> bool {
        matches!(self, SharedError::NoSuchLog { .. })
    }

    pub(crate) fn damaged(key: &str, reason: &'static str) -> SharedError {
        let key = key.to_owned();
        SharedError::Damaged { key, reason }
    }
}
