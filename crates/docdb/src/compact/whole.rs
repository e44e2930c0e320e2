//! Copying everything that one commit shows into an empty file.
//!
//! Documents are walked by sequence, which is about the order in which their bodies stand in the
//! file: workers read and, where that is wanted, recompress the winners' bodies; the calling thread
//! appends them and builds the tree by sequence. Where each body went is sorted by the document's
//! id. A walk by id then brings together revision trees and places, copies what other leaves have,
//! and builds the tree by id. Both trees are built from left to right, and nothing is read twice.

use super::copier::{Copier, Recoder, named};
use super::pipeline::in_order;
use super::sort::{Sorted, Sorter};
use super::{PHASES, Watcher};
use crate::record::fields::{self, Malformed, Reader};
use crate::record::{BY_ID, BY_SEQ, Change, DocumentRecord, LOCAL, PURGES};
use crate::revtree::{Stored, chunk, put_chunk};
use crate::{Changes, DocdbError, Snapshot};
use std::ops::Bound;
use varve_base::Unit;
use varve_btree::{ChunkRef, Direction, EncodedChunk, Item, Loader, Transaction};

/// A worker gets so many documents at once, or fewer if their bodies are long.
const BATCH: usize = 256;
/// Stored bytes of bodies after which a batch is long enough.
const BATCH_BYTES: u64 = 512 << 10;
/// Documents between two looks at whether to stop.
const LOOK: u64 = 256;

/// Copies everything but the header.
pub(super) fn copy(
    from: &Snapshot,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    mut moved: Sorter<'_>,
    watch: &Watcher<'_>,
) -> Result<(), DocdbError> {
    by_sequence(from, txn, copier, &mut moved, watch)?;
    watch.progress.begin(PHASES[1], Unit::Items, None);
    let moved = moved.finish()?;
    by_id(from, txn, copier, moved, watch)?;
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
    Ok(purges.finish(txn)?)
}

/// All items of a tree, as long as nobody says stop.
fn each(
    from: &Snapshot,
    tree: usize,
    watch: &Watcher<'_>,
    mut take: impl FnMut(&Item) -> Result<(), DocdbError>,
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

/// Where a winner's content went.
struct Moved {
    seq: u64,
    body: ChunkRef,
    active: u64,
    attachments: Option<ChunkRef>,
}

impl Moved {
    fn of(change: &Change) -> Moved {
        Moved {
            seq: change.seq,
            body: change.stored.body,
            active: change.stored.active,
            attachments: change.stored.attachments,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        fields::put(self.seq, out);
        put_chunk(self.body, out);
        fields::put(self.active, out);
        if let Some(at) = self.attachments {
            put_chunk(at, out);
        }
    }

    fn decode(bytes: &[u8]) -> Result<Moved, Malformed> {
        let mut reader = Reader::new(bytes);
        Ok(Moved {
            seq: reader.number()?,
            body: chunk(&mut reader)?,
            active: reader.number()?,
            attachments: match reader.is_empty() {
                true => None,
                false => Some(chunk(&mut reader)?),
            },
        })
    }

    fn apply(&self, stored: &Stored) -> Stored {
        Stored {
            body: self.body,
            active: self.active,
            attachments: self.attachments,
            ..stored.clone()
        }
    }
}

/// Changes with the bodies of their winners.
type Ready = (Vec<Change>, Vec<EncodedChunk>);

/// Copies the winners of all documents, and builds the tree by sequence.
fn by_sequence(
    from: &Snapshot,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    moved: &mut Sorter<'_>,
    watch: &Watcher<'_>,
) -> Result<(), DocdbError> {
    let total = from.tree().len(BY_SEQ)?;
    watch.progress.begin(PHASES[0], Unit::Items, Some(total));
    let mut changes = from.changes(0, Direction::Forward)?;
    let recoding = copier.recoding.clone();
    let worker = || {
        let mut recoder = Recoder::new(&recoding)?;
        Ok(move |changes: Vec<Change>| {
            let bodies = recoder.bodies(from, &changes)?;
            Ok((changes, bodies))
        })
    };
    let mut tree = Loader::new(BY_SEQ);
    let (mut value, mut place) = (Vec::new(), Vec::new());
    let take = |(changes, bodies): Ready| {
        watch.check()?;
        watch.progress.advance(changes.len() as u64);
        for (mut change, body) in changes.into_iter().zip(bodies) {
            let copied = copier.with_body(from, txn, &change.stored, &body);
            change.stored = copied.map_err(named(&change.id))?;
            value.clear();
            change.encode(&mut value);
            tree.push(txn, &change.seq.to_be_bytes(), &value)?;
            Moved::of(&change).encode(&mut place);
            moved.push(change.id.as_bytes(), &place)?;
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    in_order(threads, move || batch(&mut changes), worker, take)?;
    Ok(tree.finish(txn)?)
}

/// The next changes; `None` after the last.
fn batch(changes: &mut Changes) -> Result<Option<Vec<Change>>, DocdbError> {
    let (mut batch, mut bytes) = (Vec::with_capacity(BATCH), 0);
    while batch.len() < BATCH && bytes < BATCH_BYTES {
        match changes.next().transpose()? {
            Some(change) => {
                bytes += u64::from(change.stored.body.len);
                batch.push(change);
            }
            None => break,
        }
    }
    Ok((!batch.is_empty()).then_some(batch))
}

/// Builds the tree by id, and copies what leaves besides the winners have.
fn by_id(
    from: &Snapshot,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    mut moved: Sorted,
    watch: &Watcher<'_>,
) -> Result<(), DocdbError> {
    let total = from.tree().len(BY_ID)?;
    watch.progress.begin(PHASES[2], Unit::Items, Some(total));
    let mut tree = Loader::new(BY_ID);
    each(from, BY_ID, watch, |item| {
        let damaged = |_| from.damaged("document", item.key());
        let mut record = from.record(item.key(), item.value())?;
        let winner = match moved.peek() == Some(item.key()) {
            true => moved.take()?,
            false => None,
        };
        let winner = winner.map(|bytes| Moved::decode(&bytes)).transpose();
        let winner = winner.map_err(damaged)?;
        if winner.as_ref().is_none_or(|found| found.seq != record.seq) {
            return Err(from.damaged("change", item.key()));
        }
        let copied = relocate(from, txn, copier, &mut record, winner.as_ref());
        copied.map_err(|error| named(&String::from_utf8_lossy(item.key()))(error))?;
        let value = record.write(txn)?;
        Ok(tree.push(txn, item.key(), &value)?)
    })?;
    match moved.peek() {
        Some(stray) => Err(from.damaged("document", stray)),
        None => Ok(tree.finish(txn)?),
    }
}

/// Gives all leaves of a document their places in the new file.
fn relocate(
    from: &Snapshot,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
    record: &mut DocumentRecord,
    winner: Option<&Moved>,
) -> Result<(), DocdbError> {
    let of_winner = record.tree.winner().map(|leaf| leaf.rev.clone());
    record.move_leaves(|rev, stored| match winner {
        Some(moved) if of_winner.as_ref() == Some(rev) => Ok(moved.apply(stored)),
        _ => copier.stored(from, txn, stored),
    })
}
