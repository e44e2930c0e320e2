//! `[couchdb] max_partition_size`: partitions that take no more.

use std::collections::HashMap;

use varve_docdb::{Edit, Mode, Partition, Snapshot, split_id};

use crate::Failure;
use crate::couch::call::Call;
use crate::http::FailureKind;

/// The partitions among those of one request that have reached the limit. Replicated documents are taken anyway, or
/// replicas would differ.
pub struct FullPartitions {
    /// Whether each is full.
    known: HashMap<String, bool>,
}

impl FullPartitions {
    /// Looks at each partition once, at the cost of two ways through the tree of documents.
    ///
    /// # Errors
    /// 500 if the file cannot be read.
    pub fn among(
        call: &Call,
        snapshot: &Snapshot,
        edits: &[Edit],
        mode: Mode,
    ) -> Result<FullPartitions, Failure> {
        let mut known = HashMap::new();
        let most = call.app.settings().max_partition_size;
        let counts = snapshot.is_partitioned() && mode == Mode::Interactive && most > 0;
        let partitions = edits.iter().filter_map(|edit| split_id(edit.id()));
        for (name, _) in partitions.filter(|_| counts) {
            if !known.contains_key(name) {
                let info = snapshot.partition_info(&Partition::new(name)?)?;
                known.insert(name.to_owned(), info.external >= most);
            }
        }
        known.retain(|_, is_full| *is_full);
        Ok(FullPartitions { known })
    }

    /// Whether every edit may be done.
    pub fn is_none(&self) -> bool {
        self.known.is_empty()
    }

    /// Refuses an edit that a full partition would grow by. Deletions, and texts shorter than before, are taken.
    ///
    /// # Errors
    /// 403 `partition_overflow`.
    pub fn admit(&self, snapshot: &Snapshot, edit: &Edit) -> Result<(), Failure> {
        let is_full = split_id(edit.id()).is_some_and(|(name, _)| self.known.contains_key(name));
        if !is_full || edit.is_deletion() {
            return Ok(());
        }
        let document = snapshot.document(edit.id())?;
        let before = document.as_ref().and_then(|document| document.winner());
        let before = before.map_or(0, |(_, stored)| stored.external);
        if (edit.body().text().len() as u64) < before {
            return Ok(());
        }
        let reason = format!("'{}' exceeds partition limit", edit.id());
        Err(Failure::new(
            FailureKind::Forbidden,
            "partition_overflow",
            reason,
        ))
    }
}
