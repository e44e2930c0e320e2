//! Changes since the last commit, and what the open files are called now.

use crate::error::SharedError;
use crate::file_table::moved_path;
use crate::format::{AppendedBytes, Operation};
use crate::log::LogId;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use varve_base::StorageError;

/// Present name of an open file; `None` once it has none.
pub(super) type HandleName = Arc<Mutex<Option<PathBuf>>>;

/// Bytes of appends that wait in memory for a sync, at most; more are committed without one, or stored as segments in a
/// transaction.
pub(super) const MOST_BYTES: u64 = 32 << 20;

#[derive(Debug, Default)]
pub(super) struct Journal {
    operations: Vec<Operation>,
    bytes: u64,
    handles: Vec<Weak<Mutex<Option<PathBuf>>>>,
    state: JournalState,
    /// True from the beginning of a transaction to its end.
    is_in_transaction: bool,
}

#[derive(Debug, Default)]
enum JournalState {
    /// The copy follows the log.
    #[default]
    Following,
    /// Changes are accepted.
    Owner,
    /// Another process has taken the log over. The copy may have what the log has not, and never will have.
    Fenced,
    /// A call failed: the copy may have what the log has not, and the log what was not acknowledged.
    Abandoned { reason: String },
}

impl Journal {
    pub(super) fn accept_writes(&mut self) {
        self.state = JournalState::Owner;
    }

    /// Accepts changes no more, until [`Journal::accept_writes`]. To be called when all are committed.
    pub(super) fn refuse_writes(&mut self) {
        self.state = JournalState::Following;
    }

    /// Accepts no changes any more, for this reason; the first one is kept.
    pub(super) fn abandon(&mut self, error: &SharedError) {
        if !matches!(self.state, JournalState::Following | JournalState::Owner) {
            return;
        }
        self.state = match error {
            SharedError::Fenced { .. } => JournalState::Fenced,
            error => JournalState::Abandoned {
                reason: error.to_string(),
            },
        };
    }

    /// Why nothing is accepted any more, if that is so.
    pub(super) fn abandoned_for(&self, log: &LogId) -> Option<SharedError> {
        let log = log.to_string();
        match &self.state {
            JournalState::Fenced => Some(SharedError::Fenced { log }),
            JournalState::Abandoned { reason } => {
                let reason = reason.clone();
                Some(SharedError::Abandoned { log, reason })
            }
            JournalState::Following | JournalState::Owner => None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    pub(super) fn is_in_transaction(&self) -> bool {
        self.is_in_transaction
    }

    pub(super) fn set_in_transaction(&mut self, is_in_transaction: bool) {
        self.is_in_transaction = is_in_transaction;
    }

    /// Puts operations that [`Journal::take`] has given before those that were noted since.
    pub(super) fn put_back(&mut self, mut operations: Vec<Operation>) {
        operations.append(&mut self.operations);
        self.operations = operations;
    }

    /// True if an operation since the last commit concerns a file of these.
    pub(super) fn changes(&self, is_seen: impl Fn(&Path) -> bool) -> bool {
        let mut operations = self.operations.iter();
        operations.any(|operation| operation.changes(&is_seen))
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes > MOST_BYTES
    }

    /// # Errors
    /// An error whose source says why no change is accepted.
    pub(super) fn ensure_writable(
        &self,
        id: &LogId,
        op: &'static str,
        path: &Path,
    ) -> Result<(), StorageError> {
        let (kind, reason) = match self.abandoned_for(id) {
            Some(reason) => (io::ErrorKind::Other, reason),
            None if matches!(self.state, JournalState::Owner) => return Ok(()),
            None => {
                let log = id.to_string();
                let reason = SharedError::NotOwner { log };
                (io::ErrorKind::ReadOnlyFilesystem, reason)
            }
        };
        let (path, source) = (path.to_owned(), io::Error::new(kind, reason));
        Err(StorageError::Io { op, path, source })
    }

    pub(super) fn name_handle(&mut self, path: &Path) -> HandleName {
        self.handles.retain(|handle| handle.strong_count() > 0);
        let name = Arc::new(Mutex::new(Some(path.to_owned())));
        self.handles.push(Arc::downgrade(&name));
        name
    }

    /// Everything since the last call.
    pub(super) fn take(&mut self) -> Vec<Operation> {
        self.bytes = 0;
        std::mem::take(&mut self.operations)
    }

    pub(super) fn push(&mut self, operation: Operation) {
        self.rename_handles(&operation);
        self.operations.push(operation);
    }

    /// Notes an append; one that goes on with the last is joined to it.
    pub(super) fn push_append(&mut self, path: &Path, offset: u64, appended: &[u8]) {
        self.bytes += appended.len() as u64;
        if let Some(Operation::Append {
            path: last,
            offset: begin,
            bytes: AppendedBytes::Inline(bytes),
        }) = self.operations.last_mut()
            && last == path
            && begin.checked_add(bytes.len() as u64) == Some(offset)
        {
            bytes.extend_from_slice(appended);
            return;
        }
        let bytes = AppendedBytes::Inline(appended.to_vec());
        let path = path.to_owned();
        self.operations.push(Operation::Append {
            path,
            offset,
            bytes,
        });
    }

    fn rename_handles(&self, operation: &Operation) {
        let renamed = |name: &Path| match operation {
            Operation::Rename { from, to } if name.starts_with(from) => {
                Some(moved_path(name, from, to))
            }
            Operation::Rename { to, .. } if name == to => None,
            Operation::Exchange { one, other } if name.starts_with(one) => {
                Some(moved_path(name, one, other))
            }
            Operation::Exchange { one, other } => Some(moved_path(name, other, one)),
            Operation::Remove(path) if name == path => None,
            Operation::RemoveTree(directory) if name.starts_with(directory) => None,
            _ => Some(name.to_owned()),
        };
        for handle in self.handles.iter().filter_map(Weak::upgrade) {
            let mut name = handle.lock();
            *name = name.as_deref().and_then(renamed);
        }
    }
}
