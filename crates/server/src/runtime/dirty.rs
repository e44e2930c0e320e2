//! Databases that were changed since background work last looked at them.

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Names of changed databases, for one task that waits for them.
#[derive(Debug, Default)]
pub(crate) struct DirtySet {
    names: Mutex<BTreeSet<String>>,
    marked: Notify,
}

impl DirtySet {
    /// Waits until the set has a name.
    pub(crate) async fn wait(&self) {
        while self.is_empty() {
            self.marked.notified().await;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.lock().is_empty()
    }

    /// Empties the set.
    pub(crate) fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.names.lock())
    }

    pub(crate) fn insert(&self, name: &str) {
        self.names.lock().insert(name.to_owned());
        // Kept for the next wait if no task waits now.
        self.marked.notify_one();
    }
}

/// Marks one database in a [`DirtySet`]. While it is marked, another mark costs one atomic operation.
#[derive(Clone, Debug)]
pub(crate) struct DirtyFlag {
    name: String,
    dirty: Arc<DirtySet>,
    is_marked: Arc<AtomicBool>,
}

impl DirtyFlag {
    pub(crate) fn new(name: &str, dirty: &Arc<DirtySet>) -> DirtyFlag {
        DirtyFlag {
            name: name.to_owned(),
            dirty: Arc::clone(dirty),
            is_marked: Arc::default(),
        }
    }

    /// Adds the database to the set, unless it was marked and not cleared since.
    pub(crate) fn mark(&self) {
        if !self.is_marked.swap(true, Ordering::AcqRel) {
            self.dirty.insert(&self.name);
        }
    }

    /// To be called before the database is looked at: later changes mark it again.
    pub(crate) fn clear(&self) {
        self.is_marked.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_mark_wakes_the_task_that_waits_and_is_kept_for_one_that_does_not() {
        let dirty = Arc::<DirtySet>::default();
        let (a, b) = (DirtyFlag::new("a", &dirty), DirtyFlag::new("b", &dirty));
        let short = Duration::from_millis(1);
        assert!(tokio::time::timeout(short, dirty.wait()).await.is_err());
        let waiting = tokio::spawn({
            let dirty = Arc::clone(&dirty);
            async move { dirty.wait().await }
        });
        tokio::task::yield_now().await;
        b.mark();
        waiting.await.unwrap();
        a.mark();
        dirty.wait().await;
        assert_eq!(dirty.take().into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert!(tokio::time::timeout(short, dirty.wait()).await.is_err());
    }

    #[test]
    fn a_marked_database_is_added_again_only_after_it_was_cleared() {
        let dirty = Arc::<DirtySet>::default();
        let flag = DirtyFlag::new("a", &dirty);
        flag.mark();
        dirty.take();
        flag.clone().mark();
        assert!(dirty.is_empty());
        flag.clear();
        flag.mark();
        assert!(!dirty.is_empty());
    }
}
