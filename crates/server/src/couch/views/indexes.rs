//! The open indexes of a database, and bringing them up to date.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use varve_base::Interrupt;
use varve_btree::Direction;
use varve_docdb::{DESIGN_PREFIX, Document, IdRange, Rev, Snapshot};
use varve_views::{
    BuildContext, BuildThrottle, IndexKind, IndexOptions, IndexSnapshot, Signature, ViewError,
    ViewGroup, ViewIndex, remove_stale,
};

use crate::couch::call::Call;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::failures;
use crate::couch::views::build_log::{BuildLogger, RateLimiter};
use crate::couch::views::builds::Builds;
use crate::couch::views::index_copies::{self, KnownCopies};
use crate::couch::views::waiting::IndexWaits;
use crate::directory::INDEXES;
use crate::http::FailureKind;
use crate::runtime::repeats::fault_id;
use crate::{CouchContext, Failure};

/// Indexes of one database that are open.
#[derive(Debug, Default)]
pub struct Indexes {
    open: Mutex<OpenIndexes>,
    /// Number of those that are open, which can be read while one is being opened.
    count: AtomicUsize,
    builds: Builds,
    /// Clients that wait for a build.
    pub(super) waits: IndexWaits,
    limiter: RateLimiter,
    pub(super) copies: KnownCopies,
}

impl Indexes {
    fn lock(&self) -> MutexGuard<'_, OpenIndexes> {
        self.open.lock()
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Ends all builds and compactions; nothing is begun any more, and no file is made.
    pub fn end(&self) {
        let open = self.lock();
        self.builds.end_all();
        open.by_signature.values().for_each(|index| index.end());
    }

    /// To be called when a design document was written: if it needs another index than before, and no other does, the
    /// build of the old index ends. A function that never ends could not be mended otherwise.
    pub fn follow(&self, app: &CouchContext, snapshot: &Snapshot, id: &str) {
        let needed = snapshot.document(id).ok().flatten();
        let needed = needed.and_then(|document| {
            let (_, stored) = document.winner().filter(|_| !document.is_deleted())?;
            Some(group_of(app, snapshot, stored).ok()?.signature())
        });
        let mut open = self.lock();
        let known = open.by_design.get(id);
        let Some(signature) = known.map(|(_, index)| index.group().signature()) else {
            return;
        };
        if needed == Some(signature) {
            return;
        }
        open.by_design.remove(id);
        let mut others = open.by_design.values();
        if !others.any(|(_, other)| other.group().signature() == signature) {
            self.builds.end(signature);
        }
    }

    /// Ends the build of an index whose file is removed.
    pub(super) fn forget(&self, signature: Signature) {
        self.builds.end(signature);
    }

    /// Whether a power cut may undo writes to an index: no request waits for the disk, since an index can be made
    /// again.
    pub fn is_unsynced(&self, signature: Signature) -> bool {
        self.lock().unsynced.contains(&signature)
    }

    /// To be called when an index was compacted.
    pub fn synced(&self, signature: Signature) {
        self.lock().unsynced.remove(&signature);
    }

    /// Those that are open, each once, with the name of a design document.
    pub fn all(&self) -> Vec<(String, Arc<ViewIndex>)> {
        let open = self.lock();
        let mut all: Vec<(String, Arc<ViewIndex>)> = Vec::new();
        for (id, (_, index)) in &open.by_design {
            if !all.iter().any(|(_, known)| Arc::ptr_eq(known, index)) {
                let name = id.strip_prefix(DESIGN_PREFIX).unwrap_or(id);
                all.push((name.to_owned(), Arc::clone(index)));
            }
        }
        all
    }
}

#[derive(Debug, Default)]
struct OpenIndexes {
    /// Index of each design document, and the revision that defines it.
    by_design: HashMap<String, (Rev, Arc<ViewIndex>)>,
    /// No file is open twice.
    by_signature: HashMap<Signature, Arc<ViewIndex>>,
    /// Those that were written and not made durable since.
    unsynced: HashSet<Signature>,
}

/// The index of a design document, opened if it is not.
///
/// # Errors
/// 400 if the design document cannot be used.
pub fn index_of(
    app: &CouchContext,
    database: &OpenDatabase,
    snapshot: &Snapshot,
    design: &Document,
) -> Result<Arc<ViewIndex>, Failure> {
    let (rev, stored) = design.winner().ok_or_else(failures::missing)?;
    let indexes = &database.indexes;
    let mut open = indexes.lock();
    if let Some((known, index)) = open.by_design.get(design.id())
        && known == rev
    {
        return Ok(Arc::clone(index));
    }
    if indexes.builds.is_over() {
        return Err(failures::missing_database());
    }
    let group =
        group_of(app, snapshot, stored).map_err(|failure| failure.about(design.id(), rev))?;
    let group = Arc::new(group);
    let index = match open.by_signature.get(&group.signature()) {
        Some(index) => Arc::clone(index),
        None => {
            let storage = Arc::clone(app.storage());
            let options = options(app);
            let directory = directory_of(&database.name);
            Arc::new(ViewIndex::open(
                storage,
                &directory,
                Arc::clone(&group),
                options,
            )?)
        }
    };
    app.log().scope(|| log_damage(&index));
    open.by_signature
        .insert(group.signature(), Arc::clone(&index));
    let entry = (rev.clone(), Arc::clone(&index));
    open.by_design.insert(design.id().to_owned(), entry);
    // Indexes of the earlier design document, unless they are still read or built.
    open.by_signature
        .retain(|_, index| Arc::strong_count(index) > 1);
    indexes
        .count
        .store(open.by_signature.len(), Ordering::Relaxed);
    Ok(index)
}

/// Has an index built anew if an answer met damage in its file, and says so in the log.
pub fn discard_if_damaged(index: &ViewIndex, seen: &IndexSnapshot, failure: &Failure) {
    if failure.kind != FailureKind::IndexDamaged {
        return;
    }
    if let Err(error) = index.discard(seen, failure.reason.clone()) {
        tracing::error!("a damaged view index cannot be replaced: {error}");
    }
    log_damage(index);
}

/// Says in the log why an index is built anew, once; returns true if it is.
pub(super) fn log_damage(index: &ViewIndex) -> bool {
    let damage = index.take_damage();
    if let Some(damage) = &damage {
        let index = index.group().signature();
        tracing::warn!("the view index {index} is damaged and built anew: {damage}");
    }
    damage.is_some()
}

/// The index of a design document, if it is open.
fn if_open(call: &Call, design: &Document) -> Option<Arc<ViewIndex>> {
    let (rev, _) = design.winner()?;
    let indexes = &call.database.indexes;
    let open = indexes.lock();
    let (known, index) = open.by_design.get(design.id())?;
    (known == rev).then(|| Arc::clone(index))
}

/// The index of a design document as of the snapshot, without opening or building anything.
///
/// # Errors
/// [`Failure::would_block`] unless the index is open and current.
pub fn fresh(
    call: &Call,
    snapshot: &Snapshot,
    design: &Document,
) -> Result<(Arc<ViewIndex>, IndexSnapshot), Failure> {
    let fresh = if_open(call, design).and_then(|index| {
        let moment = index.get_if_current(snapshot)?;
        Some((index, moment))
    });
    fresh.ok_or_else(Failure::would_block)
}

fn group_of(
    app: &CouchContext,
    snapshot: &Snapshot,
    stored: &varve_docdb::Stored,
) -> Result<ViewGroup, Failure> {
    let mut text = Vec::new();
    snapshot.body(stored, &mut text)?;
    let group = ViewGroup::read(&varve_json::parse_object(&text)?)?;
    let group = match (snapshot.is_partitioned(), snapshot.has_access()) {
        (true, _) => group.by_partition(),
        (false, true) => group.by_principal()?,
        (false, false) => group,
    };
    Ok(match app.settings().functions.reduce_limit {
        true => group,
        false => group.with_growing_reduces(),
    })
}

pub(super) fn options(app: &CouchContext) -> IndexOptions {
    let of_databases = app.databases.options();
    IndexOptions {
        setting: of_databases.current_setting(),
        cache: of_databases.cache.clone(),
        memtable_budget: app.memtable_budget.clone(),
        limits: app.limits(),
        reduce_limit: app.settings().functions.reduce_limit,
    }
}

/// Where the index files of a database are.
pub fn directory_of(database: &str) -> PathBuf {
    Path::new(INDEXES).join(database.replace('/', "%2F"))
}

/// Removes the index files that no design document needs.
///
/// # Errors
/// 500 if the directory cannot be used.
pub fn clean_up(app: &CouchContext, database: &OpenDatabase) -> Result<(), Failure> {
    let snapshot = database.designs();
    let mut kept = Vec::new();
    for row in snapshot.all_docs(IdRange::DESIGN, Direction::Forward)? {
        // An unusable design document has no file.
        if let Ok(group) = group_of(app, &snapshot, &row?.stored) {
            kept.push(group.signature());
        }
    }
    let indexes = &database.indexes;
    let mut open = indexes.lock();
    open.by_signature
        .retain(|signature, _| kept.contains(signature));
    indexes
        .count
        .store(open.by_signature.len(), Ordering::Relaxed);
    open.unsynced.retain(|signature| kept.contains(signature));
    open.by_design
        .retain(|_, (_, index)| kept.contains(&index.group().signature()));
    let directory = directory_of(&database.name);
    let storage = app.storage().as_ref();
    remove_stale(storage, &directory, IndexKind::Views, &kept)?;
    drop(open);
    index_copies::remove_stale(app, database, &kept);
    Ok(())
}

/// Percent of the time in which a long build works while many requests come.
const BUILD_SHARE: u32 = 33;

/// Brings an index up to date, as a task that others can see.
#[derive(Clone)]
pub struct Refresh {
    pub(super) app: Arc<CouchContext>,
    /// Kept open while the index is written, so that no second one is opened beside it.
    pub(super) database: Arc<OpenDatabase>,
    pub(super) design: String,
}

impl Refresh {
    /// For the index of a design document.
    pub fn of(app: &Arc<CouchContext>, database: &Arc<OpenDatabase>, design: &str) -> Refresh {
        Refresh {
            app: Arc::clone(app),
            database: Arc::clone(database),
            design: design.to_owned(),
        }
    }

    /// For the index of a filter.
    pub fn of_filter(app: &Arc<CouchContext>, database: &Arc<OpenDatabase>) -> Refresh {
        Refresh::of(app, database, "_changes")
    }

    /// The index as of the snapshot. `interrupt` is raised to end the build, by this server too.
    ///
    /// # Errors
    /// 400 if its functions cannot be used.
    pub fn run(
        &self,
        index: &ViewIndex,
        snapshot: &Snapshot,
        interrupt: Interrupt,
    ) -> Result<IndexSnapshot, Failure> {
        let current = index.current(snapshot)?;
        if current.update_seq() == snapshot.update_seq() {
            return Ok(current);
        }
        // After a power cut, no index may know of commits that the database has lost.
        self.database.documents.sync()?;
        let fields = [
            ("database", self.database.name.as_str()),
            ("design_document", self.design.as_str()),
        ];
        let task = self.app.tasks().start("indexer", &fields);
        let build = self
            .database
            .indexes
            .builds
            .begin(index.group().signature(), interrupt);
        let log = BuildLogger {
            app: &self.app,
            task: &task,
            limiter: &self.database.indexes.limiter,
            database: &self.database.name,
            design: &self.design,
        };
        let throttle = self.app.server().scheduler.throttle(BUILD_SHARE);
        let throttle: BuildThrottle = Arc::new(move || throttle.pause());
        let context = BuildContext {
            throttle: &throttle,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            limits: self.app.limits(),
            compilation: self.app.compilation(),
            skips_failed: self.app.settings().functions.skip_failed,
            progress: &task,
            interrupt: &build.interrupt,
            log: &log,
        };
        self.fetch_copy(index, snapshot, &build.interrupt);
        let built = index.update_to(snapshot, &context);
        if self.app.log().scope(|| log_damage(index)) {
            self.database
                .indexes
                .copies
                .distrust(index.group().signature());
        }
        let view = match built {
            Err(ViewError::Interrupted(_)) => return Err(self.interrupted()),
            built => built?,
        };
        if index.group().kind() == IndexKind::Views {
            let signature = index.group().signature();
            self.database.indexes.lock().unsynced.insert(signature);
            if self.app.databases.is_shared() {
                self.database.to_store.mark();
            }
        }
        // Rows that went have left room.
        self.database.to_compact.mark();
        Ok(view)
    }

    pub(super) fn interrupted(&self) -> Failure {
        if self.database.documents.is_deleted() {
            return failures::missing_database();
        }
        let words = "the index is not built any more, because its design document was changed or the \
                     server stops";
        Failure::new(FailureKind::IndexAbandoned, "service_unavailable", words)
    }

    /// Logs why an index was not brought up to date, unless the database is gone or the server stops.
    pub fn report(&self, failure: &Failure) {
        if failure.kind != FailureKind::IndexAbandoned && !self.database.indexes.builds.is_over() {
            let (database, design) = (&self.database.name, &self.design);
            self.app.log().scope(|| {
                tracing::error!(
                    database,
                    design,
                    fault = fault_id(&failure.reason),
                    "the index of {design} in {database}: {failure}"
                )
            });
        }
    }
}
