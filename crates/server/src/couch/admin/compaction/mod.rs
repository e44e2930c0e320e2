//! Compaction of databases, as asked for and by itself.
//!
//! What clients ask for is done by one thread, one database after the other; what the settings ask
//! for by another ([`smoosh`]), so that neither waits for the other. The copying itself runs at
//! low priority; the short end, for which the writer waits, does not.

mod smoosh;

pub(crate) use smoosh::{pause, watch};

use crate::couch::call::Call;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::views;
use crate::runtime::throttle::Throttle;
use crate::{Answer, CouchContext, Failure};
use hyper::StatusCode;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use varve_base::{Interrupt, Progress};
use varve_docdb::{DESIGN_PREFIX, DocdbError};
use varve_views::{ViewError, ViewIndex};

/// Name of the task.
const TASK: &str = "database_compaction";
/// Name of the task for an index.
const VIEW_TASK: &str = "view_compaction";

/// Niceness of the threads that copy: requests come first, but do not get everything.
const NICENESS: i32 = 10;

/// What is compacted and what is to be.
#[derive(Debug, Default)]
pub(crate) struct Compactor {
    work: Mutex<Work>,
    /// BuildLogger when a thread ends.
    ended: Condvar,
    stop: Interrupt,
    /// Whether there is a thread that watches, or was.
    watches: AtomicBool,
    /// How many requests there were.
    pub(crate) requests: AtomicU64,
}

#[derive(Debug, Default)]
struct Work {
    waiting: VecDeque<Job>,
    /// Whether there is a thread for what is waiting.
    runs: bool,
    threads: usize,
}

/// What somebody asked for.
#[derive(Clone, Debug)]
struct Job {
    database: Arc<OpenDatabase>,
    /// The index of a design document, if that is to be compacted and not the database.
    index: Option<(String, Arc<ViewIndex>)>,
}

impl Job {
    fn is_same(&self, other: &Job) -> bool {
        let index = |job: &Job| job.index.as_ref().map(|(_, index)| Arc::as_ptr(index));
        Arc::ptr_eq(&self.database, &other.database) && index(self) == index(other)
    }

    fn run(&self, app: &CouchContext, stop: &Interrupt, why: Why<'_>) -> Result<(), Failed> {
        let database = &self.database;
        let name = ("database", database.name.as_str());
        let throttle = Throttle::new(app.settings().compaction.share, &app.compactor.requests);
        let watched = |task| Watched {
            task,
            why,
            throttle,
        };
        let (task, done) = match &self.index {
            None => {
                let task = app.tasks().start_in_phases(TASK, &[name]);
                let done = compact(app, database, stop, &watched(&task));
                (task, done.map_err(Failed::from))
            }
            Some((design, index)) => {
                let document = format!("{DESIGN_PREFIX}{design}");
                let fields = [name, ("design_document", &document)];
                let task = app.tasks().start(VIEW_TASK, &fields);
                let done = index.compact(&watched(&task), stop);
                let done = done.inspect(|()| database.indexes.synced(index.group().signature()));
                (task, done.map_err(Failed::from))
            }
        };
        done.inspect_err(|failed| {
            if failed.is_news() {
                task.fail(&failed.to_string());
            }
        })
    }

    /// Bytes of the file, and those that are needed; `None` if they cannot be read.
    fn sizes(&self) -> Option<(u64, u64)> {
        match &self.index {
            None => {
                let sizes = self.database.documents.sizes().ok()?;
                Some((sizes.file, sizes.active))
            }
            Some((_, index)) => {
                let sizes = index.sizes();
                Some((sizes.file, sizes.nodes))
            }
        }
    }
}

/// Why something was not compacted.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Database(#[from] DocdbError),
    #[error(transparent)]
    Index(#[from] ViewError),
}

impl Failed {
    /// Whether it was told to stop.
    fn is_interruption(&self) -> bool {
        matches!(
            self,
            Failed::Database(DocdbError::Interrupted) | Failed::Index(ViewError::Interrupted(_))
        )
    }

    /// Whether the operator should hear of it.
    fn is_news(&self) -> bool {
        let is_expected = matches!(
            self,
            Failed::Database(DocdbError::Deleted { .. } | DocdbError::CompactionRuns { .. })
        );
        !is_expected && !self.is_interruption()
    }
}

impl Compactor {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a database is being compacted or is to be, because somebody asked for it.
    pub(crate) fn has(&self, database: &OpenDatabase) -> bool {
        let waits = |job: &Job| job.index.is_none() && job.database.name == database.name;
        database.documents.is_compacting() || self.work().waiting.iter().any(waits)
    }

    /// Whether an index is being compacted or is to be.
    pub(crate) fn has_index(&self, index: &Arc<ViewIndex>) -> bool {
        let waits = |job: &Job| {
            let of = job.index.as_ref();
            of.is_some_and(|(_, other)| Arc::ptr_eq(other, index))
        };
        index.is_compacting() || self.work().waiting.iter().any(waits)
    }

    /// Ends what runs, without damage, and begins nothing more.
    pub(crate) fn stop(&self) {
        self.stop.raise();
        // Whoever is about to wait has seen the flag, or waits by now.
        drop(self.work());
        self.ended.notify_all();
    }

    /// Waits until what was stopped has removed what it left, but not for long.
    pub(crate) fn wait_for_end(&self, within: Duration) {
        let end = Instant::now() + within;
        let mut work = self.work();
        while work.threads > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.ended.wait_timeout(work, left);
            work = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the server stops.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_raised()
    }

    /// Runs something in the background that ends when the server stops; says whether it does.
    pub(crate) fn begin(
        app: &Arc<CouchContext>,
        name: &str,
        run: impl FnOnce(&Arc<CouchContext>) + Send + 'static,
    ) -> bool {
        let mut work = app.compactor.work();
        !app.compactor.stop.is_raised() && Compactor::spawn(app, &mut work, name, run)
    }

    /// Runs something on a thread that [`Compactor::wait_for_end`] waits for.
    fn spawn(
        app: &Arc<CouchContext>,
        work: &mut Work,
        name: &str,
        run: impl FnOnce(&Arc<CouchContext>) + Send + 'static,
    ) -> bool {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let app = Arc::clone(app);
        let started = thread.spawn(move || {
            let running = Running(Arc::clone(&app.compactor));
            run(&app);
            // Who waits for the thread may open the folder again at once.
            drop(app);
            drop(running);
        });
        work.threads += usize::from(started.is_ok());
        started.is_ok()
    }
}

/// Counts a thread until it ends, however that comes.
struct Running(Arc<Compactor>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.work().threads -= 1;
        self.0.ended.notify_all();
    }
}

/// Answers `POST /{db}/_compact`.
///
/// # Errors
/// 415 for another type than JSON, 401 or 403 for all but the database's admins, 507 if the disk
/// has no room for what is needed of the database.
pub fn answer(call: &Call) -> Result<Answer, Failure> {
    call.request.require_json()?;
    call.check_admin()?;
    call.database.documents.check_room()?;
    let database = Arc::clone(&call.database);
    ask(
        &call.app,
        Job {
            database,
            index: None,
        },
    );
    Ok(Answer::ok(StatusCode::ACCEPTED))
}

/// Answers `POST /{db}/_compact/{ddoc}`.
///
/// # Errors
/// As [`answer`]; 404 without such a design document.
pub fn answer_views(call: &Call, design: &str) -> Result<Answer, Failure> {
    call.request.require_json()?;
    call.check_admin()?;
    let index = views::index_named(call, design)?;
    let database = Arc::clone(&call.database);
    ask(
        &call.app,
        Job {
            database,
            index: Some((design.to_owned(), index)),
        },
    );
    Ok(Answer::ok(StatusCode::ACCEPTED))
}

/// Has something compacted, unless that is to be done already.
fn ask(app: &Arc<CouchContext>, job: Job) {
    let mut work = app.compactor.work();
    let is_known = work.waiting.iter().any(|other| other.is_same(&job));
    if is_known || app.compactor.stop.is_raised() {
        return;
    }
    work.waiting.push_back(job);
    if !work.runs {
        work.runs = Compactor::spawn(app, &mut work, "compaction", run);
    }
}

/// Works until nothing waits.
fn run(app: &Arc<CouchContext>) {
    loop {
        let next = {
            let mut work = app.compactor.work();
            let next = work.waiting.front().cloned();
            let next = next.filter(|_| !app.compactor.stop.is_raised());
            work.runs = next.is_some();
            next
        };
        let Some(job) = next else { return };
        let done = job.run(app, &app.compactor.stop, Why::Asked);
        app.compactor.work().waiting.pop_front();
        if let Err(failed) = done {
            report(app, &job.database, &failed);
        }
    }
}

/// Tells the operator why a compaction did not come to its end, if that is news.
fn report(app: &CouchContext, database: &OpenDatabase, failed: &Failed) {
    if failed.is_news() {
        let name = &database.name;
        app.log()
            .scope(|| tracing::error!(database = name, "compaction of {name}: {failed}"));
    }
}

/// Why a database is compacted.
#[derive(Clone, Copy)]
enum Why<'w> {
    /// Somebody asked for it.
    Asked,
    /// It seems to be worth it; this is called now and then, and may say stop.
    ByItself(&'w (dyn Fn() + Sync)),
}

/// Compacts a database.
fn compact(
    app: &CouchContext,
    database: &OpenDatabase,
    stop: &Interrupt,
    watched: &Watched<'_>,
) -> Result<(), DocdbError> {
    let documents = &database.documents;
    let copied = std::thread::scope(|scope| {
        let copying = std::thread::Builder::new().name("copying".to_owned());
        let copying = copying.spawn_scoped(scope, || {
            // Where that cannot be had, the work is done all the same.
            let _ = rustix::process::setpriority_process(None, NICENESS);
            if documents.compact_in_place(watched, stop)?.is_some() {
                return Ok(None);
            }
            let mut compaction = documents.begin_compaction()?;
            let copied = compaction.copy(watched, stop);
            copied.map(|()| Some(compaction))
        });
        copying.ok().and_then(|thread| thread.join().ok())
    });
    let abandoned = || DocdbError::Abandoned {
        path: documents.path().to_owned(),
    };
    let Some(copy) = copied.ok_or_else(abandoned)?? else {
        return Ok(());
    };
    if matches!(watched.why, Why::ByItself(_)) {
        copy.check_readable()?;
    }
    let unreadable = copy.finish(stop)?.unreadable;
    if !unreadable.is_empty() {
        let name = &database.name;
        app.log().scope(|| {
            tracing::warn!(
                database = name,
                "compaction of {name}: copied as it stands what cannot be read of {unreadable}; \
                 `varve verify` tells more"
            );
        });
    }
    Ok(())
}

/// A task that somebody else looks at too, and that rests now and then.
struct Watched<'t> {
    task: &'t crate::RunningTask,
    why: Why<'t>,
    throttle: Throttle<'t>,
}

impl Progress for Watched<'_> {
    fn begin(&self, step: &str, unit: varve_base::Unit, total: Option<u64>) {
        self.task.begin(step, unit, total);
    }

    fn advance(&self, amount: u64) {
        if let Why::ByItself(look) = self.why {
            look();
        }
        self.task.advance(amount);
        self.throttle.rest();
    }
}
