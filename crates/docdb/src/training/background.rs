//! Training on a thread of its own.

use super::{Trained, is_due};
use crate::bodies::BodyCodec;
use crate::record::DictionaryRecord;
use crate::{DocdbError, Snapshot};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use varve_codec::Dictionary;

/// Whether some database of this process is training: one at a time is enough.
static IS_TRAINING: AtomicBool = AtomicBool::new(false);

/// State of one database's training.
#[derive(Debug)]
pub(crate) struct Training {
    /// The number of the next dictionary: in the file and in a copy of it, each is given once.
    next: AtomicU32,
    state: Mutex<TrainingState>,
}

#[derive(Debug, Default)]
struct TrainingState {
    /// Waits for the next commit, with its number if that is given already.
    ready: Option<(Trained, Option<u32>)>,
    /// Training did not pay with so many documents.
    documents_at_failure: u64,
}

/// The right to train; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct TrainingTurn(());

impl Drop for TrainingTurn {
    fn drop(&mut self) {
        IS_TRAINING.store(false, Ordering::Release);
    }
}

impl Training {
    pub(crate) fn new(next: u32) -> Self {
        Training {
            next: AtomicU32::new(next.max(1)),
            state: Mutex::default(),
        }
    }

    /// Gives no number below `next` from now on.
    pub(crate) fn skip_to(&self, next: u32) {
        self.next.fetch_max(next, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, TrainingState> {
        self.state.lock()
    }

    /// A number that no other dictionary of this database has.
    pub(crate) fn number(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The dictionary that the next commit is to store, and its number.
    pub(crate) fn take(&self) -> Option<(Trained, u32)> {
        let (trained, number) = self.state().ready.take()?;
        Some((trained, number.unwrap_or_else(|| self.number())))
    }

    /// Keeps the dictionary of another database for the next commit, under the number that it has there. False if
    /// the number is taken.
    pub(crate) fn adopt(&self, record: &DictionaryRecord, dictionary: Dictionary) -> bool {
        let mut state = self.state();
        let claim = |next| (next <= record.number).then(|| record.number.saturating_add(1));
        let order = Ordering::Relaxed;
        let is_free = state.ready.is_none() && self.next.fetch_update(order, order, claim).is_ok();
        if is_free {
            let trained = Trained {
                dictionary,
                documents: record.documents,
                share: record.share,
            };
            state.ready = Some((trained, Some(record.number)));
        }
        is_free
    }

    /// Whether there is work, and no thread does it.
    pub(crate) fn turn(&self, snapshot: &Snapshot, method: &BodyCodec) -> Option<TrainingTurn> {
        // Looked at after every commit, so nothing here reads the file.
        if !is_due(snapshot, method, super::GROWTH).unwrap_or(false) {
            return None;
        }
        let documents = super::documents(snapshot).unwrap_or_default();
        let state = self.state();
        if state.ready.is_some()
            || documents < state.documents_at_failure.saturating_mul(super::GROWTH)
        {
            return None;
        }
        let is_taken = IS_TRAINING.swap(true, Ordering::Acquire);
        (!is_taken).then(|| TrainingTurn(()))
    }

    /// Keeps a trained dictionary for the next commit. A dictionary that did not pay, or samples that cannot be read,
    /// are not tried again with every commit.
    pub(crate) fn end(&self, trained: Result<Option<Trained>, DocdbError>, snapshot: &Snapshot) {
        let mut state = self.state();
        let trained = trained.unwrap_or_default();
        let has_failed = trained.is_none();
        if let Some(trained) = trained {
            state.ready = Some((trained, None));
        }
        if has_failed {
            state.documents_at_failure =
                super::documents(snapshot).map_or(1, |documents| documents.max(1));
        }
    }
}
