//! Databases that are open, shared by all requests.

mod closed;
mod shared_log;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use varve_base::{ReadMode, Storage};
use varve_docdb::{Database, DatabaseOptions, NewDatabase, Snapshot, Subscription, Viewer};
use varve_js::Limits;
use varve_shared::SharedStorage;
use varve_views::{IndexKind, remove_stale};

use crate::Failure;
use crate::couch::changes::db_updates::{Event, Updates};
use crate::couch::database::files::file_of;
use crate::couch::database::store::{DatabaseFile, DatabaseStore};
use crate::couch::failures::missing_database;
use crate::couch::find::Definitions;
use crate::couch::functions::validate::Validators;
use crate::couch::views::filter_indexes::FilterIndexes;
use crate::couch::views::indexes::{Indexes, directory_of};
use crate::http::{FailureKind, Freshness};
use crate::runtime::dirty::{DirtyFlag, DirtySet};
use crate::runtime::log::Log;
use crate::runtime::{Registry, Resource, Tasks};
use closed::ClosedDatabases;
use shared_log::DatabaseLog;

/// Feeds that read at the same time; a read is short, and its thread is not to be had for nothing.
const FEED_READS: usize = 8;
/// The type of the entry in the list of tasks for a database with damage behind its newest commit.
const DAMAGED: &str = "database_damage";
/// Digits of the database's id that stand in sequences.
const INCARNATION: usize = 16;
/// A database that another server removes is looked for once more, as it may have been made anew.
const OPENINGS: usize = 2;

/// One open database.
#[derive(Debug)]
pub struct OpenDatabase {
    /// As in its URL.
    pub name: String,
    /// The open file; clones share it.
    pub documents: Database,
    /// Its storage, if that is a log in a shared store.
    log: Option<DatabaseLog>,
    /// True once another process has taken the log over.
    is_retired: AtomicBool,
    closed: Arc<ClosedDatabases>,
    /// 16 hexadecimal digits that another database of the same name does not have.
    pub incarnation: String,
    /// The sequence of the last commit, which feeds wait for.
    commits: watch::Sender<u64>,
    /// Marks it as worth a look for a compaction.
    pub(crate) to_compact: DirtyFlag,
    /// Marks its indexes as behind.
    pub(crate) to_index: DirtyFlag,
    /// Marks its indexes as worth a look for new copies in the shared store.
    pub(crate) to_store: DirtyFlag,
    /// True from the moment when another server of the store is to write it until copies of its indexes were stored for that one.
    pub(crate) is_handed_over: AtomicBool,
    /// Whether it was marked once since it is open.
    is_marked_opened: AtomicBool,
    /// True for the database of a repository.
    is_history: AtomicBool,
    validators: Mutex<Arc<Validators>>,
    /// Its views.
    pub indexes: Indexes,
    /// Indexes of filters of its changes.
    pub filter_indexes: FilterIndexes,
    /// JSON indexes that its design documents define.
    pub definitions: Definitions,
    _subscription: Subscription,
}

impl OpenDatabase {
    fn new(
        name: &str,
        (documents, log): (Database, Option<SharedStorage>),
        among: &Databases,
    ) -> Result<OpenDatabase, Failure> {
        let snapshot = documents.snapshot();
        let info = snapshot.info()?;
        let is_history = name.starts_with(varve_history::DATABASE_PREFIX)
            && snapshot.local(varve_history::CHECKPOINT)?.is_some();
        let commits = watch::Sender::new(info.update_seq);
        let to_compact = DirtyFlag::new(name, &among.dirty);
        let to_index = DirtyFlag::new(name, &among.written);
        let (sender, updates, of) = (commits.clone(), Arc::clone(&among.updates), name.to_owned());
        let flags = (to_compact.clone(), to_index.clone());
        let subscription = documents.on_commit(move |update| {
            let before = sender.send_replace(update);
            if update > before {
                updates.note(&of, Event::Updated);
                flags.1.mark();
            }
            flags.0.mark();
        });
        Ok(OpenDatabase {
            name: name.to_owned(),
            incarnation: info.uuid[..INCARNATION].to_owned(),
            documents,
            log: log.map(DatabaseLog::new),
            is_retired: AtomicBool::new(false),
            closed: Arc::clone(&among.closed),
            commits,
            to_compact,
            to_index,
            to_store: DirtyFlag::new(name, &among.indexed),
            is_handed_over: AtomicBool::new(false),
            is_marked_opened: AtomicBool::new(false),
            is_history: AtomicBool::new(is_history),
            validators: Mutex::default(),
            indexes: Indexes::default(),
            filter_indexes: FilterIndexes::default(),
            definitions: Definitions::default(),
            _subscription: subscription,
        })
    }

    /// The newest commit with the design documents that count. Where there is access, others are data: they name those
    /// who may see them, and users write them.
    pub fn designs(&self) -> Snapshot {
        self.documents.snapshot().as_seen_by(&Viewer::unnamed())
    }

    /// The validation functions of a snapshot, which will run within the limits.
    ///
    /// # Errors
    /// 500 if the file cannot be read.
    pub fn validators(
        &self,
        snapshot: &Snapshot,
        limits: Limits,
    ) -> Result<Arc<Validators>, Failure> {
        let known = Arc::clone(&self.validators.lock());
        let current = Validators::of(snapshot, &known, limits)?;
        *self.validators.lock() = Arc::clone(&current);
        Ok(current)
    }

    /// Marks a database that was just opened. Before it is in the registry, the mark would be passed over.
    fn mark_opened(&self) {
        if !self.is_marked_opened.swap(true, Ordering::Relaxed) {
            self.to_compact.mark();
        }
    }

    /// True for the database of a repository: then that decides who reads it, and some of its documents cannot be
    /// edited.
    pub(crate) fn is_history(&self) -> bool {
        self.is_history.load(Ordering::Acquire)
    }

    /// To be called before a database is filled from a repository.
    pub(crate) fn mark_as_history(&self) {
        self.is_history.store(true, Ordering::Release);
    }

    /// True once no commit can follow: the database was deleted, or another process has taken it over.
    pub fn is_over(&self) -> bool {
        self.documents.is_deleted() || self.is_retired.load(Ordering::Acquire)
    }

    /// Changes whenever something was committed, and once more when the database is deleted or taken over.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }
}

impl Resource for OpenDatabase {
    /// Its open files: that of the database and those of its indexes.
    fn weight(&self) -> usize {
        1 + self.indexes.len() + self.filter_indexes.len()
    }

    /// Seals the file. That only makes later damage easier to tell, so a disk that refuses does not keep the
    /// database open.
    fn close(&self) {
        let _ = self.documents.seal();
        if self.log.is_some() {
            self.closed.note(&self.name, &self.documents);
        }
    }
}

/// All open databases of one server.
#[derive(Debug)]
pub struct Databases {
    /// Has the indexes.
    storage: Arc<dyn Storage>,
    store: DatabaseStore,
    options: DatabaseOptions,
    log: Log,
    tasks: Arc<Tasks>,
    open: Registry<OpenDatabase>,
    closed: Arc<ClosedDatabases>,
    /// Databases that may be worth a compaction.
    dirty: Arc<DirtySet>,
    /// Databases whose indexes may be behind.
    written: Arc<DirtySet>,
    /// Databases of a shared store whose indexes may be ahead of their copies there.
    indexed: Arc<DirtySet>,
    updates: Arc<Updates>,
    /// Bounds how many feeds read at the same time: one commit may wake thousands of them.
    feed_reads: Semaphore,
}

impl Databases {
    /// Databases of the store, with indexes in the storage; new ones are made with these options. About
    /// `most_open` files of databases and indexes are kept open.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn new(
        (storage, store): (Arc<dyn Storage>, DatabaseStore),
        options: DatabaseOptions,
        most_open: usize,
        (log, tasks): (Log, Arc<Tasks>),
    ) -> Result<Databases, getrandom::Error> {
        Ok(Databases {
            storage,
            store,
            options,
            log,
            tasks,
            open: Registry::new(most_open),
            closed: Arc::default(),
            dirty: Arc::default(),
            written: Arc::default(),
            indexed: Arc::default(),
            updates: Arc::new(Updates::new()?),
            feed_reads: Semaphore::new(FEED_READS),
        })
    }

    /// The last update of every database.
    pub(crate) fn updates(&self) -> &Arc<Updates> {
        &self.updates
    }

    /// How databases are kept.
    pub fn options(&self) -> &DatabaseOptions {
        &self.options
    }

    /// Databases in which something happened.
    pub(crate) fn dirty(&self) -> &DirtySet {
        &self.dirty
    }

    /// Databases that were written to.
    pub(crate) fn written(&self) -> &DirtySet {
        &self.written
    }

    /// Databases of a shared store whose indexes were built, or have no copy that fits any more.
    pub(crate) fn indexed(&self) -> &DirtySet {
        &self.indexed
    }

    /// The database, if it is open; that does not count as a use of it.
    pub(crate) fn if_open(&self, name: &str) -> Option<Arc<OpenDatabase>> {
        self.open.peek(name)
    }

    /// True if there is such a database; it is not opened.
    ///
    /// # Errors
    /// 500 if the directory cannot be read; 503 if the store does not answer.
    pub(crate) fn contains(&self, name: &str) -> Result<bool, Failure> {
        self.store.contains(name)
    }

    /// Names of all databases, in order.
    ///
    /// # Errors
    /// As of [`Databases::contains`].
    pub(crate) fn names(&self) -> Result<Vec<String>, Failure> {
        self.store.names()
    }

    /// Permits that feeds hold while they read.
    pub fn feed_reads(&self) -> &Semaphore {
        &self.feed_reads
    }

    /// The database, opened if it is not. One in a shared store has all commits that were acknowledged anywhere before.
    ///
    /// # Errors
    /// 404 if there is none; 500 if its file cannot be read; 503 if another process has it, or the store does not answer.
    pub fn get(&self, name: &str) -> Result<Arc<OpenDatabase>, Failure> {
        self.get_fresh(name, Freshness::Current)
    }

    /// The database for a read of this freshness.
    ///
    /// # Errors
    /// As [`Databases::get`]; [`Failure::would_block`] in [`ReadMode::CachedOnly`].
    pub(crate) fn get_as(
        &self,
        name: &str,
        reads: ReadMode,
        freshness: Freshness,
    ) -> Result<Arc<OpenDatabase>, Failure> {
        match reads {
            ReadMode::Blocking => self.get_fresh(name, freshness),
            ReadMode::CachedOnly => {
                let open = self.open.get(name);
                let found = open.filter(|found| found.is_fresh(freshness));
                let found = found.ok_or_else(Failure::would_block)?;
                self.count_read(false);
                Ok(found)
            }
        }
    }

    fn get_fresh(&self, name: &str, freshness: Freshness) -> Result<Arc<OpenDatabase>, Failure> {
        for _ in 0..OPENINGS {
            let database = self.open.get_or_open(name, || self.open_file(name))?;
            self.change_writer(&database)?;
            let brought = self.bring_up_to_date(&database, freshness);
            if brought.is_err() && database.is_over() && !self.store.writes(name) {
                // Another server has taken the log over before this one gave it up; now it is followed.
                continue;
            }
            brought?;
            if !self.forget_if_removed(&database) {
                database.mark_opened();
                return Ok(database);
            }
        }
        Err(missing_database())
    }

    fn open_file(&self, name: &str) -> Result<OpenDatabase, Failure> {
        let Some(DatabaseFile { storage, path, log }) = self.store.find(name)? else {
            return Err(missing_database());
        };
        let is_written_here = log.as_ref().is_none_or(SharedStorage::is_owner);
        let opened = match is_written_here {
            true => Database::open(storage, &path, &self.options),
            false => Database::open_following(storage, &path, &self.options),
        };
        match opened {
            Ok(documents) => {
                if is_written_here {
                    self.log_recovery(name, &documents);
                    self.tell_finding(name, &documents)?;
                }
                if log.is_some() && !self.closed.is_same(name, &documents)? {
                    self.remove_indexes(name)?;
                }
                OpenDatabase::new(name, (documents, log), self)
            }
            Err(error) if error.is_not_found() => Err(missing_database()),
            Err(error) => Err(error.into()),
        }
    }

    /// True if databases are in a shared store.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.store, DatabaseStore::Shared(_))
    }

    /// Makes a database.
    ///
    /// # Errors
    /// 412 if it is there; 500 if its file cannot be made.
    pub fn create(&self, name: &str, new: NewDatabase) -> Result<Arc<OpenDatabase>, Failure> {
        self.open.exclusively(name, || {
            let DatabaseFile { storage, path, log } = self.store.for_creation(name)?;
            match Database::create_with(storage, &path, &self.options, new) {
                Ok(documents) => {
                    let made = OpenDatabase::new(name, (documents, log), self)?;
                    let made = self.open.insert(name, made);
                    made.mark_opened();
                    self.updates.note(name, Event::Created);
                    Ok(made)
                }
                Err(error) if error.is_already_there() => Err(Failure::new(
                    FailureKind::PreconditionFailed,
                    "file_exists",
                    "The database could not be created, the file already exists.",
                )),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Removes a database; requests that are under way see it to their end, feeds stop.
    ///
    /// # Errors
    /// 404 if there is none; 500 if its file cannot be removed.
    pub fn delete(&self, name: &str) -> Result<(), Failure> {
        let database = self.get(name)?;
        self.open.exclusively(name, || {
            let entries = self.store.entries(name)?;
            database.documents.delete()?;
            self.store.remove_entries(&entries)?;
            database.indexes.end();
            database.filter_indexes.end();
            self.open.forget(name);
            self.updates.note(name, Event::Deleted);
            self.remove_indexes(name)
        })
    }

    /// Removes the file of a database that cannot be opened, for an admin who says so.
    ///
    /// # Errors
    /// The failure of opening it, if the file cannot be removed either.
    pub fn delete_unreadable(&self, name: &str, failure: Failure) -> Result<(), Failure> {
        self.open.exclusively(name, || {
            let entries = self.store.entries(name)?;
            let Some(file) = self.store.find(name)? else {
                return Err(missing_database());
            };
            if file.storage.remove(&file.path).is_err() {
                return Err(failure);
            }
            if file.log.is_some() {
                file.storage.sync_directory(Path::new(""))?;
            }
            self.store.remove_entries(&entries)?;
            self.updates.note(name, Event::Deleted);
            self.remove_indexes(name)
        })
    }

    fn remove_indexes(&self, name: &str) -> Result<(), Failure> {
        for kind in IndexKind::ALL {
            remove_stale(self.storage.as_ref(), &directory_of(name), kind, &[])?;
        }
        Ok(())
    }

    fn log_recovery(&self, name: &str, documents: &Database) {
        let ignored = documents.ignored_tail();
        let file = file_of(name);
        let file = file.display();
        if documents.is_header_damaged() {
            self.log.scope(|| {
                tracing::warn!(
                    database = name,
                    "one bit in the header of {file} is flipped; it is read as it was, and a \
                     compaction writes a new one"
                );
            });
        }
        if ignored > 0 && documents.why_read_only().is_none() {
            self.log.scope(|| {
                tracing::warn!(
                    database = name,
                    "{file} was opened at its newest whole commit; the last {ignored} bytes, an \
                     unfinished commit or damage, are left out"
                );
            });
        }
    }

    /// Reports damage of a database's last commits in the log and in the list of tasks.
    fn tell_finding(&self, name: &str, documents: &Database) -> Result<(), Failure> {
        let Some(finding) = documents.finding()? else {
            self.tasks.forget_failed(DAMAGED, name);
            return Ok(());
        };
        self.log
            .scope(|| tracing::error!(database = name, "database {name}: {finding}"));
        let task = self.tasks.start(DAMAGED, &[("database", name)]);
        task.fail(&finding);
        Ok(())
    }

    /// How many are open now.
    pub(crate) fn count_open(&self) -> usize {
        self.open.values().len()
    }

    /// Interrupts all index builds, and those that begin later.
    pub fn end_builds(&self) {
        let open = self.open.values();
        for database in open {
            database.indexes.end();
            database.filter_indexes.end();
        }
    }

    /// Seals all open databases. To be called when the server ends.
    pub fn seal_all(&self) {
        let open = self.open.values();
        open.iter().for_each(|database| database.close());
    }
}
