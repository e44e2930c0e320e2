//! [`Storage`] whose syncs are records of a log.
//!
//! All changes go to a local copy at once and are noted in a journal; a sync makes one record of the journal. A local copy
//! is a cache: it is made anew when the log is opened, and is given up when a commit fails. Its bytes come when they are read.

mod checkpoint;
mod commit;
mod file;
mod gaps;
mod journal;
mod lazy_file;
mod local_copy;
mod seam;
mod segment;
mod transaction;

use crate::clock::Clock;
use crate::error::SharedError;
use crate::file_table::FileTable;
use crate::format::RecordBody;
use crate::log::{Appended, Cursor, Log, LogId, LogOptions, Opened};
use crate::store::ObjectStore;
use gaps::Gaps;
use journal::Journal;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use varve_base::{Storage, StorageError};

pub(crate) use checkpoint::announce;
pub(crate) use commit::to_segments;
pub(crate) use local_copy::{LocalCopy, SegmentReader};

/// Attempts of taking a log over, which begins again because another record took the slot.
const TAKE_OVER_ATTEMPTS: usize = 100;

/// The tree of files of one log, as a [`Storage`]; clones share it.
///
/// The local copy follows the log until [`SharedStorage::take_over`], and accepts writes from then on, until
/// [`SharedStorage::release`], or until a commit or a check says that another process has taken the log over. Then it must be
/// opened again ([`SharedError::must_reopen`]).
#[derive(Clone, Debug)]
pub struct SharedStorage {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    local: Arc<dyn Storage>,
    gaps: Arc<Gaps>,
    log: Log,
    journal: Mutex<Journal>,
    /// Told of the end of a transaction.
    transaction_ended: Condvar,
    /// Taken before `journal`.
    end: Mutex<LogEnd>,
    /// Number of checks and commits that have begun.
    begun: AtomicU64,
    last_check: Mutex<Instant>,
}

/// The end of the log as far as it is known here.
#[derive(Debug)]
struct LogEnd {
    cursor: Cursor,
    /// As of the cursor's position.
    table: FileTable,
    copy: LocalCopy,
    /// Set while this process owns the log.
    owned_epoch: Option<u64>,
    slots_since_checkpoint: u64,
    bytes_since_checkpoint: u64,
    /// Number of the last check or commit that has shown this position to be the end of the log.
    confirmed: u64,
}

impl SharedStorage {
    /// Opens a log for reading; a log that is not in the store is empty. All that is in `local` is removed.
    ///
    /// # Errors
    /// Damage and errors of the store; errors of the local copy.
    pub fn open(
        store: Arc<dyn ObjectStore>,
        clock: Arc<dyn Clock>,
        id: LogId,
        options: LogOptions,
        local: Arc<dyn Storage>,
    ) -> Result<SharedStorage, SharedError> {
        let log = Log::new(store, clock, id, options);
        let Opened { cursor, checkpoint } = log.open()?;
        let table = checkpoint
            .map(FileTable::from_checkpoint)
            .unwrap_or_default();
        let mut copy = LocalCopy::lazy(&log, Arc::clone(&local));
        copy.fill(&log, &table)?;
        let gaps = Arc::clone(copy.gaps());
        let end = LogEnd {
            cursor,
            table,
            copy,
            owned_epoch: None,
            slots_since_checkpoint: 0,
            bytes_since_checkpoint: 0,
            confirmed: 0,
        };
        let shared = Shared {
            local,
            gaps,
            log,
            journal: Mutex::default(),
            transaction_ended: Condvar::new(),
            end: Mutex::new(end),
            begun: AtomicU64::new(0),
            last_check: Mutex::new(Instant::now()),
        };
        let storage = SharedStorage {
            shared: Arc::new(shared),
        };
        {
            let mut end = storage.shared.end.lock();
            storage.shared.follow(&mut end)?;
            end.copy.begin_to_be_read();
        }
        Ok(storage)
    }

    /// Slot of the last record that the local copy has; 0 for an empty log.
    pub fn slot(&self) -> u64 {
        self.shared.end.lock().cursor.slot()
    }

    /// True if writes are accepted, as far as is known here.
    pub fn is_owner(&self) -> bool {
        self.shared.end.lock().owned_epoch.is_some() && self.is_usable()
    }

    /// False once the log must be opened again.
    pub fn is_usable(&self) -> bool {
        self.ensure_usable().is_ok()
    }

    /// # Errors
    /// Why the log must be opened again.
    pub fn ensure_usable(&self) -> Result<(), SharedError> {
        self.shared.ensure_usable()
    }

    /// True if nothing else has a handle of this log or of any of its files.
    pub fn is_unused(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }

    /// When the copy was last to be brought to the end of its log, or opened.
    pub fn last_check(&self) -> Instant {
        *self.shared.last_check.lock()
    }

    /// True if both are the same opened log.
    pub fn is_same(&self, other: &SharedStorage) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Brings the local copy to the end of the log as it is now, or later. A read of the copy after this sees all commits
    /// that were acknowledged anywhere before the call. Callers at the same time share one request.
    ///
    /// # Errors
    /// [`SharedError::Fenced`] if this process was the owner and is it no longer; damage, errors of the store.
    pub fn ensure_current(&self) -> Result<(), SharedError> {
        self.shared.ensure_current()
    }

    /// Makes this process the owner: the record that is put at the end of the log refuses all later ones of the owner
    /// before.
    ///
    /// # Errors
    /// [`SharedError::Fenced`] if another process has taken the log over meanwhile; errors as of a commit.
    pub fn take_over(&self) -> Result<(), SharedError> {
        let shared = &self.shared;
        let mut end = shared.end.lock();
        shared.ensure_usable()?;
        if end.owned_epoch.is_some() {
            return Ok(());
        }
        let seen = end.cursor.epoch();
        let epoch = seen.saturating_add(1);
        shared.wait_for_transaction();
        for _ in 0..TAKE_OVER_ATTEMPTS {
            shared.follow(&mut end)?;
            if end.cursor.epoch() != seen {
                break;
            }
            match end.cursor.append(epoch, RecordBody::Fence)? {
                Appended::Done => {
                    end.owned_epoch = Some(epoch);
                    end.slots_since_checkpoint += 1;
                    shared.journal.lock().accept_writes();
                    return Ok(());
                }
                Appended::SlotTaken => {}
            }
        }
        Err(shared.fenced())
    }

    /// The local copy. What is changed there directly is in no record, and must have names that no record has.
    pub fn local(&self) -> &Arc<dyn Storage> {
        &self.shared.local
    }

    /// Fetches all bytes of the copy that were not read yet: for programs that read it by themselves.
    ///
    /// # Errors
    /// Errors of the store and the copy.
    pub fn fetch_all(&self) -> Result<(), SharedError> {
        self.shared.gaps.fill_all()
    }

    /// Commits everything and gives the log up, so that another process can take it over without a commit of this one being
    /// refused. This process follows the log from then on. Does nothing if it is not the owner.
    ///
    /// # Errors
    /// As of a commit; nothing that was acknowledged is lost then either.
    pub fn release(&self) -> Result<(), SharedError> {
        self.shared.release()
    }

    /// Makes a checkpoint now if this process is the owner and everything is committed.
    ///
    /// # Errors
    /// As of a commit.
    pub fn checkpoint(&self) -> Result<(), SharedError> {
        let mut end = self.shared.end.lock();
        self.shared.ensure_usable()?;
        self.shared.write_checkpoint(&mut end)
    }
}

impl Shared {
    fn fenced(&self) -> SharedError {
        let log = self.log.id.to_string();
        SharedError::Fenced { log }
    }

    fn ensure_usable(&self) -> Result<(), SharedError> {
        let abandoned = self.journal.lock().abandoned_for(&self.log.id);
        abandoned.map_or(Ok(()), Err)
    }

    fn ensure_current(&self) -> Result<(), SharedError> {
        *self.last_check.lock() = Instant::now();
        let wanted = self.begun.load(Ordering::SeqCst) + 1;
        let mut end = self.end.lock();
        self.ensure_usable()?;
        if end.confirmed >= wanted {
            return Ok(());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let done = match end.owned_epoch {
            Some(_) => match end.cursor.is_at_end() {
                Ok(true) => Ok(()),
                Ok(false) => Err(self.fenced()),
                Err(error) => Err(error),
            },
            None => {
                self.wait_for_transaction();
                self.follow(&mut end)
            }
        };
        if let Some(error) = done.as_ref().err().filter(|error| error.must_reopen()) {
            self.journal.lock().abandon(error);
        }
        done?;
        end.confirmed = number;
        Ok(())
    }

    /// Applies all records up to the end of the log.
    fn follow(&self, end: &mut LogEnd) -> Result<(), SharedError> {
        loop {
            let key = end.cursor.next_key();
            let Some(record) = end.cursor.advance()? else {
                return Ok(());
            };
            end.slots_since_checkpoint += 1;
            let applied = self.apply(end, record.body, record.slot, &key);
            let applied = applied.map_err(|error| match error {
                // The record was there, and what it names was removed before this process came to it.
                SharedError::Missing { .. } => {
                    let log = self.log.id.to_string();
                    SharedError::PositionCollected { log }
                }
                error => error,
            });
            if let Err(error) = &applied {
                // The cursor is ahead of the local copy now.
                self.journal.lock().abandon(error);
            }
            applied?;
        }
    }

    fn apply(
        &self,
        end: &mut LogEnd,
        body: RecordBody,
        slot: u64,
        key: &str,
    ) -> Result<(), SharedError> {
        match body {
            RecordBody::Fence => Ok(()),
            RecordBody::Operations(operations) => {
                for operation in &operations {
                    let applied = end.table.apply(operation);
                    applied.map_err(|reason| SharedError::damaged(key, reason))?;
                    end.copy.apply(&self.log, operation, key)?;
                    let appended = operation.appended();
                    end.bytes_since_checkpoint =
                        end.bytes_since_checkpoint.saturating_add(appended);
                }
                Ok(())
            }
            RecordBody::Checkpoint(nonce) => {
                let name = crate::format::CheckpointName { slot, nonce };
                // The segments of the table so far may be removed from now on.
                end.table = FileTable::from_checkpoint(self.log.checkpoint(&name)?);
                self.gaps.follow_checkpoint(&end.table);
                end.slots_since_checkpoint = 0;
                end.bytes_since_checkpoint = 0;
                Ok(())
            }
        }
    }
}

/// An error of a shared storage as one of the seam.
fn as_storage_error(op: &'static str, path: &Path, error: SharedError) -> StorageError {
    match error {
        SharedError::Local(error) => error,
        error => {
            let (path, source) = (path.to_owned(), io::Error::other(error));
            StorageError::Io { op, path, source }
        }
    }
}
