//! Compaction of databases, as asked for and by itself.
//!
//! What clients ask for is done by one thread, one database after the other; what the settings ask
//! for by another ([`smoosh`]), so that neither waits for the other. The copying itself runs at
//! low priority; the short end, for which the writer waits, does not.

mod smoosh;

pub(crate) use smoosh::{Noticed, watch};

use super::call::Call;
use super::open::OpenDatabase;
use crate::{Answer, App, Failure};
use hyper::StatusCode;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use varve_base::{Interrupt, Progress};
use varve_docdb::DocdbError;

/// Name of the task.
const TASK: &str = "database_compaction";

/// Niceness of the threads that copy: requests come first, but do not get everything.
const NICENESS: i32 = 10;

/// What is compacted and what is to be.
#[derive(Debug, Default)]
pub(crate) struct Compactor {
    work: Mutex<Work>,
    /// Told when a thread ends.
    ended: Condvar,
    stop: Interrupt,
}

#[derive(Debug, Default)]
struct Work {
    waiting: VecDeque<Arc<OpenDatabase>>,
    /// Whether there is a thread for what is waiting.
    runs: bool,
    /// Whether there is one that watches, or was.
    watches: bool,
    threads: usize,
}

impl Compactor {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a database is being compacted or is to be, because somebody asked for it.
    pub(crate) fn has(&self, database: &OpenDatabase) -> bool {
        let waits = |other: &Arc<OpenDatabase>| other.name == database.name;
        database.documents.is_compacting() || self.work().waiting.iter().any(waits)
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

    /// Runs something on a thread that [`Compactor::wait_for_end`] waits for.
    fn spawn(
        app: &Arc<App>,
        work: &mut Work,
        name: &str,
        run: impl FnOnce(&Arc<App>) + Send + 'static,
    ) -> bool {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let app = Arc::clone(app);
        let started = thread.spawn(move || {
            let running = Running(Arc::clone(&app));
            run(&app);
            drop(running);
        });
        work.threads += usize::from(started.is_ok());
        started.is_ok()
    }
}

/// Counts a thread until it ends, however that comes.
struct Running(Arc<App>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.compactor.work().threads -= 1;
        self.0.compactor.ended.notify_all();
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
    ask(&call.app, &call.database);
    Ok(Answer::ok(StatusCode::ACCEPTED))
}

/// Has a database compacted, unless that is to be done already.
fn ask(app: &Arc<App>, database: &Arc<OpenDatabase>) {
    if app.compactor.stop.is_raised() || app.compactor.has(database) {
        return;
    }
    let mut work = app.compactor.work();
    work.waiting.push_back(Arc::clone(database));
    if !work.runs {
        work.runs = Compactor::spawn(app, &mut work, "compaction", run);
    }
}

/// Works until nothing waits.
fn run(app: &Arc<App>) {
    loop {
        let next = {
            let mut work = app.compactor.work();
            let next = work.waiting.front().cloned();
            let next = next.filter(|_| !app.compactor.stop.is_raised());
            work.runs = next.is_some();
            next
        };
        let Some(database) = next else { return };
        let done = compact(app, &database, &app.compactor.stop, &|| {});
        app.compactor.work().waiting.pop_front();
        if let Err(error) = done {
            report(app, &database, &error);
        }
    }
}

/// Tells the operator why a compaction did not come to its end, if that is news.
fn report(app: &App, database: &OpenDatabase, error: &DocdbError) {
    let is_news = !matches!(
        error,
        DocdbError::Interrupted | DocdbError::Deleted { .. } | DocdbError::CompactionRuns { .. }
    );
    if is_news {
        app.report(&format!("compaction of {}: {error}", database.name));
    }
}

/// Compacts a database; `look` is called now and then.
fn compact(
    app: &App,
    database: &OpenDatabase,
    stop: &Interrupt,
    look: &(dyn Fn() + Sync),
) -> Result<(), DocdbError> {
    let mut compaction = database.documents.begin_compaction()?;
    let fields = [("database", database.name.as_str())];
    let task = app.tasks.start_in_phases(TASK, &fields);
    let watched = Watched { task: &task, look };
    let copied = std::thread::scope(|scope| {
        let copying = std::thread::Builder::new().name("copying".to_owned());
        let copying = copying.spawn_scoped(scope, || {
            // Where that cannot be had, the work is done all the same.
            let _ = rustix::process::setpriority_process(None, NICENESS);
            let copied = compaction.copy(&watched, stop);
            copied.map(|()| compaction)
        });
        copying.ok().and_then(|thread| thread.join().ok())
    });
    let abandoned = || DocdbError::Abandoned {
        path: database.documents.path().to_owned(),
    };
    copied.ok_or_else(abandoned)??.finish(stop)?;
    Ok(())
}

/// A task that somebody else looks at too.
struct Watched<'t> {
    task: &'t crate::RunningTask,
    look: &'t (dyn Fn() + Sync),
}

impl Progress for Watched<'_> {
    fn begin(&self, step: &str, unit: varve_base::Unit, total: Option<u64>) {
        self.task.begin(step, unit, total);
    }

    fn advance(&self, amount: u64) {
        (self.look)();
        self.task.advance(amount);
    }
}
