//! Copying everything that one commit shows into an empty file.
//!
//! Documents are walked by sequence ([`sequence`](super::sequence)), which is about the order in which their bodies
//! stand in the file: workers read and, where that is wanted, recompress the winners' bodies; the calling thread
//! appends them and builds the tree by sequence. The new places of the bodies are sorted by the document's id. A walk
//! by id then brings together revision trees and places, copies the bodies of other leaves, and builds the tree by id.
//! Both trees are built from left to right, and nothing is read twice.

use super::checkpoint::Steps;
use super::copier::{Copier, named};
use super::relocations::{RelocatedWinner, Relocations};
use super::sequence::{by_sequence, remember};
use super::sort::Sorter;
use super::unreadable::ReadableSource;
use super::{CompactionMonitor, PHASES};
use crate::record::{ACCESS, BY_ID, BY_SEQ, DocumentRecord, LOCAL, PURGES};
use crate::{DocdbError, Snapshot};
use std::ops::Bound;
use varve_base::Unit;
use varve_btree::{Direction, Loader, Transaction, TreeEntry};

/// Documents between two looks at whether to stop.
const LOOK: u64 = 128;

/// Copies everything but the header. `begun` is the state that an earlier compaction has reached.
pub(super) fn copy<'f>(
    (from, begun): (&Snapshot, Option<&Snapshot>),
    txn: Transaction<'f>,
    copier: &mut Copier,
    (steps, mut moved): (&mut Steps<'f>, Sorter<'_>),
    watch: &CompactionMonitor<'_>,
) -> Result<Transaction<'f>, DocdbError> {
    let total = from.tree().len(BY_SEQ)?;
    watch.progress.begin(PHASES[0], Unit::Items, Some(total));
    if let Some(begun) = begun {
        let remembered = remember(begun, &mut moved, watch);
        remembered.map_err(DocdbError::of_copy)?;
    }
    let mut txn = by_sequence(from, txn, copier, (steps, &mut moved), watch)?;
    watch.progress.begin(PHASES[1], Unit::Items, None);
    let relocations = Relocations::new(from, moved.finish()?, steps.is_resumed);
    let to = &mut txn;
    by_id(from, to, copier, relocations, watch)?;
    rest(from, to, copier, watch)?;
    Ok(txn)
}

/// Copies the records that belong to no document.
fn rest(
    from: &Snapshot,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    watch: &CompactionMonitor<'_>,
) -> Result<(), DocdbError> {
    let mut locals = Loader::new(LOCAL);
    each(from, LOCAL, watch, |item| {
        let value = copier.local(from, txn, item.key(), item.value())?;
        Ok(locals.push(txn, item.key(), &value)?)
    })?;
    locals.finish(txn)?;
    let mut purges = Loader::new(PURGES);
    each(from, PURGES, watch, |item| {
        Ok(purges.push(txn, item.key(), item.value())?)
    })?;
    purges.finish(txn)?;
    if !from.has_access() {
        return Ok(());
    }
    let mut access = Loader::new(ACCESS);
    each(from, ACCESS, watch, |item| {
        Ok(access.push(txn, item.key(), item.value())?)
    })?;
    Ok(access.finish(txn)?)
}

/// All items of a tree, until the interrupt is raised.
fn each(
    from: &Snapshot,
    tree: usize,
    watch: &CompactionMonitor<'_>,
    mut take: impl FnMut(&TreeEntry) -> Result<(), DocdbError>,
) -> Result<(), DocdbError> {
    let all = (Bound::Unbounded, Bound::Unbounded);
    let items = from.tree().range(tree, all, Direction::Forward)?;
    for (number, item) in (1_u64..).zip(items) {
        if number.is_multiple_of(LOOK) {
            watch.check()?;
            watch.progress.advance(LOOK);
        }
        take(&item?)?;
    }
    Ok(())
}

/// Builds the tree by id, and copies the content of leaves besides the winners.
fn by_id(
    from: &Snapshot,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    mut relocations: Relocations<'_>,
    watch: &CompactionMonitor<'_>,
) -> Result<(), DocdbError> {
    let total = from.tree().len(BY_ID)?;
    watch.progress.begin(PHASES[2], Unit::Items, Some(total));
    let mut tree = Loader::new(BY_ID);
    each(from, BY_ID, watch, |item| {
        let mut record = from.record(item.key(), item.value())?;
        let winner = relocations.of(item.key(), record.seq, txn)?;
        let id = &String::from_utf8_lossy(item.key());
        let copied = relocate(
            ReadableSource { from, id },
            txn,
            copier,
            &mut record,
            &winner,
        );
        copied.map_err(named(id))?;
        let value = record.write(txn)?;
        Ok(tree.push(txn, item.key(), &value)?)
    })?;
    relocations.finish(txn)?;
    Ok(tree.finish(txn)?)
}

/// Gives all leaves of a document their places in the new file.
fn relocate(
    source: ReadableSource<'_>,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    record: &mut DocumentRecord,
    winner: &RelocatedWinner,
) -> Result<(), DocdbError> {
    let of_winner = record.tree.winner().map(|leaf| leaf.rev.clone());
    record.move_leaves(|rev, stored| match of_winner.as_ref() == Some(rev) {
        true => Ok(winner.apply(stored)),
        false => copier.stored(source, txn, stored),
    })
}
