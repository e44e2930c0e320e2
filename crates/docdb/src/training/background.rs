//! Training on a thread of its own.

use super::{Trained, is_due};
use crate::bodies::Method;
use crate::{DocdbError, Snapshot};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether some database of this process is training: one at a time is enough.
static TRAINS: AtomicBool = AtomicBool::new(false);

/// What one database knows of its training.
#[derive(Debug)]
pub(crate) struct Training {
    /// The number of the next dictionary: in the file and in a copy of it, each is given once.
    next: AtomicU32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Waits for the next commit.
    ready: Option<Trained>,
    /// Training did not pay with so many documents.
    in_vain: u64,
}

/// The right to train; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn(());

impl Drop for Turn {
    fn drop(&mut self) {
        TRAINS.store(false, Ordering::Release);
    }
}

impl Training {
    pub(crate) fn new(next: u32) -> Self {
        Training {
            next: AtomicU32::new(next.max(1)),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no other dictionary of this database has.
    pub(crate) fn number(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// What the next commit is to take along.
    pub(crate) fn take(&self) -> Option<Trained> {
        self.state().ready.take()
    }

    /// Whether there is something to do, and nobody does it.
    pub(crate) fn turn(&self, snapshot: &Snapshot, method: &Method) -> Option<Turn> {
        // Looked at after every commit, so nothing here reads the file.
        if !is_due(snapshot, method, super::GROWTH).unwrap_or(false) {
            return None;
        }
        let documents = super::documents(snapshot).unwrap_or_default();
        let state = self.state();
        if state.ready.is_some() || documents < state.in_vain.saturating_mul(super::GROWTH) {
            return None;
        }
        let is_taken = TRAINS.swap(true, Ordering::Acquire);
        (!is_taken).then(|| Turn(()))
    }

    /// Keeps what was trained for the next commit. What did not pay, or cannot be read, is not tried
    /// again with every commit.
    pub(crate) fn end(&self, trained: Result<Option<Trained>, DocdbError>, snapshot: &Snapshot) {
        let mut state = self.state();
        state.ready = trained.unwrap_or_default();
        if state.ready.is_none() {
            state.in_vain = super::documents(snapshot).map_or(1, |documents| documents.max(1));
        }
    }
}
