//! One file of a log, without the others.

use super::import::{End, end_of};
use super::log;
use crate::error::SharedError;
use crate::log::{LogId, LogOptions};
use crate::storage::SegmentReader;
use crate::store::ObjectStore;
use std::path::Path;
use std::sync::Arc;

/// Result of [`peek`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peeked {
    /// There is no such file.
    Absent,
    /// Its bytes.
    File(Vec<u8>),
    /// Some of its bytes are in records only, so that the log must be opened for them.
    InRecords,
}

/// Reads a file at the end of a log from its segments: one GET for each of them and for each record since the last checkpoint.
/// Files of more than `limit` bytes count as [`Peeked::InRecords`].
///
/// # Errors
/// Damage, errors of the store.
pub fn peek(
    store: &Arc<dyn ObjectStore>,
    id: &LogId,
    options: &LogOptions,
    (path, limit): (&Path, u64),
) -> Result<Peeked, SharedError> {
    let log = log(store, None, id, options);
    let End { table, .. } = end_of(&log)?;
    let Some(file) = table.file_at(path) else {
        return Ok(Peeked::Absent);
    };
    if file.sealed != file.len || file.len > limit {
        return Ok(Peeked::InRecords);
    }
    let (mut segments, mut bytes) = (SegmentReader::default(), Vec::new());
    for run in &file.runs {
        let range = (run.offset, run.len);
        let by = id.to_string();
        bytes.extend_from_slice(segments.range(&log, &run.segment, range, &by)?);
    }
    Ok(Peeked::File(bytes))
}
