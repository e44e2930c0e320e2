//! When commits are synced: each by itself, or all that came within an interval together.

use parking_lot::{Mutex, MutexGuard};
use std::thread::Thread;
use std::time::Duration;

/// When a commit is on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Before the requester gets its outcome.
    #[default]
    Commit,
    /// After this time at the latest. An accepted commit survives the end of the process; a power
    /// cut may undo the last commits, never one without all that came after it.
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
    /// A thread will sync when the interval is over.
    is_scheduled: bool,
    /// A commit came since the last sync began.
    has_unsynced: bool,
    /// The last sync failed.
    has_failed: bool,
    /// The thread that syncs, or did last.
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
        self.state.lock()
    }

    /// How long commits may wait; `None` if none does.
    pub(crate) fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// Whether the next commit may leave its sync to the interval. After a sync that failed it may
    /// not: the next writer gets the error.
    pub(crate) fn may_defer(&self) -> bool {
        self.interval.is_some() && !self.state().has_failed
    }

    /// Notes a commit without a sync. Returns whether the caller has to schedule one.
    pub(crate) fn mark_unsynced(&self) -> bool {
        let mut state = self.state();
        state.has_unsynced = true;
        !std::mem::replace(&mut state.is_scheduled, true)
    }

    /// Sets the thread that syncs.
    pub(crate) fn set_thread(&self, thread: &Thread) {
        self.state().thread = Some(thread.clone());
    }

    /// Wakes the thread that waits for the end of the interval.
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

    /// There is no thread that could sync: the next commit does it itself.
    pub(crate) fn fail(&self) {
        let mut state = self.state();
        state.is_scheduled = false;
        state.has_failed = true;
    }

    /// Whether commits are not synced yet.
    pub(crate) fn has_unsynced(&self) -> bool {
        self.state().has_unsynced
    }

    /// Whether the thread that syncs may end, because no commit waits; the next commit then schedules
    /// a sync again.
    pub(crate) fn try_stop(&self) -> bool {
        let mut state = self.state();
        state.is_scheduled = state.has_unsynced;
        !state.is_scheduled
    }
}
