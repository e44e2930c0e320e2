//! One open database.

mod compression;
mod copying;
mod current;
mod following;
mod options;
mod purging;
mod submit;
mod syncing;
mod upload;

pub use compression::{Compression, DictionaryInfo};
pub use options::{DatabaseOptions, Limits, NewDatabase, TrainsBy, Tuned};

use crate::beside::{check_free, remove_if_there, with_suffix};
use crate::compact;
use crate::edit::{Edit, EditOutcome, Mode, Prepared, Preparer};
use crate::record::{DocumentReducer, Header, MOST_TREES, TREES};
use crate::training::Training;
use crate::watch::Watch;
use crate::write::{Group, Job, Outcomes, Syncs, seal};
use crate::{DocdbError, Snapshot, Subscription};
pub use copying::ReadyCopies;
use parking_lot::{Condvar, Mutex, RwLock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
pub use submit::ReadyEdit;
pub use upload::{Announced, Upload, Uploaded};
pub(crate) use upload::{PIECE, Run};
use varve_base::{ReadMode, Storage};
use varve_btree::{ChunkStats, CommitId, NoReduction, Options, Reducer, TreeFile, kept_tail};
use varve_codec::EngineSetting;

/// Kind of file in the header of a database's file.
pub const KIND: [u8; 8] = *b"database";

/// How many ancestors of a leaf are remembered in a new database.
pub const DEFAULT_REVS_LIMIT: u64 = 1000;

/// Sizes of a database in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Length of the file without holes.
    pub file: u64,
    /// Of that, bytes that the newest commit needs: leaves' bodies and attachments, tree nodes.
    pub active: u64,
    /// The leaves' JSON texts before compression, and attachments as they are stored, gzip or not: what CouchDB counts.
    pub external: u64,
}

/// An open database; clones share it. All calls may be made from any thread, and reading never
/// waits for writing.
#[derive(Clone, Debug)]
pub struct Database {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    options: DatabaseOptions,
    current: RwLock<Current>,
    preparer: Preparer,
    group: Group<Job, Outcomes>,
    watch: Watch,
    is_deleted: AtomicBool,
    /// True while another process writes the file.
    is_following: AtomicBool,
    /// The last commit of that process that was seen. Held while its newest one is looked for.
    following: Mutex<Option<CommitId>>,
    next_id: AtomicU64,
    is_compacting: Mutex<bool>,
    /// Told when a compaction ends.
    compacted: Condvar,
    /// Set while a power cut could bring back the file that a compaction has replaced.
    is_swap_in_doubt: AtomicBool,
    training: Training,
    syncs: Syncs,
    /// Set once the storage has said that it has no holes.
    has_no_holes: AtomicBool,
}

/// The file, which a compaction replaces, and its newest commit.
#[derive(Debug)]
struct Current {
    file: Arc<TreeFile>,
    newest: Snapshot,
}

pub(crate) fn tree_options(options: &DatabaseOptions) -> Options {
    let counts = || Arc::new(NoReduction) as Arc<dyn Reducer>;
    let mut reducers = vec![counts(); MOST_TREES];
    reducers[crate::record::BY_ID] = Arc::new(DocumentReducer);
    Options {
        kind: KIND,
        reducers,
        optional_trees: MOST_TREES - TREES,
        setting: options.current_setting(),
        cache: options.cache.clone(),
    }
}

/// Options for a new file whose header says which trees it has.
pub(crate) fn options_of_new(mut options: Options, header: &Header) -> Options {
    options.reducers.truncate(header.trees());
    options
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], DocdbError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| DocdbError::NoRandom)?;
    Ok(bytes)
}

/// The header of a database that nothing was done to.
pub(crate) fn first_header(setting: EngineSetting, new: NewDatabase) -> Result<Header, DocdbError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_micros());
    Ok(Header {
        uuid: random()?,
        created: u64::try_from(now).unwrap_or(u64::MAX),
        update_seq: 0,
        purge_seq: 0,
        revs_limit: DEFAULT_REVS_LIMIT,
        security: None,
        setting: Some(setting),
        chosen: new.compression,
        chunk_stats: Some(ChunkStats::default()),
        next_dictionary: 1,
        dictionaries: Vec::new(),
        holes: 0,
        is_partitioned: new.is_partitioned,
        has_access: new.has_access,
    })
}

/// Cuts off all bytes behind the newest whole commit of the database at `path`, damaged commits too, and returns how many
/// bytes. No process may have the database open.
///
/// # Errors
/// Reasons for which the file cannot be opened, and errors of the storage.
pub fn cut_off_tail(
    storage: &dyn Storage,
    path: &Path,
    options: &DatabaseOptions,
) -> Result<u64, DocdbError> {
    let cut = TreeFile::cut_off_tail(storage, path, &tree_options(options))?;
    remove_if_there(storage, &kept_tail(path))?;
    Ok(cut)
}

/// Suffix of a database that is being made.
const UNFINISHED: &str = ".new";

/// Advice to users whose file opens for reading only.
const ADVICE: &str = "`varve verify FILE` says what is hit, `varve verify --salvage NEW FILE` makes a new database of \
     what can be read, and `varve verify --cut-off FILE` goes on with the newest whole commit and forgets what \
     stands behind it";

impl Database {
    /// Makes a new database; durable when this returns.
    ///
    /// # Errors
    /// [`DocdbError::is_already_there`] if something stands at `path`; an error of the storage.
    pub fn create(
        storage: Arc<dyn Storage>,
        path: &Path,
        wanted: &DatabaseOptions,
    ) -> Result<Database, DocdbError> {
        Database::create_with(storage, path, wanted, NewDatabase::default())
    }

    /// Makes a new database with properties of its own, which are in its file from the first commit on.
    ///
    /// # Errors
    /// As [`Database::create`].
    pub fn create_with(
        storage: Arc<dyn Storage>,
        path: &Path,
        wanted: &DatabaseOptions,
        new: NewDatabase,
    ) -> Result<Database, DocdbError> {
        let setting = new.compression.unwrap_or(wanted.current_setting());
        let header = first_header(setting, new)?;
        check_free(storage.as_ref(), path)?;
        // The file's bytes are durable before it has its name. A file under its name is therefore whole, or damaged;
        // never one whose creation was cut short.
        let beside = with_suffix(path, UNFINISHED);
        remove_if_there(storage.as_ref(), &beside)?;
        let options = options_of_new(tree_options(wanted), &header);
        TreeFile::create_to_rename(storage.as_ref(), &beside, options, &header.encode())?;
        // Rests of an earlier database of this name go with the same sync that makes the name durable.
        remove_if_there(storage.as_ref(), &kept_tail(path))?;
        compact::remove_rests(storage.as_ref(), path)?;
        storage.rename(&beside, path)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        storage.sync_directory(directory)?;
        let file = TreeFile::open(storage.as_ref(), path, tree_options(wanted))?;
        Database::make(storage, path, wanted, (file, 1))
    }

    /// Opens a database; edits not acknowledged before a crash may be gone, all others are there. Files that a crashed
    /// compaction has left are removed, unless the next one can go on with them.
    ///
    /// # Errors
    /// [`DocdbError::is_not_found`]; damage, naming file, offset and reason.
    pub fn open(
        storage: Arc<dyn Storage>,
        path: &Path,
        wanted: &DatabaseOptions,
    ) -> Result<Database, DocdbError> {
        let file = TreeFile::open_keeping(storage.as_ref(), path, tree_options(wanted))?;
        if file.is_read_only() {
            return Database::make(storage, path, wanted, (file, 1));
        }
        let options = tree_options(wanted);
        let next = compact::keep_begun(storage.as_ref(), path, options, &file)?;
        let database = Database::make(storage, path, wanted, (file, next))?;
        // The last writer may have been killed before the sync that was to follow.
        database.sync()?;
        Ok(database)
    }

    /// The newest commit of a database that another process may be writing to; nothing is changed.
    ///
    /// # Errors
    /// See [`Database::open`].
    pub fn read_only(
        storage: &dyn Storage,
        path: &Path,
        wanted: &DatabaseOptions,
    ) -> Result<Snapshot, DocdbError> {
        let file = TreeFile::open_read_only(storage, path, tree_options(wanted))?;
        Snapshot::new(file.snapshot(), path)
    }

    fn make(
        storage: Arc<dyn Storage>,
        path: &Path,
        wanted: &DatabaseOptions,
        (file, next_dictionary): (TreeFile, u32),
    ) -> Result<Database, DocdbError> {
        let newest = Snapshot::new(file.snapshot(), path)?;
        let training = Training::new(newest.header().next_dictionary.max(next_dictionary));
        let shared = Shared {
            storage,
            path: path.to_owned(),
            options: wanted.clone(),
            preparer: Preparer::new(wanted),
            group: Group::new(),
            watch: Watch::new(newest.update_seq()),
            current: RwLock::new(Current {
                file: Arc::new(file),
                newest,
            }),
            is_deleted: AtomicBool::new(false),
            is_following: AtomicBool::new(false),
            following: Mutex::default(),
            next_id: AtomicU64::new(u64::from_le_bytes(random()?) >> 24),
            is_compacting: Mutex::new(false),
            compacted: Condvar::new(),
            is_swap_in_doubt: AtomicBool::new(false),
            training,
            syncs: Syncs::new(wanted.durability),
            has_no_holes: AtomicBool::new(false),
        };
        Ok(Database {
            shared: Arc::new(shared),
        })
    }

    /// The path that it was opened with.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The newest commit.
    pub fn snapshot(&self) -> Snapshot {
        let current = self.shared.current.read();
        current.newest.clone()
    }

    /// True if the newest commit is this one or has come of it, so that what was made of that one's documents can be brought up to
    /// date. False after a compaction, which leaves no commit before it, and for those of another database of the same name, also
    /// of an earlier state of this one that went on otherwise.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn contains_commit(&self, id: &CommitId) -> Result<bool, DocdbError> {
        Ok(self.file().follows(id)?)
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.shared.storage
    }

    /// The same for a new file with this header.
    pub(crate) fn new_tree_options(&self, header: &Header) -> Options {
        options_of_new(self.tree_options(), header)
    }

    pub(crate) fn tree_options(&self) -> Options {
        Options {
            setting: self.setting(),
            ..tree_options(&self.shared.options)
        }
    }

    /// Edits documents, in as few commits as there are calls at the same time. Everything that was
    /// accepted is as durable as the options say when this returns; outcomes have the order of the edits. Edits without
    /// an id get one.
    ///
    /// # Errors
    /// Errors that make the whole commit fail; then nothing of it is done.
    pub fn update(&self, mut edits: Vec<Edit>, mode: Mode) -> Result<Vec<EditOutcome>, DocdbError> {
        if edits.is_empty() {
            return Ok(Vec::new());
        }
        for edit in edits.iter_mut().filter(|edit| edit.id.is_empty()) {
            edit.id = self.new_id();
        }
        let prepared = self.prepare_all(edits, mode, ReadMode::Blocking)?;
        self.submit(Job::Edits(prepared))
    }

    fn prepare_all(
        &self,
        edits: Vec<Edit>,
        mode: Mode,
        reads: ReadMode,
    ) -> Result<Vec<Prepared>, DocdbError> {
        let snapshot = self.snapshot().with_mode(reads);
        let method = self.body_codec_of(&snapshot);
        let preparer = &self.shared.preparer;
        preparer.prepare(edits, mode, &method, &snapshot)
    }

    /// Edits one document.
    ///
    /// # Errors
    /// As [`Database::update`].
    pub fn update_one(&self, edit: Edit, mode: Mode) -> Result<EditOutcome, DocdbError> {
        let outcomes = self.update(vec![edit], mode)?;
        let outcome = outcomes.into_iter().next();
        outcome.ok_or_else(|| self.snapshot().abandoned())
    }

    /// Replaces the security object.
    ///
    /// # Errors
    /// As [`Database::update`].
    pub fn set_security(&self, security: &varve_json::Object) -> Result<(), DocdbError> {
        let mut text = Vec::new();
        varve_json::write_object(security, &mut text);
        let method = self.body_codec_of(&self.snapshot());
        let chunk = self.shared.preparer.chunk(&text, &method)?;
        self.submit(Job::Security(chunk, method)).map(drop)
    }

    /// Sets how many ancestors of a leaf are remembered, at least 1; documents are cut when they
    /// are edited next.
    ///
    /// # Errors
    /// As [`Database::update`].
    pub fn set_revs_limit(&self, limit: u64) -> Result<(), DocdbError> {
        self.submit(Job::RevsLimit(limit.max(1))).map(drop)
    }

    /// An id for a document without one: ids that are made one after the other sort so too.
    pub fn new_id(&self) -> String {
        let uuid = u64::from_le_bytes(self.snapshot().uuid_bytes());
        let number = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        format!("{uuid:016x}{number:016x}")
    }

    /// Bytes behind the newest whole commit that opening left out: an append that a crash cut
    /// short, which was never acknowledged, or damage that looks like one. Usually 0.
    pub fn ignored_tail(&self) -> u64 {
        self.file().recovery().ignored
    }

    /// The damage of the newest commits, if there is any: why the database is open for reading only, or which
    /// file keeps a commit that is not whole.
    ///
    /// # Errors
    /// An error of the storage.
    pub fn finding(&self) -> Result<Option<String>, DocdbError> {
        if let Some(reason) = self.why_read_only() {
            return Ok(Some(reason));
        }
        let kept = kept_tail(&self.shared.path);
        let is_kept = self.shared.storage.kind(&kept)?.is_some();
        Ok(is_kept.then(|| {
            format!(
                "a commit behind the newest whole one was not whole when the file was opened, by a power cut or damage, \
                 and was cut off; its bytes are kept in {}, until that file is removed",
                kept.display()
            )
        }))
    }

    /// Why nothing can be written, if that is so.
    pub fn why_read_only(&self) -> Option<String> {
        let file = self.file();
        file.is_read_only()
            .then(|| match file.recovery().tail.damage() {
                Some(damage) => format!("{damage}; {ADVICE}"),
                None if self.is_following() => "another process writes to it".to_owned(),
                None => "its rights, or those of its file system, forbid to write to it".to_owned(),
            })
    }

    /// To be called before the database is closed for a while: from then on damage to the last commit only hits those
    /// documents whose bytes it hits. Without it, such damage looks to the next opening as if the commit had been cut
    /// short by a crash.
    ///
    /// # Errors
    /// As [`Database::update`].
    pub fn seal(&self) -> Result<(), DocdbError> {
        self.sync()?;
        self.write(|_, txn| seal(txn, &self.shared.path))
    }

    /// Whether one bit of the file's header is flipped; it is read as it was.
    pub fn is_header_damaged(&self) -> bool {
        self.file().recovery().is_header_damaged
    }

    /// Sizes as of the newest commit.
    ///
    /// # Errors
    /// Damage.
    pub fn sizes(&self) -> Result<Sizes, DocdbError> {
        let (file, newest) = {
            let current = self.shared.current.read();
            (current.file.sizes(), current.newest.clone())
        };
        let info = newest.info()?;
        let taken = file.file.saturating_sub(newest.header().holes);
        Ok(Sizes {
            file: taken,
            active: info
                .documents_active
                .saturating_add(file.nodes)
                // Another compaction would repeat them, too.
                .saturating_add(file.roots)
                .min(taken),
            external: info.external,
        })
    }

    /// Waits until the update sequence is above `since`, the time is over, or the database is
    /// deleted; returns the sequence.
    pub fn wait_beyond(&self, since: u64, timeout: Duration) -> u64 {
        self.shared.watch.wait_beyond(since, timeout)
    }

    /// Calls back with the update sequence after every commit, and once more when the database is
    /// deleted, until the subscription is dropped. The call must be short: the writer waits for it.
    pub fn on_commit(&self, call: impl Fn(u64) + Send + Sync + 'static) -> Subscription {
        self.shared.watch.subscribe(Box::new(call))
    }

    /// Removes the database's file, and the files of an unfinished compaction. Handles that are still open refuse edits
    /// with [`DocdbError::Deleted`]; snapshots can be read to their end.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn delete(&self) -> Result<(), DocdbError> {
        let shared = &self.shared;
        // Writers and compactions look at the mark after this, so nothing is committed and no
        // file comes into this place any more.
        let marked = self.write(|_, txn| {
            shared.is_deleted.store(true, Ordering::Release);
            drop(txn);
            Ok(())
        });
        match marked {
            // There are no writers.
            Err(DocdbError::ReadOnly { .. } | DocdbError::Removed { .. }) => {
                shared.is_deleted.store(true, Ordering::Release);
            }
            marked => marked?,
        }
        let mut compacting = self.compacting();
        while *compacting {
            shared.compacted.wait(&mut compacting);
        }
        drop(compacting);
        compact::remove_rests(shared.storage.as_ref(), &shared.path)?;
        remove_if_there(shared.storage.as_ref(), &kept_tail(&shared.path))?;
        remove_if_there(shared.storage.as_ref(), &shared.path)?;
        let directory = shared.path.parent().unwrap_or(Path::new(""));
        match shared.storage.sync_directory(directory) {
            // Removed as well.
            Err(error) if error.is_not_found() => {}
            synced => synced?,
        }
        shared.watch.close();
        Ok(())
    }

    /// Whether it was deleted, through this handle or another.
    pub fn is_deleted(&self) -> bool {
        self.shared.is_deleted.load(Ordering::Acquire)
    }

    pub(crate) fn deleted(&self) -> DocdbError {
        DocdbError::Deleted {
            path: self.shared.path.clone(),
        }
    }
}
