//! When commits are synced: each by itself, or all that came within an interval together.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// When a commit is on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Before anybody is told that it is done.
    #[default]
    Commit,
    /// After this time at the latest. What was told to be done survives the end of the process; a
    /// power cut may undo the last commits, never one without all that came after it.
    Interval(Duration),
}

/// Which commits of one database wait for a sync.
#[derive(Debug)]
pub(crate) struct Syncs {
    interval: Option<Duration>,
    state: Mutex<SyncState>,
}

#[derive(Debug, Default)]
struct SyncState {
    /// Somebody syncs when the interval is over.
    is_scheduled: bool,
    /// A commit came since the last sync began.
    has_unsynced: bool,
    /// The last sync failed.
    has_failed: bool,
    /// Who syncs, or did last.
    thread: Option<Thread>,
}

impl Syncs {
    pub(crate) fn new(durability: Durability) -> Syncs {
        let interval = match durability {
            Durability::Commit => None,
            Durability::Interval(interval) => Some(interval),
        };
        Syncs {
            interval,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, SyncState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long commits may wait; `None` if none does.
    pub(crate) fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// Whether the next commit may do without a sync. After one that failed it may not: whoever
    /// writes is to hear of it.
    pub(crate) fn may_defer(&self) -> bool {
        self.interval.is_some() && !self.state().has_failed
    }

    /// Notes a commit that waits. Whether the caller is to see to it that somebody syncs.
    pub(crate) fn mark_unsynced(&self) -> bool {
        let mut state = self.state();
        state.has_unsynced = true;
        !std::mem::replace(&mut state.is_scheduled, true)
    }

    /// Says who syncs.
    pub(crate) fn set_thread(&self, thread: &Thread) {
        self.state().thread = Some(thread.clone());
    }

    /// Wakes whoever waits for the end of the interval.
    pub(crate) fn wake(&self) {
        if let Some(thread) = self.state().thread.take() {
            thread.unpark();
        }
    }

    /// A sync begins, which covers all commits that were noted.
    pub(crate) fn begin(&self) {
        self.state().has_unsynced = false;
    }

    /// How the sync ended.
    pub(crate) fn end(&self, is_done: bool) {
        let mut state = self.state();
        state.has_failed = !is_done;
        state.has_unsynced |= !is_done;
    }

    /// Nobody is there who could sync: the next commit does it by itself.
    pub(crate) fn fail(&self) {
        let mut state = self.state();
        state.is_scheduled = false;
        state.has_failed = true;
    }

    /// Whether commits wait.
    pub(crate) fn has_unsynced(&self) -> bool {
        self.state().has_unsynced
    }

    /// Whether whoever syncs may stop, because nothing waits; then the next commit asks for somebody
    /// again.
    pub(crate) fn try_stop(&self) -> bool {
        let mut state = self.state();
        state.is_scheduled = state.has_unsynced;
        !state.is_scheduled
    }
}
