//! Writing once more the data that stands where holes are to be.
//!
//! Each step is a commit of its own between those of others. References that documents got by such commits are looked
//! at in rounds, the last of them while writers wait; from then on no reader may take anything over from an older
//! commit, so nothing can refer to a hole any more.

use super::documents::Pieces;
use super::regions::Regions;
use super::usage::{local, overlaps_hole};
use crate::bodies::BodyCodec;
use crate::compact::{CompactionMonitor, PHASES, Recoder, Recoding};
use crate::database::Database;
use crate::record::{BY_ID, Header, LOCAL, LocalBody, LocalRecord, append_twice};
use crate::{DocdbError, Snapshot};
use std::ops::Bound;
use std::sync::Arc;
use varve_base::Unit;
use varve_btree::{Direction, Transaction, TreeFile};

/// Documents of one commit: writers wait for it.
const BATCH: usize = 64;
/// Bytes of nodes of one commit.
const NODES: u64 = 256 << 10;
/// Rounds after which writers wait even for more changes.
const ROUNDS: usize = 12;
/// The work under way.
pub(super) struct Relocation<'m> {
    database: &'m Database,
    watch: &'m CompactionMonitor<'m>,
    pub(super) regions: &'m mut Regions,
    method: &'m BodyCodec,
    pub(super) recoder: Recoder,
    pub(super) pieces: Pieces,
}

impl<'m> Relocation<'m> {
    pub(super) fn new(
        watch: &'m CompactionMonitor<'m>,
        regions: &'m mut Regions,
        method: &'m BodyCodec,
        from: &Snapshot,
    ) -> Result<Self, DocdbError> {
        let known = from.header().dictionaries.iter();
        let kept = known.map(|record| record.number).collect();
        let recoding = Recoding::new(Some(method.setting), method.clone(), kept);
        Ok(Relocation {
            database: watch.database,
            watch,
            regions,
            method,
            recoder: Recoder::new(&recoding)?,
            pieces: Pieces::default(),
        })
    }

    /// Moves everything; `from` is the commit that the regions were made of.
    pub(super) fn run(mut self, from: Snapshot) -> Result<(), DocdbError> {
        let total = from.tree().len(BY_ID)?;
        let progress = self.watch.progress;
        progress.begin(PHASES[2], Unit::Items, Some(total));
        let mut seen = from.update_seq();
        self.known_documents(&from)?;
        drop(from);
        self.locals()?;
        self.step(&mut |this, base, txn, header| this.headers(base, txn, header))?;
        self.nodes()?;
        for _ in 0..ROUNDS {
            let newest = self.database.snapshot();
            let changed = newest.count_changes(seen)?;
            if changed <= BATCH as u64 {
                break;
            }
            self.changed_documents(&newest, seen)?;
            seen = newest.update_seq();
        }
        self.step(&mut |this, base, txn, _| {
            let ids = base.changes(seen, Direction::Forward)?;
            let ids: Vec<_> = ids
                .map(|change| Ok(change?.id.into_bytes()))
                .collect::<Result<_, DocdbError>>()?;
            this.documents(base, txn, &ids)?;
            txn.refuse_older();
            Ok(true)
        })
    }

    /// A commit of its own, if `work` says that there is something to be committed.
    fn step(&mut self, work: &mut Work<'_, 'm>) -> Result<(), DocdbError> {
        self.watch.check()?;
        let database = self.database;
        database.write(|file: &Arc<TreeFile>, mut txn| {
            let base = Snapshot::new(txn.base().clone(), database.path())?;
            txn.compress_nodes_by(self.method.setting)?;
            let mut header = base.header().clone();
            if !work(self, &base, &mut txn, &mut header)? {
                return Ok(());
            }
            header.chunk_stats = header
                .chunk_stats
                .map(|chunk_stats| chunk_stats.plus(txn.chunk_stats()));
            txn.set_user_header(&header.encode());
            let snapshot = Snapshot::new(txn.commit()?, database.path())?;
            database.publish(file, snapshot);
            Ok(())
        })
    }

    /// All documents of a commit.
    fn known_documents(&mut self, from: &Snapshot) -> Result<(), DocdbError> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut batch = Vec::new();
        for item in from.tree().range(BY_ID, all, Direction::Forward)? {
            let item = item?;
            let record = from.record(item.key(), item.value())?;
            self.watch.progress.advance(1);
            if overlaps_hole(from, &record, self.regions)? {
                batch.push(item.key().to_vec());
            }
            self.full(&mut batch, BATCH)?;
        }
        self.full(&mut batch, 1)
    }

    /// All documents that were changed since a sequence.
    fn changed_documents(&mut self, of: &Snapshot, since: u64) -> Result<(), DocdbError> {
        let mut batch = Vec::new();
        for change in of.changes(since, Direction::Forward)? {
            batch.push(change?.id.into_bytes());
            self.full(&mut batch, BATCH)?;
        }
        self.full(&mut batch, 1)
    }

    /// Moves documents once there are so many.
    fn full(&mut self, batch: &mut Vec<Vec<u8>>, most: usize) -> Result<(), DocdbError> {
        if batch.len() < most {
            return Ok(());
        }
        batch.sort_unstable();
        self.step(&mut |this, base, txn, _| this.documents(base, txn, batch))?;
        batch.clear();
        Ok(())
    }

    /// Moves bodies of local documents. Those that are written meanwhile stand behind all holes.
    fn locals(&mut self) -> Result<(), DocdbError> {
        let newest = self.database.snapshot();
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut batch: Vec<Vec<u8>> = Vec::new();
        for item in newest.tree().range(LOCAL, all, Direction::Forward)? {
            let item = item?;
            let body = local(&newest, item.key(), item.value())?;
            if body.is_some_and(|at| self.regions.has_hole_at(at)) {
                batch.push(item.key().to_vec());
            }
        }
        for batch in batch.chunks(BATCH) {
            self.step(&mut |this, base, txn, _| this.local_bodies(base, txn, batch))?;
        }
        Ok(())
    }

    fn local_bodies(
        &mut self,
        base: &Snapshot,
        txn: &mut Transaction<'_>,
        keys: &[Vec<u8>],
    ) -> Result<bool, DocdbError> {
        let mut changes = Vec::new();
        for item in txn.get_many(LOCAL, keys)?.into_iter().flatten() {
            let record = LocalRecord::decode(item.value());
            let mut record = record.map_err(|_| base.damaged("local document", item.key()))?;
            let LocalBody::Chunk(at) = record.body else {
                continue;
            };
            let chunk = self.recoder.one(base, at)?;
            record.body = LocalBody::Chunk(txn.append_chunk(&chunk)?);
            let mut value = Vec::new();
            record.encode(&mut value);
            changes.push((item.key().to_vec(), Some(value)));
        }
        txn.update(LOCAL, &changes)?;
        Ok(!changes.is_empty())
    }

    /// Moves the chunks that the header refers to.
    fn headers(
        &mut self,
        base: &Snapshot,
        txn: &mut Transaction<'_>,
        header: &mut Header,
    ) -> Result<bool, DocdbError> {
        let mut is_changed = false;
        if let Some(at) = header.security.filter(|at| self.regions.has_hole_at(*at)) {
            header.security = Some(txn.append_chunk(&self.recoder.one(base, at)?)?);
            is_changed = true;
        }
        for record in &mut header.dictionaries {
            if self.regions.has_hole_at(record.place) || self.regions.has_hole_at(record.copy()) {
                record.place = append_twice(txn, &record.chunk(base.tree())?)?;
                is_changed = true;
            }
        }
        Ok(is_changed)
    }

    fn nodes(&mut self) -> Result<(), DocdbError> {
        for tree in 0..self.database.snapshot().header().trees() {
            let mut from: Option<Vec<u8>> = None;
            loop {
                self.step(&mut |this, _, txn, _| {
                    let is_moved = |at| this.regions.has_hole_at(at);
                    let before = *txn.chunk_stats();
                    from = txn.move_nodes(tree, &is_moved, from.as_deref(), NODES)?;
                    Ok(*txn.chunk_stats() != before)
                })?;
                self.watch.progress.advance(0);
                if from.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The changes of one transaction, with its base and the header that it commits; returns whether it changed anything.
type Work<'w, 'm> = dyn FnMut(
        &mut Relocation<'m>,
        &Snapshot,
        &mut Transaction<'_>,
        &mut Header,
    ) -> Result<bool, DocdbError>
    + 'w;
