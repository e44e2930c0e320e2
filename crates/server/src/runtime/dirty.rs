//! Databases in which something happened, for threads that look after them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whoever waits looks after this at the latest: for what is to be done at other hours, and for the stop flag.
const PAUSE: Duration = Duration::from_secs(30);

/// Names of databases, each once until it is looked at.
#[derive(Debug, Default)]
pub(crate) struct DirtySet {
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct List {
    names: BTreeSet<String>,
    /// Whether the server stops.
    is_over: bool,
}

impl DirtySet {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is dirty any more.
    pub(crate) fn end(&self) {
        self.list().is_over = true;
        self.changed.notify_all();
    }

    /// Waits until there is something, but not for long.
    pub(crate) fn wait(&self) {
        let list = self.list();
        if list.names.is_empty() && !list.is_over {
            drop(self.changed.wait_timeout(list, PAUSE));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list().names.is_empty()
    }

    pub(crate) fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.list().names)
    }
}

/// Tells of one database.
#[derive(Clone, Debug)]
pub(crate) struct DirtyFlag {
    name: String,
    dirty: Arc<DirtySet>,
    is_told: Arc<AtomicBool>,
}

impl DirtyFlag {
    pub(crate) fn new(name: &str, dirty: &Arc<DirtySet>) -> DirtyFlag {
        DirtyFlag {
            name: name.to_owned(),
            dirty: Arc::clone(dirty),
            is_told: Arc::default(),
        }
    }

    /// Something happened.
    pub(crate) fn tell(&self) {
        if !self.is_told.swap(true, Ordering::AcqRel) {
            self.dirty.list().names.insert(self.name.clone());
            self.dirty.changed.notify_all();
        }
    }

    /// Somebody looks now: what happens from here on is to be told.
    pub(crate) fn taken(&self) {
        self.is_told.store(false, Ordering::Release);
    }
}
