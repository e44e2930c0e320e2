//! Documents that were purged leave no change behind; the purges tell which they are.

use super::rows::{Batch, Mapping};
use super::write::Writer;
use super::{BuildContext, batch_size};
use crate::ViewError;
use crate::header::IndexHeader;
use crate::index::ViewIndex;
use varve_docdb::Snapshot;

/// Removes the rows of documents that were purged since the index was built, and are not there any
/// more. Those of which something is left have a change. Returns `false`, with the index as it
/// was, if the database does not remember all of these purges.
pub(crate) fn forget(
    index: &ViewIndex,
    documents: &Snapshot,
    state: &mut IndexHeader,
    context: &BuildContext<'_>,
) -> Result<bool, ViewError> {
    if state.purge_seq >= documents.purge_seq() {
        return Ok(true);
    }
    let (mut ids, mut next) = (Vec::new(), state.purge_seq + 1);
    for purge in documents.purges(state.purge_seq)? {
        let purge = purge?;
        if purge.seq != next {
            return Ok(false);
        }
        next += 1;
        ids.push(purge.id);
    }
    if next <= documents.purge_seq() {
        return Ok(false);
    }
    let found = documents.documents(&ids)?;
    let mut found = found.iter();
    ids.retain(|_| found.next().is_some_and(Option::is_none));
    let mut writer = Writer::new(index, false);
    let mut forgotten = ids.chunks(batch_size(&index.group)).peekable();
    while let Some(some) = forgotten.next() {
        if forgotten.peek().is_none() {
            state.purge_seq = documents.purge_seq();
        }
        let changes = Vec::new();
        let mut run = Mapping::begin(Batch { number: 0, changes }, index.group.maps().len()).end();
        run.ids = some.to_vec();
        writer.write(&[run], *state, context)?;
    }
    state.purge_seq = documents.purge_seq();
    Ok(true)
}
