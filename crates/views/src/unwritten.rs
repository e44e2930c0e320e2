//! Memory for changes of indexes that are not in their files yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A budget of memory; clones share it. A server has one for all its indexes.
#[derive(Clone, Debug)]
pub struct Unwritten {
    limit: usize,
    used: Arc<AtomicUsize>,
}

impl Unwritten {
    /// A budget of about `limit` bytes. With none, every change goes into the file at once.
    pub fn new(limit: usize) -> Self {
        Unwritten {
            limit,
            used: Arc::default(),
        }
    }

    /// So many bytes of it, if there are.
    pub(crate) fn take(&self, bytes: usize) -> Option<Share> {
        let used = self.used.fetch_add(bytes, Ordering::AcqRel);
        let share = Share {
            of: Arc::clone(&self.used),
            bytes,
        };
        (used + bytes <= self.limit).then_some(share)
    }
}

/// What one index has of the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    of: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_share_the_budget() {
        let all = Unwritten::new(100);
        let first = all.take(60);
        assert!(first.is_some() && all.clone().take(60).is_none());
        let second = all.take(40);
        assert!(second.is_some() && all.take(1).is_none());
        drop(first);
        assert!(all.take(60).is_some());
    }
}
