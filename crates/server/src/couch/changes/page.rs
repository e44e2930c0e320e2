//! Changes for readers within the server: as they are stored, without a text.

use super::filter_index::FilterIndex;
use super::options::ChangesOptions;
use super::sequence::{Since, write_sequence};
use super::{Cursor, Filter};
use crate::Failure;
use crate::couch::call::Call;
use varve_docdb::{Snapshot, WantedLeaves};
use varve_json::Value;

/// Some changes of one commit.
#[derive(Debug)]
pub(crate) struct StoredChanges {
    /// The commit.
    pub(crate) snapshot: Snapshot,
    /// Those that passed the filter, with the leaves that did.
    pub(crate) passed: Vec<WantedLeaves>,
    /// The sequence that they reach up to, as clients see it.
    pub(crate) last_seq: Value,
    /// Changes behind that.
    pub(crate) pending: u64,
}

/// Reads the changes that a request for a normal feed would have in its answer. `pause` is called now and then; what it
/// fails with ends the reading.
///
/// # Errors
/// As [`begin`](super::begin), and those of the filter.
pub(crate) fn read(
    call: &Call,
    mut pause: impl FnMut() -> Result<(), Failure>,
) -> Result<StoredChanges, Failure> {
    let incarnation = &call.database.incarnation;
    let options = ChangesOptions::parse(
        &call.request,
        incarnation,
        call.app.settings().requests.changes_timeout,
    )?;
    let filter = Filter::load(call, &options.filter)?;
    let mut index = FilterIndex::of(call, &filter);
    if let Some(index) = &mut index {
        index.look_up();
    }
    let snapshot = call.snapshot();
    let since = match options.since {
        Since::Update(update) | Since::Number(update) => update,
        Since::Now => snapshot.last_seq()?,
    };
    let looked_at = call.app.server().metrics.feed_changes.clone();
    let mut cursor = Cursor::new(since, (filter, index), &options, incarnation, looked_at);
    let mut passed = Vec::new();
    while cursor.collect(&snapshot, &mut passed)? {
        pause()?;
    }
    let mut last_seq = Vec::new();
    write_sequence(cursor.since(), incarnation, &mut last_seq);
    Ok(StoredChanges {
        last_seq: varve_json::parse(&last_seq)?,
        pending: cursor.pending(&snapshot)?,
        passed,
        snapshot,
    })
}
