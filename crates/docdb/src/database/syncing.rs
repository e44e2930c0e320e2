//! Syncing commits that were made without it.

use super::{Database, Shared};
use crate::DocdbError;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

impl Database {
    /// Waits until everything that was committed is durable. Where commits wait for that themselves
    /// it is already.
    ///
    /// # Errors
    /// Errors of the storage; [`DocdbError::Deleted`].
    pub fn sync(&self) -> Result<(), DocdbError> {
        let syncs = &self.shared.syncs;
        if syncs.interval().is_none() {
            return Ok(());
        }
        syncs.begin();
        let done = self.write(|_, mut txn| Ok(txn.sync_base()?));
        syncs.end(done.is_ok());
        done
    }

    /// Has a commit synced when the interval is over.
    pub(super) fn sync_later(&self) {
        let shared = &self.shared;
        let Some(interval) = shared.syncs.interval() else {
            return;
        };
        if !shared.syncs.mark_unsynced() {
            return;
        }
        let weak = Arc::downgrade(shared);
        let thread = thread::Builder::new().name("sync".to_owned());
        match thread.spawn(move || sync_all(&weak, interval)) {
            Ok(begun) => shared.syncs.set_thread(begun.thread()),
            Err(_) => shared.syncs.fail(),
        }
    }
}

/// Syncs every interval until nothing waits. While it sleeps it does not keep open the
/// database, and it ends when that is closed.
fn sync_all(weak: &Weak<Shared>, interval: Duration) {
    loop {
        let due = Instant::now() + interval;
        while let Some(rest) = due.checked_duration_since(Instant::now()) {
            thread::park_timeout(rest);
            if weak.strong_count() == 0 {
                return;
            }
        }
        let Some(shared) = weak.upgrade() else { return };
        let database = Database { shared };
        // The next commit reports the failure.
        let _ = database.sync();
        if database.is_deleted() || database.shared.syncs.try_stop() {
            return;
        }
    }
}

impl Drop for Shared {
    /// There are no more commits; those that still wait are not to wait longer.
    fn drop(&mut self) {
        self.syncs.wake();
        let is_deleted = *self.is_deleted.get_mut();
        if !is_deleted && self.syncs.has_unsynced() {
            let current = self.current.get_mut();
            // No commit is left to report it.
            let _ = current.file.flush();
        }
    }
}
