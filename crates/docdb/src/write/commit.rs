//! One commit: all jobs of a group in one transaction.

use super::copied::CopiedPieces;
use super::documents::Documents;
use crate::bodies::BodyCodec;
use crate::edit::{EditOutcome, Prepared};
use crate::record::{BY_ID, BY_SEQ, Header, LOCAL, append_twice};
use crate::training::{self, Trained};
use crate::{DocdbError, Snapshot};
use std::collections::BTreeMap;
use varve_btree::{ChunkRef, EncodedChunk, Transaction, TreeError};
use varve_codec::{CodecId, Compressor, EngineSetting};

/// Change that one requester wants.
#[derive(Debug)]
pub(crate) enum Job {
    /// Edits of documents.
    Edits(Vec<Prepared>),
    /// A security object, as JSON text, and how it is compressed.
    Security(EncodedChunk, BodyCodec),
    /// Another limit of kept ancestors.
    RevsLimit(u64),
    /// How the database is compressed from now on; `None` leaves that to the configuration.
    Compression(Option<EngineSetting>),
    /// Takes a dictionary along that is ready.
    Dictionary,
}

/// One outcome for each edit of a job; none for other jobs.
pub(crate) type Outcomes = Vec<EditOutcome>;

/// Of which database, and how.
pub(crate) struct Commit<'p> {
    pub(crate) path: &'p std::path::Path,
    /// Counts where the database has no compression of its own.
    pub(crate) configured: EngineSetting,
    /// Whether a later commit syncs.
    pub(crate) is_deferred: bool,
}

/// Does all jobs and returns once they are durable, or handed to the system if they may wait.
/// Without any change nothing is written. A dictionary that is ready comes with its number.
pub(crate) fn commit(
    txn: Transaction<'_>,
    how: &Commit<'_>,
    trained: Option<(Trained, u32)>,
    jobs: &[Job],
) -> Result<(Option<Snapshot>, Vec<Outcomes>), DocdbError> {
    let &Commit {
        path, configured, ..
    } = how;
    let before = Snapshot::new(txn.base().clone(), path)?;
    let mut work = GroupTransaction {
        txn,
        header: before.header().clone(),
        before: &before,
        copied: CopiedPieces::default(),
    };
    for job in jobs {
        work.keep_setting(job);
        match job {
            Job::Edits(_) | Job::Dictionary => {}
            Job::Security(text, method) => {
                work.header.security = Some(work.append_text(text, method)?);
            }
            Job::RevsLimit(limit) => work.header.revs_limit = *limit,
            Job::Compression(chosen) => work.header.chosen = *chosen,
        }
    }
    let setting = work.header.chosen.unwrap_or(configured);
    // Most of them are written anew by one of the next commits; a compaction uses the setting.
    work.txn.compress_nodes_by(setting.fastest())?;
    let mut is_deferred = how.is_deferred;
    if let Some((trained, number)) = trained.filter(|_| setting.codec() == CodecId::Zstd) {
        work.add_dictionary(&trained, number, &before.method(configured))?;
        // It has to be on the disk before the first chunk that needs it.
        is_deferred = false;
    }
    let (outcomes, has_changes) = work.edits(jobs)?;
    if !has_changes && work.header == *before.header() {
        return Ok((None, outcomes));
    }
    let chunk_stats = work.header.chunk_stats;
    work.header.chunk_stats =
        chunk_stats.map(|chunk_stats| chunk_stats.plus(work.txn.chunk_stats()));
    work.txn.set_user_header(&work.header.encode());
    let committed = match is_deferred {
        true => work.txn.commit_unsynced()?,
        false => work.txn.commit()?,
    };
    Ok((Some(Snapshot::new(committed, path)?), outcomes))
}

/// Makes a commit of its own of the last commit's roots, so that damage to that hits no more than its own place: see
/// [`Transaction::repeat_roots`].
pub(crate) fn seal(mut txn: Transaction<'_>, path: &std::path::Path) -> Result<(), DocdbError> {
    if !txn.repeat_roots()? {
        return Ok(());
    }
    let before = Snapshot::new(txn.base().clone(), path)?;
    let chunk_stats = before
        .header()
        .chunk_stats
        .map(|chunk_stats| chunk_stats.plus(txn.chunk_stats()));
    let header = Header {
        chunk_stats,
        ..before.header().clone()
    };
    txn.set_user_header(&header.encode());
    txn.commit_unsynced()?;
    Ok(())
}

/// A transaction with the state that its jobs share.
pub(super) struct GroupTransaction<'f> {
    pub(super) txn: Transaction<'f>,
    pub(super) header: Header,
    /// Snapshot that the transaction adds to.
    pub(super) before: &'f Snapshot,
    pub(super) copied: CopiedPieces,
}

/// An edit and where its outcome belongs.
#[derive(Clone, Copy)]
pub(super) struct Entry<'j> {
    pub(super) edit: &'j Prepared,
    job: usize,
    index: usize,
}

impl GroupTransaction<'_> {
    /// The chunks of a job may be compressed otherwise than those in the file; they may also have been made before the
    /// setting was changed.
    fn keep_setting(&mut self, job: &Job) {
        let Some(found) = self.header.setting else {
            return;
        };
        let is_alike = match job {
            Job::Edits(edits) => edits.iter().all(|edit| edit.method.setting == found),
            Job::Security(_, method) => method.setting == found,
            Job::RevsLimit(_) | Job::Compression(_) | Job::Dictionary => true,
        };
        self.header.setting = Some(found).filter(|_| is_alike);
    }

    /// Stores a dictionary. Bodies can use it once this commit is durable.
    fn add_dictionary(
        &mut self,
        trained: &Trained,
        number: u32,
        method: &BodyCodec,
    ) -> Result<(), DocdbError> {
        let dictionary = trained.dictionary.with_number(number);
        let dictionary = dictionary.map_err(TreeError::Compress)?;
        let chunk = training::chunk_of(&dictionary, method)?;
        let place = append_twice(&mut self.txn, &chunk)?;
        self.header.dictionaries.push(trained.record(number, place));
        self.header.next_dictionary = number.saturating_add(1);
        Ok(())
    }

    /// Appends a text that was compressed before the writer saw it. A compaction may have left out
    /// the dictionary that it needs; then it is compressed without.
    pub(super) fn append_text(
        &mut self,
        chunk: &EncodedChunk,
        method: &BodyCodec,
    ) -> Result<ChunkRef, DocdbError> {
        let is_there = |number| {
            let known = &self.header.dictionaries;
            known.iter().any(|record| record.number == number)
        };
        let needed = chunk.dictionary().filter(|number| !is_there(*number));
        let Some(dictionary) = needed.and(method.dictionary.as_ref()) else {
            return Ok(self.txn.append_chunk(chunk)?);
        };
        let text = chunk.expand_with(dictionary)?;
        let mut plain = Compressor::new(method.setting).map_err(TreeError::Compress)?;
        Ok(self
            .txn
            .append_chunk(&EncodedChunk::encode(&mut plain, &text)?)?)
    }

    /// Does all edits; also returns whether anything changed.
    fn edits(&mut self, jobs: &[Job]) -> Result<(Vec<Outcomes>, bool), DocdbError> {
        let mut entries = Vec::new();
        let mut outcomes: Vec<Vec<Option<EditOutcome>>> = Vec::with_capacity(jobs.len());
        for (job, edits) in jobs.iter().enumerate() {
            let edits = match edits {
                Job::Edits(edits) => &edits[..],
                _ => &[],
            };
            outcomes.push(vec![None; edits.len()]);
            for (index, edit) in edits.iter().enumerate() {
                entries.push(Entry { edit, job, index });
            }
        }
        // Stable: edits of one document stay in the order in which they came.
        entries.sort_by(|a, b| a.edit.edit.id.cmp(&b.edit.edit.id));
        let (local, entries): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|entry| entry.edit.edit.is_local());
        let mut settle =
            |entry: &Entry<'_>, outcome| outcomes[entry.job][entry.index] = Some(outcome);
        let mut has_changes = self.local(&local, &mut settle)?;
        let mut documents = Documents::default();
        for (position, same_id) in documents.read(self, &entries)?.into_iter().enumerate() {
            documents.apply(self, position, same_id, &mut settle)?;
        }
        has_changes |= documents.write(self)?;
        let unsettled = || Err(crate::EditError::Conflict);
        let settled = outcomes.into_iter().map(|job| {
            job.into_iter()
                .map(|outcome| outcome.unwrap_or_else(unsettled))
                .collect()
        });
        Ok((settled.collect(), has_changes))
    }

    /// Local documents: no history, the last edit counts.
    fn local(
        &mut self,
        entries: &[Entry<'_>],
        settle: &mut dyn FnMut(&Entry<'_>, EditOutcome),
    ) -> Result<bool, DocdbError> {
        let mut changes: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
        for entry in entries {
            if let Some(error) = &entry.edit.refused {
                settle(entry, Err(error.clone()));
                continue;
            }
            let (key, value, outcome) = self.local_edit(entry.edit)?;
            changes.insert(key, value);
            settle(entry, Ok(outcome));
        }
        let changes: Vec<_> = changes.into_iter().collect();
        self.txn.update(LOCAL, &changes)?;
        Ok(!changes.is_empty())
    }

    pub(super) fn update_trees(
        &mut self,
        by_id: &[(&str, Option<Vec<u8>>)],
        by_seq: &[([u8; 8], Option<Vec<u8>>)],
    ) -> Result<(), DocdbError> {
        self.txn.update(BY_ID, by_id)?;
        self.txn.update(BY_SEQ, by_seq)?;
        Ok(())
    }
}
