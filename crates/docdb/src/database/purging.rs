//! Revisions are forgotten for good: commits of their own, whose like is rare.

use super::Database;
use crate::write::Purging;
use crate::{DocdbError, Rev, Snapshot};
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_btree::TreeFile;

impl Database {
    /// Forgets leaves of documents for good, with the ancestors that no other leaf needs; returns those that were
    /// there, by document. Durable when this returns.
    ///
    /// # Errors
    /// As [`Database::update`].
    pub fn purge(
        &self,
        wanted: BTreeMap<String, Vec<Rev>>,
    ) -> Result<BTreeMap<String, Vec<Rev>>, DocdbError> {
        self.write(|file, txn| {
            let purging = Purging::begin(
                txn,
                &self.shared.path,
                self.shared.options.current_setting(),
            )?;
            let (snapshot, purged) = purging.purge(wanted)?;
            self.show(file, snapshot);
            Ok(purged)
        })
    }

    /// Sets how many purges are remembered for indexes and clients that come later, at least 1.
    ///
    /// # Errors
    /// As [`Database::update`].
    pub fn set_purges_limit(&self, limit: u64) -> Result<(), DocdbError> {
        self.write(|file, txn| {
            let purging = Purging::begin(
                txn,
                &self.shared.path,
                self.shared.options.current_setting(),
            )?;
            self.show(file, purging.set_limit(limit.max(1))?);
            Ok(())
        })
    }

    /// Makes a commit the newest one, and wakes its waiters.
    pub(super) fn show(&self, file: &Arc<TreeFile>, snapshot: Snapshot) {
        let seq = snapshot.update_seq();
        self.publish(file, snapshot);
        self.shared.watch.publish(seq);
    }
}
