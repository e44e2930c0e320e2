//! Reading the recorded purges.

use super::Snapshot;
use crate::DocdbError;
use crate::record::{LIMIT_KEY, PURGES, Purge};
use std::ops::Bound;
use varve_btree::Direction;

impl Snapshot {
    /// Number of the last purge.
    pub fn purge_seq(&self) -> u64 {
        self.header().purge_seq
    }

    /// The purges after `since` that are remembered, in order. If the first of them is not the
    /// next one, those between are forgotten.
    ///
    /// # Errors
    /// Damage.
    pub fn purges(
        &self,
        since: u64,
    ) -> Result<impl Iterator<Item = Result<Purge, DocdbError>> + use<>, DocdbError> {
        let since = Purge::key(since);
        let bounds = (Bound::Excluded(&since[..]), Bound::Excluded(LIMIT_KEY));
        let items = self.tree.range(PURGES, bounds, Direction::Forward)?;
        let snapshot = self.clone();
        Ok(items.map(move |item| {
            let item = item?;
            Purge::decode(item.key(), item.value())
                .map_err(|_| snapshot.damaged("purge", item.key()))
        }))
    }
}
