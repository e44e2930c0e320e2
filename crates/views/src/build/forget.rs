//! Documents that were purged leave no change behind; the purges tell which they are.

use super::BuildContext;
use super::rows::{Entries, Mapped};
use super::write::Writer;
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
    state.purge_seq = documents.purge_seq();
    let run = [Mapped {
        number: 0,
        last_seq: state.seq,
        ids,
        documents: Entries::default(),
        rows: index
            .group
            .maps()
            .iter()
            .map(|_| Entries::default())
            .collect(),
    }];
    Writer::new(index, false).write(&run, *state, context)?;
    Ok(true)
}
