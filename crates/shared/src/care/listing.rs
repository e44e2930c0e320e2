//! The logs of a store.

use crate::error::SharedError;
use crate::format::LogKeys;
use crate::store::ObjectStore;
use std::collections::BTreeMap;
use std::time::Duration;

/// One log of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSummary {
    /// Its name.
    pub log: String,
    /// Records that are there; those before old checkpoints may have been removed.
    pub records: u64,
    /// Length of all of its objects together.
    pub bytes: u64,
    /// Time since 1970 at which the last object was created.
    pub modified: Duration,
}

/// All logs of a store, by name.
///
/// # Errors
/// Errors of the store.
pub fn list_logs(store: &dyn ObjectStore) -> Result<Vec<LogSummary>, SharedError> {
    let mut found: BTreeMap<String, LogSummary> = BTreeMap::new();
    let objects = store.list("")?;
    for object in &objects {
        let Some(log) = LogKeys::log_of_record(&object.key) else {
            continue;
        };
        let new = || LogSummary {
            log: log.to_owned(),
            records: 0,
            bytes: 0,
            modified: Duration::ZERO,
        };
        found.entry(log.to_owned()).or_insert_with(new).records += 1;
    }
    for object in &objects {
        let Some(log) = LogKeys::log_of(&object.key) else {
            continue;
        };
        if let Some(summary) = found.get_mut(log) {
            summary.bytes += object.len;
            summary.modified = summary.modified.max(object.modified);
        }
    }
    Ok(found.into_values().collect())
}
