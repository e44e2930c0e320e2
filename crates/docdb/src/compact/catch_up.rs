//! Bringing a copy up to a later commit: the changes of each tree since the copied commit.

use super::CompactionMonitor;
use super::copier::{Copier, named};
use super::unreadable::ReadableSource;
use crate::record::{ACCESS, BY_ID, BY_SEQ, Change, DocumentRecord, LOCAL, PURGES};
use crate::{DocdbError, Snapshot};
use varve_btree::{DiffEntry, Transaction, TreeEntry};

/// Items that are applied together, or fewer if they are long.
const BATCH: usize = 4096;
/// Bytes of values after which a batch is long enough.
const BATCH_BYTES: usize = 4 << 20;

/// Changes of a tree: keys with their new values.
type TreeChanges<K> = Vec<(K, Option<Vec<u8>>)>;

/// Copies everything but the header that `from` shows and `copied` did not.
pub(super) fn catch_up(
    from: &Snapshot,
    copied: &Snapshot,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    watch: &CompactionMonitor<'_>,
) -> Result<(), DocdbError> {
    in_batches(from, copied, BY_ID, watch, |batch| {
        documents(from, txn, copier, batch)
    })?;
    in_batches(from, copied, LOCAL, watch, |batch| {
        let mut changes: TreeChanges<&[u8]> = Vec::with_capacity(batch.len());
        for difference in batch {
            let copy = |item: &TreeEntry| copier.local(from, txn, item.key(), item.value());
            let value = difference.after.as_ref().map(copy).transpose()?;
            changes.push((key_of(difference), value));
        }
        Ok(txn.update(LOCAL, &changes)?)
    })?;
    unchanged(from, copied, txn, PURGES, watch)?;
    match from.has_access() {
        true => unchanged(from, copied, txn, ACCESS, watch),
        false => Ok(()),
    }
}

/// Copies a tree whose items name no place in the file.
fn unchanged(
    from: &Snapshot,
    copied: &Snapshot,
    txn: &mut Transaction<'_>,
    tree: usize,
    watch: &CompactionMonitor<'_>,
) -> Result<(), DocdbError> {
    in_batches(from, copied, tree, watch, |batch| {
        let value = |item: &TreeEntry| item.value().to_vec();
        let change = |it: &'_ DiffEntry| it.after.as_ref().map(value);
        let changes: TreeChanges<&[u8]> = batch.iter().map(|it| (key_of(it), change(it))).collect();
        Ok(txn.update(tree, &changes)?)
    })
}

fn key_of(difference: &DiffEntry) -> &[u8] {
    let item = difference.after.as_ref().or(difference.before.as_ref());
    item.map_or(&[], TreeEntry::key)
}

fn in_batches(
    from: &Snapshot,
    copied: &Snapshot,
    tree: usize,
    watch: &CompactionMonitor<'_>,
    mut apply: impl FnMut(&[DiffEntry]) -> Result<(), DocdbError>,
) -> Result<(), DocdbError> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for difference in from.tree().diff(tree, copied.tree())? {
        let difference = difference?;
        bytes += difference
            .after
            .as_ref()
            .map_or(0, |item| item.value().len());
        batch.push(difference);
        if batch.len() >= BATCH || bytes >= BATCH_BYTES {
            watch.check()?;
            apply(&batch)?;
            batch.clear();
            bytes = 0;
        }
    }
    apply(&batch)
}

/// Documents that were made, edited or purged.
fn documents(
    from: &Snapshot,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    batch: &[DiffEntry],
) -> Result<(), DocdbError> {
    let keys: Vec<&[u8]> = batch.iter().map(key_of).collect();
    let found = txn.get_many(BY_ID, &keys)?;
    let mut by_id: TreeChanges<&[u8]> = Vec::with_capacity(batch.len());
    let mut by_seq: TreeChanges<[u8; 8]> = Vec::with_capacity(2 * batch.len());
    for (difference, found) in batch.iter().zip(found) {
        let key = key_of(difference);
        let new = difference.after.as_ref();
        let new = new.map(|item| from.record(key, item.value())).transpose()?;
        let read = |at, out: &mut Vec<u8>| txn.read_chunk(at, out);
        let old = found.map(|item| DocumentRecord::decode(item.value(), read));
        let old = old.transpose()?.transpose();
        let old = old.map_err(|_| from.damaged("document", key))?;
        let old_seq = old.as_ref().map(|old| old.seq);
        if let Some(seq) = old_seq.filter(|seq| new.as_ref().is_none_or(|new| new.seq != *seq)) {
            by_seq.push((seq.to_be_bytes(), None));
        }
        let Some(mut new) = new else {
            by_id.push((key, None));
            continue;
        };
        let id = std::str::from_utf8(key).map_err(|_| from.damaged("id", key))?;
        let copied = relocate(
            ReadableSource { from, id },
            txn,
            copier,
            &mut new,
            old.as_ref(),
        );
        copied.map_err(named(id))?;
        by_id.push((key, Some(new.write(txn)?)));
        if let Some(change) = Change::of(id, new.seq, &new.tree) {
            let mut value = Vec::new();
            change.encode(&mut value);
            by_seq.push((new.seq.to_be_bytes(), Some(value)));
        }
    }
    by_seq.sort_unstable_by_key(|(seq, _)| *seq);
    txn.update(BY_ID, &by_id)?;
    Ok(txn.update(BY_SEQ, &by_seq)?)
}

/// Gives all leaves of a document their places in the new file, which has some of them already.
fn relocate(
    source: ReadableSource<'_>,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    record: &mut DocumentRecord,
    copied: Option<&DocumentRecord>,
) -> Result<(), DocdbError> {
    record.move_leaves(|rev, stored| {
        let known = copied.and_then(|copied| copied.tree.find(rev));
        // A revision's content never changes.
        match known.and_then(|known| known.stored.as_ref()) {
            Some(known) => Ok(known.clone()),
            None => copier.stored(source, txn, stored),
        }
    })
}
