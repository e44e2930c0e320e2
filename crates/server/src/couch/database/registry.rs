//! Databases that are open, shared by all requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, watch};
use varve_base::Storage;
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Snapshot, Subscription};
use varve_js::Limits;

use crate::Failure;
use crate::couch::changes::db_updates::{Event, Updates};
use crate::couch::database::files::file_of;
use crate::couch::failures::missing_database;
use crate::couch::find::Definitions;
use crate::couch::functions::validate::Validators;
use crate::couch::views::indexes::{Indexes, folder_of};
use crate::http::FailureKind;
use crate::runtime::dirty::{DirtyFlag, DirtySet};
use crate::runtime::log::Log;

/// Feeds that read at the same time; a read is short, and its thread is not to be had for nothing.
const FEED_READS: usize = 8;
/// Digits of the database's id that stand in sequences.
const INCARNATION: usize = 16;

/// One open database.
#[derive(Debug)]
pub struct OpenDatabase {
    /// As in its URL.
    pub name: String,
    /// Its documents.
    pub documents: Database,
    /// 16 hexadecimal digits that another database of the same name does not have.
    pub incarnation: String,
    /// The number of the last update, told after each commit; feeds wait for it.
    commits: watch::Sender<u64>,
    used: AtomicU64,
    /// To whoever sees whether it should be compacted.
    pub(crate) to_compact: DirtyFlag,
    /// To whoever keeps its indexes up to date.
    pub(crate) to_index: DirtyFlag,
    validators: Mutex<Arc<Validators>>,
    /// Its views.
    pub indexes: Indexes,
    /// What its design documents say of json indexes.
    pub definitions: Definitions,
    _told: Subscription,
}

impl OpenDatabase {
    fn new(
        name: &str,
        documents: Database,
        (dirty, written): (&Arc<DirtySet>, &Arc<DirtySet>),
        updates: &Arc<Updates>,
    ) -> Result<OpenDatabase, Failure> {
        let info = documents.snapshot().info()?;
        let commits = watch::Sender::new(info.update_seq);
        let to_compact = DirtyFlag::new(name, dirty);
        let to_index = DirtyFlag::new(name, written);
        let (told, updates, of) = (commits.clone(), Arc::clone(updates), name.to_owned());
        let notices = (to_compact.clone(), to_index.clone());
        let told = documents.on_commit(move |update| {
            let before = told.send_replace(update);
            if update > before {
                updates.note(&of, Event::Updated);
                notices.1.tell();
            }
            notices.0.tell();
        });
        Ok(OpenDatabase {
            name: name.to_owned(),
            incarnation: info.uuid[..INCARNATION].to_owned(),
            documents,
            commits,
            used: AtomicU64::new(0),
            to_compact,
            to_index,
            validators: Mutex::default(),
            indexes: Indexes::default(),
            definitions: Definitions::default(),
            _told: told,
        })
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
        let known = Arc::clone(&lock(&self.validators));
        let current = Validators::of(snapshot, &known, limits)?;
        *lock(&self.validators) = Arc::clone(&current);
        Ok(current)
    }

    /// Changes whenever something was committed, and once more when the database is deleted.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }
}

/// All open databases of one server.
#[derive(Debug)]
pub struct Databases {
    storage: Arc<dyn Storage>,
    options: DatabaseOptions,
    log: Log,
    /// More files than this, of databases and of their indexes, make the longest unused databases
    /// close that nobody uses.
    most_open: usize,
    open: Mutex<HashMap<String, Arc<OpenDatabase>>>,
    /// Held while a file is opened, made or removed, so that no file is ever open twice.
    changing: Mutex<()>,
    clock: AtomicU64,
    dirty: Arc<DirtySet>,
    written: Arc<DirtySet>,
    updates: Arc<Updates>,
    /// Bounds how many feeds read at the same time: one commit may wake thousands of them.
    feed_reads: Semaphore,
}

impl Databases {
    /// Databases in the storage's folder of databases; new ones are made with these options. About
    /// `most_open` files of databases and indexes are kept open.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new(
        storage: Arc<dyn Storage>,
        options: DatabaseOptions,
        most_open: usize,
        log: Log,
    ) -> Result<Databases, getrandom::Error> {
        Ok(Databases {
            storage,
            options,
            log,
            most_open,
            open: Mutex::default(),
            changing: Mutex::default(),
            clock: AtomicU64::new(0),
            dirty: Arc::default(),
            written: Arc::default(),
            updates: Arc::new(Updates::new()?),
            feed_reads: Semaphore::new(FEED_READS),
        })
    }

    /// What happened to databases.
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

    /// The database, if it is open.
    pub(crate) fn if_open(&self, name: &str) -> Option<Arc<OpenDatabase>> {
        lock(&self.open).get(name).cloned()
    }

    /// What a feed holds while it reads.
    pub fn feed_reads(&self) -> &Semaphore {
        &self.feed_reads
    }

    /// The database, opened if it is not.
    ///
    /// # Errors
    /// 404 if there is none; 500 if its file cannot be read.
    pub fn get(&self, name: &str) -> Result<Arc<OpenDatabase>, Failure> {
        if let Some(database) = self.find(name) {
            return Ok(database);
        }
        let _changing = lock(&self.changing);
        if let Some(database) = self.find(name) {
            return Ok(database);
        }
        let storage = Arc::clone(&self.storage);
        match Database::open(storage, &file_of(name), &self.options) {
            Ok(documents) => {
                self.log_recovery(name, &documents);
                self.keep(name, documents)
            }
            Err(error) if error.is_not_found() => Err(missing_database()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a database; without a compression of its own it is compressed as the options say.
    ///
    /// # Errors
    /// 412 if it is there; 500 if its file cannot be made.
    pub fn create(
        &self,
        name: &str,
        compression: Option<EngineSetting>,
    ) -> Result<Arc<OpenDatabase>, Failure> {
        let _changing = lock(&self.changing);
        let storage = Arc::clone(&self.storage);
        let (path, options) = (file_of(name), &self.options);
        match Database::create_compressed(storage, &path, options, compression) {
            Ok(documents) => {
                let made = self.keep(name, documents)?;
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
    }

    /// Removes a database; requests that are under way see it to their end, feeds stop.
    ///
    /// # Errors
    /// 404 if there is none; 500 if its file cannot be removed.
    pub fn delete(&self, name: &str) -> Result<(), Failure> {
        let database = self.get(name)?;
        let _changing = lock(&self.changing);
        database.documents.delete()?;
        database.indexes.end();
        lock(&self.open).remove(name);
        self.updates.note(name, Event::Deleted);
        varve_views::remove_stale(self.storage.as_ref(), &folder_of(name), &[])?;
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
        if ignored > 0 {
            self.log.scope(|| {
                tracing::warn!(
                    database = name,
                    "{file} was opened at its newest whole commit; the last {ignored} bytes, an \
                     unfinished commit or damage, are left out"
                );
            });
        }
    }

    /// The database, if it is open; that counts as a use of it.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<OpenDatabase>> {
        let open = lock(&self.open);
        let database = open.get(name)?;
        database.used.store(self.tick(), Ordering::Relaxed);
        Some(Arc::clone(database))
    }

    fn keep(&self, name: &str, documents: Database) -> Result<Arc<OpenDatabase>, Failure> {
        let database = Arc::new(OpenDatabase::new(
            name,
            documents,
            (&self.dirty, &self.written),
            &self.updates,
        )?);
        database.used.store(self.tick(), Ordering::Relaxed);
        let mut open = lock(&self.open);
        make_room(&mut open, self.most_open);
        open.insert(name.to_owned(), Arc::clone(&database));
        drop(open);
        // Whoever hears of it finds it open; told before, it might be passed over for good.
        database.to_compact.tell();
        Ok(database)
    }

    /// Ends what is built in the background.
    pub fn end_builds(&self) {
        lock(&self.open)
            .values()
            .for_each(|open| open.indexes.end());
    }

    /// To be called when the server ends.
    pub fn seal_all(&self) {
        let open: Vec<_> = lock(&self.open).values().cloned().collect();
        open.iter().for_each(|database| seal(database));
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }
}

/// Closes the longest unused databases until there is room for one more file.
fn make_room(open: &mut HashMap<String, Arc<OpenDatabase>>, most: usize) {
    let files = |database: &OpenDatabase| 1 + database.indexes.len();
    let mut kept: usize = open.values().map(|database| files(database)).sum();
    while kept >= most {
        let idle = open
            .values()
            .filter(|database| Arc::strong_count(database) == 1);
        let oldest = idle.min_by_key(|database| database.used.load(Ordering::Relaxed));
        let Some(database) = oldest.map(|database| database.name.clone()) else {
            return;
        };
        let Some(database) = open.remove(&database) else {
            return;
        };
        kept -= files(&database);
        seal(&database);
    }
}

/// Only makes later damage easier to tell, so a disk that refuses is no reason not to close.
fn seal(database: &OpenDatabase) {
    let _ = database.documents.seal();
}

/// What the locks guard is whole after every statement, so a panic elsewhere does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
