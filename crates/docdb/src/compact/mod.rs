//! Compaction: what a database still needs is copied into a new file, which then takes its place.
//!
//! ```text
//! db.varve                  the database; read and written all the time
//! db.varve.compact          the copy, until it is renamed to db.varve
//! db.varve.compact.sort     sorted runs, where there are more documents than fit in memory
//! ```
//! A commit is copied whole ([`whole`]), then what was committed meanwhile ([`catch_up`]), in
//! rounds that become shorter; the last one while the old file's writer waits. The copy is synced
//! before it is renamed, so a crash leaves the old file or the new one. What a crash leaves beside
//! it is removed when the database is opened next. Readers keep the file that they have.
//!
//! Kept are all leaves with their bodies and attachments, revision trees, local documents, purges,
//! the security object, all numbers, and one dictionary ([`dictionaries`]). Bodies of revisions that are no leaves go.

mod attachments;
mod catch_up;
mod copier;
mod dictionaries;
mod files;
mod flush;
mod pipeline;
mod sort;
mod whole;

use crate::record::{DictionaryRecord, Header};
use crate::{Database, DocdbError, Snapshot};
use copier::Copier;
pub(crate) use copier::{Recoder, Recoding};
pub(crate) use files::remove_rests;
use files::{check_room, copy_path, sort_path};
pub(crate) use sort::{MEMORY as SORT_MEMORY, Sorter};
use std::sync::Arc;
use varve_base::{Interrupt, Progress};
use varve_btree::{ChunkRef, Tally, Transaction, TreeFile};

/// Names of the steps, as CouchDB's tasks have them.
pub(crate) const PHASES: [&str; 3] = ["document_copy", "docid_sort", "docid_copy"];

/// The writer may be kept waiting while so many bytes of commits are looked through.
const SHORT: u64 = 2 << 20;
/// Rounds after which the writer waits even for a longer one: it is faster than the copying.
const ROUNDS: usize = 12;

/// What a compaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of the file that took its place.
    pub after: u64,
}

/// Whom a compaction tells how far it is, and who may end it.
pub(crate) struct Watcher<'w> {
    pub(crate) database: &'w Database,
    pub(crate) progress: &'w dyn Progress,
    pub(crate) stop: &'w Interrupt,
}

impl Watcher<'_> {
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
/// [`Compaction::copy`] has the work and disturbs nobody, so that a thread of low priority may do
/// it; [`Compaction::finish`] is short and keeps the writer waiting, so that none should.
pub struct Compaction {
    database: Database,
    old: Arc<TreeFile>,
    new: Arc<TreeFile>,
    /// The newest commit that is in the copy, and who copied it.
    copied: Option<(Snapshot, Copier)>,
    /// The dictionaries in the copy.
    dictionaries: Vec<DictionaryRecord>,
    /// Those that the database had when the copying began.
    seen: Vec<u32>,
    /// Where the security object stands in the copy.
    security: Option<ChunkRef>,
    is_finished: bool,
}

impl std::fmt::Debug for Compaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Compaction({})", self.database.path().display())
    }
}

impl Drop for Compaction {
    fn drop(&mut self) {
        if !self.is_finished {
            // If that fails, the next opening removes them.
            let _ = remove_rests(self.database.storage().as_ref(), self.database.path());
        }
        self.database.end_compaction();
    }
}

impl Database {
    /// Compacts the database while others read and write it: in place where that is much less work
    /// than a copy.
    ///
    /// # Errors
    /// [`DocdbError::CompactionRuns`], [`DocdbError::NoRoom`], [`DocdbError::Interrupted`],
    /// [`DocdbError::Deleted`]; damage, naming the document; what the storage answers. The database
    /// is then as it was.
    pub fn compact(
        &self,
        progress: &dyn Progress,
        stop: &Interrupt,
    ) -> Result<Compacted, DocdbError> {
        if let Some(done) = self.compact_in_place(progress, stop)? {
            return Ok(done);
        }
        let mut compaction = self.begin_compaction()?;
        compaction.copy(progress, stop)?;
        compaction.finish(stop)
    }

    /// Checks that the disk has room for a compacted copy. What may be compacted in place needs none.
    ///
    /// # Errors
    /// [`DocdbError::NoRoom`].
    pub fn check_room(&self) -> Result<(), DocdbError> {
        match self.may_be_in_place()? {
            true => Ok(()),
            false => self.check_room_of_copy(),
        }
    }

    fn check_room_of_copy(&self) -> Result<(), DocdbError> {
        let snapshot = self.snapshot();
        let method = self.method_of(&snapshot);
        let setting = method.setting;
        let recoding = Recoding::new(snapshot.header().setting, method, Vec::new());
        check_room(self, &recoding, setting)
    }

    /// Begins a compaction; there is one at a time. Checks that the disk has room for the copy.
    ///
    /// # Errors
    /// As [`Database::compact`].
    pub fn begin_compaction(&self) -> Result<Compaction, DocdbError> {
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
        let snapshot = database.snapshot();
        remove_rests(storage, path)?;
        database.check_room_of_copy()?;
        let header = Header {
            security: None,
            tally: Some(Tally::default()),
            dictionaries: Vec::new(),
            holes: 0,
            ..snapshot.header().clone()
        };
        let (copy, options) = (copy_path(path), database.tree_options());
        let new = TreeFile::create_with(storage, &copy, options, &header.encode())?;
        Ok(Compaction {
            old: database.file(),
            database: database.clone(),
            new: Arc::new(new),
            copied: None,
            dictionaries: Vec::new(),
            seen: Vec::new(),
            security: None,
            is_finished: false,
        })
    }

    /// Copies everything, until little is missing.
    ///
    /// # Errors
    /// As [`Database::compact`].
    pub fn copy(&mut self, progress: &dyn Progress, stop: &Interrupt) -> Result<(), DocdbError> {
        let database = self.database.clone();
        let watch = Watcher {
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
        let (method, dictionaries) = dictionaries::begin(&database, &first, &mut txn)?;
        txn.compress_nodes_by(method.setting)?;
        let kept = dictionaries::numbers(&dictionaries);
        let recoding = Recoding::new(first.header().setting, method, kept);
        let mut copier = Copier::new(recoding)?;
        self.dictionaries = dictionaries;
        self.seen = dictionaries::numbers(&first.header().dictionaries);
        flush::while_flushing(&self.new, || {
            whole::copy(&first, &mut txn, &mut copier, moved, &watch)
        })?;
        self.security = match first.header().security {
            Some(at) => Some(copier.chunk(&first, &mut txn, at)?),
            None => None,
        };
        self.commit(txn, &first, &copier)?;
        self.copied = Some((first, copier));
        match storage.remove(&sorted) {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
        self.rounds(&watch)
    }

    /// Catches up until a round is short.
    fn rounds(&mut self, watch: &Watcher<'_>) -> Result<(), DocdbError> {
        for _ in 0..ROUNDS {
            let newest = self.database.snapshot();
            if self.is_near(&newest) {
                break;
            }
            self.round(&newest.uncached(), watch)?;
        }
        Ok(())
    }

    /// Whether little was committed since what was copied.
    fn is_near(&self, newest: &Snapshot) -> bool {
        let copied = self.copied.as_ref();
        let copied = copied.map(|(copied, _)| copied.tree().position());
        copied.is_some_and(|copied| newest.tree().position().saturating_sub(copied) <= SHORT)
    }

    /// Brings the copy up to a commit.
    fn round(&mut self, to: &Snapshot, watch: &Watcher<'_>) -> Result<(), DocdbError> {
        let is_new = |copied: &Snapshot| copied.tree().position() != to.tree().position();
        let Some((copied, mut copier)) = self.copied.take_if(|(copied, _)| is_new(copied)) else {
            return Ok(());
        };
        watch.check()?;
        let new = Arc::clone(&self.new);
        let mut txn = new.begin()?;
        if copier.recoding.is_needless() {
            dictionaries::catch_up(to, &self.seen, &mut self.dictionaries, &mut txn)?;
            copier.keep(dictionaries::numbers(&self.dictionaries));
        }
        catch_up::catch_up(to, &copied, &mut txn, &mut copier, watch)?;
        if to.header().security != copied.header().security {
            self.security = match to.header().security {
                Some(at) => Some(copier.chunk(to, &mut txn, at)?),
                None => None,
            };
        }
        self.commit(txn, to, &copier)?;
        self.copied = Some((to.clone(), copier));
        Ok(())
    }

    /// Commits a copy of what `of` shows.
    fn commit(
        &self,
        mut txn: Transaction<'_>,
        of: &Snapshot,
        copier: &Copier,
    ) -> Result<(), DocdbError> {
        let before = Snapshot::new(txn.base().clone(), self.database.path())?;
        let recoding = &copier.recoding;
        let highest = self.dictionaries.iter().map(|record| record.number).max();
        let next = highest.map_or(1, |highest| highest.saturating_add(1));
        let header = Header {
            security: self.security,
            // What was copied as it is may have been written by another setting meanwhile.
            setting: match recoding.is_needless() {
                true => of.header().setting,
                false => Some(recoding.setting()),
            },
            next_dictionary: of.header().next_dictionary.max(next),
            dictionaries: self.dictionaries.clone(),
            tally: before.header().tally.map(|tally| tally.plus(txn.tally())),
            holes: 0,
            ..of.header().clone()
        };
        txn.set_user_header(&header.encode());
        txn.commit()?;
        Ok(())
    }

    /// Copies what is missing while the writer waits, and puts the copy in the old file's place.
    ///
    /// # Errors
    /// As [`Database::compact`]; also that the storage does not say that the new name is durable:
    /// the new file is in use then, and writers are refused until it is.
    pub fn finish(mut self, stop: &Interrupt) -> Result<Compacted, DocdbError> {
        let database = self.database.clone();
        let watch = Watcher {
            database: &database,
            progress: &varve_base::Silent,
            stop,
        };
        if self.copied.is_none() {
            return Err(database.snapshot().abandoned());
        }
        self.rounds(&watch)?;
        let old = Arc::clone(&self.old);
        // From here on nobody writes, and nobody deletes.
        let writer = old.begin()?;
        let last = Snapshot::new(writer.base().clone(), database.path())?;
        self.round(&last.uncached(), &watch)?;
        watch.check()?;
        // In a copy that was appended as a whole, damage anywhere would make all of it disappear.
        crate::write::seal(self.new.begin()?, database.path())?;
        let (storage, path) = (database.storage(), database.path());
        let (before, after) = (old.sizes().file, self.new.sizes().file);
        let newest = Snapshot::new(self.new.snapshot(), path)?;
        storage.rename(&copy_path(path), path)?;
        // The new file is the database: whatever fails from here on, it is taken over.
        self.is_finished = true;
        let (new, newest) = match reopen(&database, &newest) {
            Some(reopened) => reopened,
            None => (Arc::clone(&self.new), newest),
        };
        database.replace_file(new, newest)?;
        drop(writer);
        Ok(Compacted { before, after })
    }
}

/// The renamed file under its own name, so that messages say which file is meant. One that cannot
/// be opened once more is used as it is.
fn reopen(database: &Database, newest: &Snapshot) -> Option<(Arc<TreeFile>, Snapshot)> {
    let (storage, path) = (database.storage(), database.path());
    let file = TreeFile::open(storage.as_ref(), path, database.tree_options()).ok()?;
    let found = Snapshot::new(file.snapshot(), path).ok()?;
    let is_same = found.tree().is_same_file(newest.tree())
        && found.tree().position() == newest.tree().position();
    is_same.then(|| (Arc::new(file), found))
}
