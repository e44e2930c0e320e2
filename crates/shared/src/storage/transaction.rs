//! Transactions: many changes with many syncs that are one record.

use super::{Shared, SharedStorage};
use crate::error::SharedError;
use std::path::Path;

impl SharedStorage {
    /// Begins a transaction: until [`SharedStorage::end_transaction`], syncs make no record, so that all that is changed meanwhile is in
    /// the one of the first sync behind it, and no record of another process changes the copy. The log is not given up before.
    pub fn begin_transaction(&self) {
        // Records that are being applied come before it.
        let _end = self.shared.end.lock();
        self.shared.journal.lock().set_in_transaction(true);
    }

    /// Ends a transaction, of which nothing is in the log before the next sync; nothing happens where none was begun.
    pub fn end_transaction(&self) {
        self.shared.journal.lock().set_in_transaction(false);
        self.shared.transaction_ended.notify_all();
    }

    /// True from the beginning of a transaction to its end.
    pub fn is_in_transaction(&self) -> bool {
        self.shared.journal.lock().is_in_transaction()
    }

    /// Returns once no change of a file that `is_seen` names is only in the copy: what a reader has seen before the call is in the
    /// log then.
    ///
    /// # Errors
    /// As of a commit: what the reader has seen may never be in the log.
    pub fn settle(&self, is_seen: impl Fn(&Path) -> bool) -> Result<(), SharedError> {
        let shared = &self.shared;
        loop {
            let mut journal = shared.journal.lock();
            if !journal.changes(&is_seen) {
                break;
            }
            if journal.is_in_transaction() {
                shared.transaction_ended.wait(&mut journal);
                continue;
            }
            drop(journal);
            shared.commit()?;
        }
        // A commit may be on its way.
        let _end = shared.end.lock();
        shared.ensure_usable()
    }
}

impl Shared {
    /// Returns once no transaction is under way.
    pub(super) fn wait_for_transaction(&self) {
        let mut journal = self.journal.lock();
        while journal.is_in_transaction() {
            self.transaction_ended.wait(&mut journal);
        }
    }
}
