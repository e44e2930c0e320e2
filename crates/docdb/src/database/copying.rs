//! Revisions of another database of this process: prepared on the requester's thread, written by the writer's.

use super::Uploaded;
use super::{Database, Run};
use crate::edit::{Content, Prepared, PreparedAttachment};
use crate::write::{Callback, Job, Outcomes};
use crate::{DocdbError, Edit, EditOutcome, MissingLeaf, Snapshot};
use varve_btree::{ChunkRef, Transaction};

/// Longer attachments, in bytes, go into the file before their document, so that no other edit waits for them.
const LONG: u64 = 8 << 20;
/// Bytes of a long attachment that go into the file at a time.
const SLICE: u64 = 8 << 20;

/// With fewer leaves at a time a dictionary is not taken over,
const FEWEST: usize = 200;
/// nor for less than so many times the bytes that it takes itself.
const WORTH: u64 = 4;

/// Leaves of another database with everything done for them that needs no writer.
#[derive(Debug)]
pub struct ReadyCopies(Vec<Prepared>);

impl Database {
    /// Does everything for leaves of `source` that needs no writer; bodies are taken over as they are stored where both
    /// databases compress alike. Outcomes will have the order of the leaves.
    ///
    /// # Errors
    /// Damage; errors of the storage.
    pub fn prepare_copies(
        &self,
        source: &Snapshot,
        leaves: Vec<MissingLeaf>,
    ) -> Result<ReadyCopies, DocdbError> {
        self.adopt_dictionary(source, &leaves)?;
        let snapshot = self.snapshot();
        let method = self.body_codec_of(&snapshot);
        let preparer = &self.shared.preparer;
        let mut prepared = preparer.prepare_copies((source, leaves), &method, &snapshot)?;
        let attachments = prepared.iter_mut().filter(|edit| edit.refused.is_none());
        let attachments = attachments.flat_map(|edit| &mut edit.attachments);
        let is_long = |one: &&mut PreparedAttachment| one.record.stored_length > LONG;
        for attachment in attachments.filter(is_long) {
            // One of the target's own has its place.
            if attachment.runs.iter().all(|run| run.is_foreign) {
                let placed = self.place(source, &attachment.record.chunks)?;
                (attachment.record.chunks, attachment.runs) = placed;
            }
        }
        Ok(ReadyCopies(prepared))
    }

    /// Writes leaves; `done` is called with their outcomes, on another thread; it must be short. It is dropped if the
    /// last handle of the database is.
    pub fn copy_later(
        &self,
        leaves: ReadyCopies,
        done: impl FnOnce(Result<Vec<EditOutcome>, DocdbError>) + Send + 'static,
    ) {
        let call: Callback<Outcomes> = Box::new(done);
        self.submit_later(Job::Edits(leaves.0), call);
    }

    /// Brings the data of long attachments of another database into the file, before the edit that has them.
    ///
    /// # Errors
    /// Damage; errors of the storage.
    pub fn place_long(&self, edit: &mut Edit) -> Result<(), DocdbError> {
        for attachment in &mut edit.attachments {
            let Content::Foreign(record, source) = &attachment.content else {
                continue;
            };
            let limit = self.shared.options.current_limits().attachment;
            if record.stored_length <= LONG || record.stored_length > limit {
                continue;
            }
            let (places, runs) = self.place(source, &record.chunks)?;
            attachment.content = Content::Uploaded(Box::new(Uploaded {
                md5: record.md5,
                is_gzip: record.is_gzip,
                length: record.length,
                stored_length: record.stored_length,
                places,
                runs,
                rest: Vec::new(),
            }));
        }
        Ok(())
    }

    /// Copies pieces of another database's file, some at a time.
    fn place(
        &self,
        source: &Snapshot,
        mut pieces: &[ChunkRef],
    ) -> Result<(Vec<ChunkRef>, Vec<Run>), DocdbError> {
        let (mut all, mut runs) = (Vec::with_capacity(pieces.len()), Vec::new());
        while !pieces.is_empty() {
            let (slice, rest) = pieces.split_at(slice_len(pieces));
            let (places, snapshot) = self.append_unreferenced(|txn| {
                let copy = |piece: &ChunkRef| {
                    let chunk = source.tree().stored_chunk(*piece)?;
                    Ok(txn.append_chunk(&chunk)?)
                };
                slice
                    .iter()
                    .map(copy)
                    .collect::<Result<Vec<_>, DocdbError>>()
            })?;
            all.extend(places);
            runs.push(Run {
                since: snapshot.clone(),
                source: snapshot,
                count: slice.len(),
                is_foreign: false,
            });
            pieces = rest;
        }
        Ok((all, runs))
    }

    /// Appends chunks that nothing refers to yet. They become durable with the commit that does.
    pub(super) fn append_unreferenced<T>(
        &self,
        append: impl FnOnce(&mut Transaction<'_>) -> Result<T, DocdbError>,
    ) -> Result<(T, Snapshot), DocdbError> {
        self.write(|file, mut txn| {
            let appended = append(&mut txn)?;
            let mut header = Snapshot::new(txn.base().clone(), &self.shared.path)?
                .header()
                .clone();
            header.chunk_stats = header
                .chunk_stats
                .map(|chunk_stats| chunk_stats.plus(txn.chunk_stats()));
            txn.set_user_header(&header.encode());
            let snapshot = Snapshot::new(txn.commit_unsynced()?, &self.shared.path)?;
            self.publish(file, snapshot.clone());
            Ok((appended, snapshot))
        })
    }

    /// Gives a database without a dictionary that of `source`, if both compress alike: bodies can then be taken over as
    /// they are stored. The number stays, because bodies name the dictionary by it.
    fn adopt_dictionary(
        &self,
        source: &Snapshot,
        leaves: &[MissingLeaf],
    ) -> Result<(), DocdbError> {
        let ours = self.snapshot();
        let method = self.body_codec_of(&ours);
        let theirs = source.header().dictionaries.last();
        let Some(record) = theirs.filter(|_| source.header().setting == Some(method.setting))
        else {
            return Ok(());
        };
        // It is stored twice.
        let worth = 2 * u64::from(record.place.len) * WORTH;
        let bytes = leaves.iter().map(|leaf| leaf.stored.external);
        if leaves.len() < FEWEST || bytes.fold(0, u64::saturating_add) < worth {
            return Ok(());
        }
        let dictionary = source.tree().dictionary(record.number);
        let Some(dictionary) = dictionary.filter(|_| ours.header().dictionaries.is_empty()) else {
            return Ok(());
        };
        match self.shared.training.adopt(record, dictionary) {
            true => self.submit(Job::Dictionary).map(drop),
            false => Ok(()),
        }
    }
}

/// How many of the pieces are appended together; at least one.
fn slice_len(pieces: &[ChunkRef]) -> usize {
    let mut sum = 0;
    let fits = |piece: &&ChunkRef| {
        sum += u64::from(piece.len);
        sum <= SLICE
    };
    pieces.iter().take_while(fits).count().max(1)
}
