//! Memory for the memtables of indexes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A budget of memory; clones share it. A server has one for all its indexes.
#[derive(Clone, Debug)]
pub struct MemtableBudget {
    limit: usize,
    used: Arc<AtomicUsize>,
}

impl MemtableBudget {
    /// A budget of about `limit` bytes. With none, every change goes into the file at once.
    pub fn new(limit: usize) -> Self {
        MemtableBudget {
            limit,
            used: Arc::default(),
        }
    }

    /// Reserves bytes; `None` if the budget has fewer left.
    pub(crate) fn reserve(&self, bytes: usize) -> Option<Reservation> {
        let used = self.used.fetch_add(bytes, Ordering::AcqRel);
        let reservation = Reservation {
            of: Arc::clone(&self.used),
            bytes,
        };
        (used + bytes <= self.limit).then_some(reservation)
    }
}

/// Bytes of the budget that one index holds until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    of: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_share_the_budget() {
        let all = MemtableBudget::new(100);
        let first = all.reserve(60);
        assert!(first.is_some() && all.clone().reserve(60).is_none());
        let second = all.reserve(40);
        assert!(second.is_some() && all.reserve(1).is_none());
        drop(first);
        assert!(all.reserve(60).is_some());
    }
}
