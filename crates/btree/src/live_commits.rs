//! The commits of an open file that its readers have.

use crate::snapshot::CommitState;
use parking_lot::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

/// The commits of one open file that readers may have.
#[derive(Debug, Default)]
pub(crate) struct LiveCommits {
    states: Mutex<CommitList>,
    /// Commits before this position are not to be taken over from any more.
    pub(crate) floor: AtomicU64,
}

#[derive(Debug, Default)]
struct CommitList {
    states: Vec<Weak<CommitState>>,
    /// Length at which the list is next searched for dropped commits.
    sweep_at: usize,
}

/// Shorter lists are not searched.
const MIN_SWEEP: usize = 64;

impl LiveCommits {
    pub(crate) fn add(&self, state: &Arc<CommitState>) {
        let mut list = self.states.lock();
        if list.states.len() >= list.sweep_at {
            list.states.retain(|state| state.strong_count() > 0);
            list.sweep_at = MIN_SWEEP.max(2 * list.states.len());
        }
        list.states.push(Arc::downgrade(state));
    }

    /// Position of the oldest commit that a reader has.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let list = self.states.lock();
        let alive = list.states.iter().filter_map(Weak::upgrade);
        alive.map(|state| state.at).min()
    }
}
