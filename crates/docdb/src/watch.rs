//! Waiting for commits: threads until a sequence is passed, callbacks at every commit.

use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

type Callback = Arc<dyn Fn(u64) + Send + Sync>;

/// The newest update sequence, and the waiters for the next one.
#[derive(Debug)]
pub(crate) struct Watch {
    state: Arc<Mutex<WatchState>>,
    changed: Condvar,
}

#[derive(Default)]
struct WatchState {
    seq: u64,
    is_closed: bool,
    callbacks: BTreeMap<u64, Callback>,
    next: u64,
}

impl fmt::Debug for WatchState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "seq {}, {} subscriptions",
            self.seq,
            self.callbacks.len()
        )
    }
}

impl Watch {
    pub(crate) fn new(seq: u64) -> Self {
        let state = WatchState {
            seq,
            ..WatchState::default()
        };
        Watch {
            state: Arc::new(Mutex::new(state)),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn publish(&self, seq: u64) {
        let mut state = self.state.lock();
        // Writers may come here in another order than they committed in.
        state.seq = state.seq.max(seq);
        drop(state);
        self.wake();
    }

    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.wake();
    }

    fn wake(&self) {
        let (seq, callbacks) = {
            let state = self.state.lock();
            (
                state.seq,
                state.callbacks.values().cloned().collect::<Vec<_>>(),
            )
        };
        self.changed.notify_all();
        // Outside the lock: a call may unsubscribe.
        for callback in callbacks {
            callback(seq);
        }
    }

    pub(crate) fn wait_beyond(&self, since: u64, timeout: Duration) -> u64 {
        // Far enough for every clock.
        let timeout = timeout.min(Duration::from_secs(1 << 30));
        let end = Instant::now() + timeout;
        let mut state = self.state.lock();
        while state.seq <= since && !state.is_closed {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.changed.wait_for(&mut state, left);
        }
        state.seq
    }

    pub(crate) fn subscribe(&self, callback: Box<dyn Fn(u64) + Send + Sync>) -> Subscription {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.callbacks.insert(number, callback.into());
        Subscription {
            state: Arc::downgrade(&self.state),
            number,
        }
    }
}

/// Keeps a callback registered; dropping it ends that.
#[derive(Debug)]
#[must_use = "dropping the subscription ends it"]
pub struct Subscription {
    state: Weak<Mutex<WatchState>>,
    number: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(state) = self.state.upgrade() {
            state.lock().callbacks.remove(&self.number);
        }
    }
}
