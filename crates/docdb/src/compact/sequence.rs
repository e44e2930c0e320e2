//! Copying the winners of all documents in the order of their last updates.

use super::checkpoint::Steps;
use super::copier::{Copier, Recoder, Recoding, named};
use super::pipeline::in_order;
use super::sort::Sorter;
use super::unreadable::ReadableSource;
use super::{CompactionMonitor, relocations};
use crate::record::{BY_SEQ, Change};
use crate::revtree::Stored;
use crate::{Changes, DocdbError, Snapshot};
use std::collections::HashSet;
use varve_btree::{Direction, EncodedChunk, Loader, Transaction, TreeError};

/// A worker gets so many documents at once, or fewer if their bodies are long.
const BATCH: usize = 128;
/// Stored bytes of bodies after which a batch is long enough.
const BATCH_BYTES: u64 = 256 << 10;
/// So many pieces of attachments are known to be read; past that, some are read again.
const REMEMBERED: usize = 1 << 17;

/// Changes with the bodies of their winners, where these can be read.
type Ready = (Vec<Change>, Vec<Option<EncodedChunk>>);

/// Copies them behind those that were copied before, and builds the tree by sequence.
pub(super) fn by_sequence<'f>(
    from: &Snapshot,
    mut txn: Transaction<'f>,
    copier: &mut Copier,
    (steps, moved): (&mut Steps<'f>, &mut Sorter<'_>),
    watch: &CompactionMonitor<'_>,
) -> Result<Transaction<'f>, DocdbError> {
    let recoding = copier.recoding.clone();
    let mut changes = from.changes(steps.seq(), Direction::Forward)?;
    let mut loading = Loading {
        tree: Loader::resume(BY_SEQ, &txn)?,
        from,
        copier,
        moved,
        watch,
        value: Vec::new(),
    };
    loop {
        let mut slice = Slice {
            changes: &mut changes,
            left: steps.every,
            last: None,
            is_last: false,
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let worker = || worker(from, &recoding);
        in_order(
            threads,
            || slice.batch(),
            worker,
            |ready| loading.take(&mut txn, ready),
        )?;
        let is_short = slice.is_last && slice.left > 0 && steps.seq() == 0;
        let (is_last, last) = (slice.is_last, slice.last);
        // A resumed compaction would not know the unreadable parts that this one has met.
        let is_readable = loading.copier.unreadable.is_empty();
        if let Some(last) = last.filter(|_| !is_short && is_readable) {
            loading.tree.pause(&mut txn)?;
            txn = steps.step(txn, last)?;
        }
        if is_last {
            loading.tree.finish(&mut txn)?;
            return Ok(txn);
        }
    }
}

/// Tells where those went that an earlier compaction has copied. All of it is read once more: later damage on the disk
/// is an error, so that it does not come into the database while the old file still has it whole.
pub(super) fn remember(
    copy: &Snapshot,
    moved: &mut Sorter<'_>,
    watch: &CompactionMonitor<'_>,
) -> Result<(), DocdbError> {
    for record in &copy.header().dictionaries {
        record.chunk(copy.tree())?;
    }
    let mut changes = copy.changes(0, Direction::Forward)?;
    let (mut place, mut batch) = (Vec::new(), Vec::with_capacity(BATCH));
    let mut known = HashSet::new();
    loop {
        batch.clear();
        for change in changes.by_ref().take(BATCH) {
            let change = change?;
            relocations::push(&change, &mut place, moved)?;
            batch.push(change.stored);
        }
        if batch.is_empty() {
            return Ok(());
        }
        watch.check()?;
        check(copy, &batch, &mut known)?;
        watch.progress.advance(batch.len() as u64);
    }
}

/// Reads contents of the copy: bodies, lists of attachments, and the pieces of these, of which many
/// documents may have the same. `known` is where such pieces stand as were read already.
fn check(copy: &Snapshot, contents: &[Stored], known: &mut HashSet<u64>) -> Result<(), DocdbError> {
    let mut places = Vec::with_capacity(contents.len());
    for stored in contents {
        places.push(stored.body);
        places.extend(stored.attachments);
        let records = copy.attachments(stored)?.into_iter();
        let pieces = records.flat_map(|record| record.chunks);
        places.extend(pieces.filter(|piece| known.insert(piece.offset)));
        if known.len() > REMEMBERED {
            known.clear();
        }
    }
    copy.tree()
        .visit_stored(&places, &mut |_, _| Ok::<_, TreeError>(()))?;
    Ok(())
}

/// Reads and, where that is wanted, recompresses bodies.
fn worker(
    from: &Snapshot,
    recoding: &Recoding,
) -> Result<impl FnMut(Vec<Change>) -> Result<Ready, DocdbError>, DocdbError> {
    let mut recoder = Recoder::new(recoding)?;
    Ok(move |changes: Vec<Change>| {
        let bodies = recoder.bodies(from, &changes)?;
        Ok((changes, bodies))
    })
}

/// State of the calling thread, which appends the copied changes.
struct Loading<'l, 's> {
    tree: Loader,
    from: &'l Snapshot,
    copier: &'l mut Copier,
    moved: &'l mut Sorter<'s>,
    watch: &'l CompactionMonitor<'l>,
    value: Vec<u8>,
}

impl Loading<'_, '_> {
    fn take(
        &mut self,
        txn: &mut Transaction<'_>,
        (changes, bodies): Ready,
    ) -> Result<(), DocdbError> {
        self.watch.check()?;
        self.watch.progress.advance(changes.len() as u64);
        for (mut change, body) in changes.into_iter().zip(bodies) {
            let (from, id) = (self.from, &change.id);
            let source = ReadableSource { from, id };
            let copied = self
                .copier
                .with_body(source, txn, &change.stored, body.as_ref());
            change.stored = copied.map_err(named(id))?;
            self.value.clear();
            change.encode(&mut self.value);
            self.tree
                .push(txn, &change.seq.to_be_bytes(), &self.value)?;
            relocations::push(&change, &mut self.value, self.moved)?;
        }
        Ok(())
    }
}

/// Changes of one step.
struct Slice<'s> {
    changes: &'s mut Changes,
    /// Bytes that may still be taken.
    left: u64,
    /// The sequence of the last one that was.
    last: Option<u64>,
    /// Whether there are no more behind them.
    is_last: bool,
}

impl Slice<'_> {
    /// The next changes; `None` after the last.
    fn batch(&mut self) -> Result<Option<Vec<Change>>, DocdbError> {
        let (mut batch, mut bytes) = (Vec::with_capacity(BATCH), 0);
        while batch.len() < BATCH && bytes < BATCH_BYTES && self.left > 0 {
            let Some(change) = self.changes.next().transpose()? else {
                self.is_last = true;
                break;
            };
            bytes += u64::from(change.stored.body.len);
            self.left = self.left.saturating_sub(change.stored.active.max(1));
            self.last = Some(change.seq);
            batch.push(change);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }
}
