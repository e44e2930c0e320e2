//! Compaction: the parts that a database still needs are copied into a new file, which then takes its place.
//!
//! ```text
//! db.varve                  the database; read and written all the time
//! db.varve.compact          the copy, until it is renamed to db.varve
//! db.varve.sort             sorted runs, where there are more documents than fit in memory
//! ```
//! A commit is copied whole ([`whole`]), then the commits made meanwhile ([`catch_up`]), in rounds that become shorter;
//! the last one while the old file's writer waits. The copy is synced before it is renamed, so a crash leaves the old
//! file or the new one. Files that a crash leaves beside it are removed when the database is opened next, unless the
//! next compaction can go on with them ([`checkpoint`]). Readers keep the file that they have.
//!
//! Kept are all leaves with their bodies and attachments, revision trees, local documents, purges, the security object,
//! all numbers, and one dictionary ([`dictionaries`]). Bodies of revisions that are no leaves go. Bodies and
//! attachments that cannot be read are copied as they stand ([`unreadable`]), so damage to one document does not keep
//! all others from being compacted. Damage to nodes and to lists of attachments ends the compaction: the data they lead
//! to could not be copied, and would be lost.

mod attachments;
mod catch_up;
mod checkpoint;
mod copier;
mod dictionaries;
mod files;
mod finish;
mod flush;
mod pipeline;
mod relocations;
mod sequence;
mod sort;
mod unreadable;
mod whole;

use crate::beside::remove_if_there;
use crate::bodies::BodyCodec;
use crate::record::{DictionaryRecord, Header};
use crate::{Database, DocdbError, Snapshot};
use checkpoint::{Begun, Steps};
pub(crate) use checkpoint::{Checkpoint, has_begun, keep_begun};
use copier::Copier;
pub(crate) use copier::{Recoder, Recoding};
pub use files::LONGEST_SUFFIX;
pub(crate) use files::remove_rests;
use files::{check_room, copy_path, sort_path};
pub(crate) use pipeline::in_order;
pub(crate) use sort::{MEMORY as SORT_MEMORY, Sorter};
use std::sync::Arc;
pub use unreadable::Unreadable;
use unreadable::{ReadableSource, SECURITY};
use varve_base::{Interrupt, Progress};
use varve_btree::{ChunkRef, ChunkStats, Transaction, TreeFile};

/// Names of the steps, as CouchDB's tasks have them.
pub(crate) const PHASES: [&str; 3] = ["document_copy", "docid_sort", "docid_copy"];

/// The copy is committed after so many bytes of documents.
const STEP: u64 = 64 << 20;

/// Result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of the file that took its place.
    pub after: u64,
}

/// Result of a compaction that copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Lengths of the files.
    pub sizes: Compacted,
    /// Documents in the new file that were unreadable in the old one already.
    pub unreadable: Unreadable,
}

/// Phase that may follow a commit of the copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Commits made to the database meanwhile are copied.
    Catching,
    /// The copy is to take the database's place.
    Complete,
}

/// Progress and interruption of a compaction.
pub(crate) struct CompactionMonitor<'w> {
    pub(crate) database: &'w Database,
    pub(crate) progress: &'w dyn Progress,
    pub(crate) stop: &'w Interrupt,
}

impl CompactionMonitor<'_> {
    pub(crate) fn check(&self) -> Result<(), DocdbError> {
        self.stop.check().map_err(|_| DocdbError::Interrupted)?;
        match self.database.is_deleted() {
            true => Err(self.database.deleted()),
            false => Ok(()),
        }
    }
}

/// A compaction under way; dropping it leaves the database as it was.
///
/// [`Compaction::copy`] has the work and holds no lock, so that a thread of low priority may do
/// it; [`Compaction::finish`] is short and keeps the writer waiting, so that none should.
pub struct Compaction {
    database: Database,
    old: Arc<TreeFile>,
    new: Arc<TreeFile>,
    /// The newest commit that is in the copy, and its copier.
    copied: Option<(Snapshot, Copier)>,
    /// The dictionaries in the copy.
    dictionaries: Vec<DictionaryRecord>,
    /// Those that the database had when the copying began.
    seen: Vec<u32>,
    /// Where the security object stands in the copy.
    security: Option<ChunkRef>,
    /// All chunks and nodes of the copy's commits.
    chunk_stats: ChunkStats,
    /// State of the copy that an earlier compaction has begun.
    begun: Option<Checkpoint>,
    /// Bytes of documents between commits of the copy.
    step: u64,
    /// Whether there were such, so that it is worth going on with the copy.
    is_long: bool,
    /// Whether the copy is left for the next compaction.
    is_kept: bool,
    is_finished: bool,
}

impl std::fmt::Debug for Compaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Compaction({})", self.database.path().display())
    }
}

impl Drop for Compaction {
    fn drop(&mut self) {
        let is_kept = self.is_kept && !self.database.is_deleted();
        if !self.is_finished && !is_kept {
            // If that fails, the next opening removes them.
            let _ = remove_rests(self.database.storage().as_ref(), self.database.path());
        }
        self.database.end_compaction();
    }
}

impl Database {
    /// Compacts the database while others read and write it: in place where that is much less work than a copy.
    /// Unreadable parts of documents are copied as they stand.
    ///
    /// # Errors
    /// [`DocdbError::CompactionRuns`], [`DocdbError::NoRoom`], [`DocdbError::Interrupted`],
    /// [`DocdbError::Deleted`]; damage to nodes, and other damage where the compaction is in place;
    /// an error of the storage. The database is then as it was.
    pub fn compact(
        &self,
        progress: &dyn Progress,
        stop: &Interrupt,
    ) -> Result<Compacted, DocdbError> {
        self.check_writable()?;
        if let Some(done) = self.compact_in_place(progress, stop)? {
            return Ok(done);
        }
        let mut compaction = self.begin_compaction()?;
        compaction.copy(progress, stop)?;
        compaction.finish(stop).map(|done| done.sizes)
    }

    /// Checks that the disk has room for a compacted copy. A compaction in place needs none.
    ///
    /// # Errors
    /// [`DocdbError::NoRoom`].
    pub fn check_room(&self) -> Result<(), DocdbError> {
        match self.may_be_in_place()? {
            true => Ok(()),
            false => self.check_room_of_copy(0),
        }
    }

    fn check_room_of_copy(&self, there: u64) -> Result<(), DocdbError> {
        let snapshot = self.snapshot();
        let method = self.body_codec_of(&snapshot);
        let setting = method.setting;
        let recoding = Recoding::new(snapshot.header().setting, method, Vec::new());
        check_room(self, &recoding, setting, there)
    }

    /// Begins a compaction, or goes on with one that was interrupted or that a crash has ended;
    /// there is one at a time. Checks that the disk has room for the copy.
    ///
    /// # Errors
    /// As [`Database::compact`].
    pub fn begin_compaction(&self) -> Result<Compaction, DocdbError> {
        self.check_writable()?;
        if !self.claim_compaction() {
            let path = self.path().to_owned();
            return Err(DocdbError::CompactionRuns { path });
        }
        let made = Compaction::new(self);
        if made.is_err() {
            self.end_compaction();
        }
        made
    }
}

impl Compaction {
    fn new(database: &Database) -> Result<Self, DocdbError> {
        if database.is_deleted() {
            return Err(database.deleted());
        }
        let (storage, path) = (database.storage().as_ref(), database.path());
        let (snapshot, old) = (database.snapshot(), database.file());
        let setting = database.body_codec_of(&snapshot).setting;
        let begun = Begun::find(storage, path, database.tree_options(), &old)?;
        let begun = begun.filter(|begun| begun.checkpoint.header.setting == Some(setting));
        let is_kept = begun.is_some();
        database.check_room_of_copy(begun.as_ref().map_or(0, Begun::len))?;
        let (new, begun) = match begun {
            Some(begun) => (begun.copy, Some(begun.checkpoint)),
            None => (Compaction::create(database, &snapshot)?, None),
        };
        Ok(Compaction {
            old,
            database: database.clone(),
            new: Arc::new(new),
            copied: None,
            dictionaries: Vec::new(),
            seen: Vec::new(),
            security: None,
            chunk_stats: ChunkStats::default(),
            begun,
            step: STEP,
            is_long: false,
            is_kept,
            is_finished: false,
        })
    }

    /// The new file, with nothing in it.
    fn create(database: &Database, of: &Snapshot) -> Result<TreeFile, DocdbError> {
        let (storage, path) = (database.storage().as_ref(), database.path());
        remove_rests(storage, path)?;
        let header = Header {
            security: None,
            chunk_stats: Some(ChunkStats::default()),
            dictionaries: Vec::new(),
            holes: 0,
            ..of.header().clone()
        };
        let options = database.new_tree_options(&header);
        let copy = copy_path(path);
        Ok(TreeFile::create_with(
            storage,
            &copy,
            options,
            &header.encode(),
        )?)
    }

    /// Commits the copy after so many bytes of documents: the part copied until then need not be copied again if the
    /// compaction is interrupted, or ends by a crash.
    #[must_use]
    pub fn in_steps_of(mut self, bytes: u64) -> Self {
        self.step = bytes.max(1);
        self
    }

    /// Copies everything, until little is missing.
    ///
    /// # Errors
    /// As [`Database::compact`].
    pub fn copy(&mut self, progress: &dyn Progress, stop: &Interrupt) -> Result<(), DocdbError> {
        let done = self.copy_all(progress, stop);
        self.keep_if_interrupted(&done);
        done.map_err(DocdbError::of_compaction)
    }

    /// Leaves the copy of an interrupted compaction behind, for the next one.
    fn keep_if_interrupted<T>(&mut self, done: &Result<T, DocdbError>) {
        self.is_kept = matches!(done, Err(DocdbError::Interrupted)) && Checkpoint::is_in(&self.new);
    }

    fn copy_all(&mut self, progress: &dyn Progress, stop: &Interrupt) -> Result<(), DocdbError> {
        let database = self.database.clone();
        let watch = CompactionMonitor {
            database: &database,
            progress,
            stop,
        };
        let first = database.snapshot().uncached();
        let storage = database.storage();
        let sorted = sort_path(database.path());
        let moved = Sorter::new(storage.as_ref(), sorted.clone(), sort::MEMORY);
        let new = Arc::clone(&self.new);
        let mut txn = new.begin()?;
        let begun = self.begun.take();
        let begun = begun.map(|begun| begun.snapshot(&new, database.path()));
        let (method, dictionaries) = match &begun {
            Some(begun) => dictionaries::resume(begun, database.setting()),
            None => dictionaries::begin(&database, &first, &mut txn)?,
        };
        txn.compress_nodes_by(method.setting)?;
        self.dictionaries = dictionaries;
        self.seen = dictionaries::numbers(&first.header().dictionaries);
        let mut steps = self.steps(&new, (&first, begun.as_ref()), &method)?;
        let kept = dictionaries::numbers(&self.dictionaries);
        let recoding = Recoding::new(first.header().setting, method, kept);
        let mut copier = Copier::new(recoding)?;
        let mut txn = flush::while_flushing(&self.new, || {
            let (from, to) = ((&first, begun.as_ref()), (&mut steps, moved));
            whole::copy(from, txn, &mut copier, to, &watch)
        })?;
        self.chunk_stats = steps.chunk_stats();
        self.is_long = steps.seq() > 0;
        self.security = security(&first, &mut txn, &mut copier)?;
        self.commit(txn, &first, &copier, Stage::Catching)?;
        self.copied = Some((first, copier));
        remove_if_there(storage.as_ref(), &sorted)?;
        self.rounds(&watch)
    }

    /// How the copy is committed meanwhile.
    fn steps<'f>(
        &self,
        new: &'f TreeFile,
        (first, begun): (&Snapshot, Option<&Snapshot>),
        method: &BodyCodec,
    ) -> Result<Steps<'f>, DocdbError> {
        let chunk_stats = begun.map_or(Some(ChunkStats::default()), |begun| {
            begun.header().chunk_stats
        });
        let header = Header {
            security: None,
            setting: Some(method.setting),
            next_dictionary: self.next_dictionary(first),
            dictionaries: self.dictionaries.clone(),
            chunk_stats,
            holes: 0,
            ..first.header().clone()
        };
        let seq = begun.map_or(0, Snapshot::update_seq);
        let checkpoint = Checkpoint::new(first, seq, header)?;
        Ok(Steps::new(new, (self.step, begun.is_some()), checkpoint))
    }

    /// The number of the next dictionary: higher than those in the copy and in its source.
    fn next_dictionary(&self, of: &Snapshot) -> u32 {
        let highest = self.dictionaries.iter().map(|record| record.number).max();
        let next = highest.map_or(1, |highest| highest.saturating_add(1));
        of.header().next_dictionary.max(next)
    }
}

/// Copies the security object, if there is one.
fn security(
    from: &Snapshot,
    txn: &mut Transaction<'_>,
    copier: &mut Copier,
) -> Result<Option<ChunkRef>, DocdbError> {
    let source = ReadableSource { from, id: SECURITY };
    let at = from.header().security;
    at.map(|at| copier.chunk(source, txn, at)).transpose()
}
