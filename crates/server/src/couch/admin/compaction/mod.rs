//! Compaction of databases and indexes, as asked for and by itself.
//!
//! Compactions that clients ask for are one kind of job, those by the settings another
//! ([`AutoCompactor`]), so that neither waits for the other. The copying runs at low priority; the short end,
//! for which the writer waits, does not.

mod queue;
mod smoosh;

pub(crate) use queue::SmooshQueue;
pub(crate) use smoosh::AutoCompactor;

use crate::couch::call::Call;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::views;
use crate::runtime::scheduler::{Job, JobKind, with_low_priority};
use crate::runtime::throttle::Throttle;
use crate::{Answer, CouchContext, Failure};
use hyper::StatusCode;
use std::sync::Arc;
use varve_base::{Interrupt, Progress};
use varve_docdb::{DESIGN_PREFIX, DocdbError};
use varve_views::{ViewError, ViewIndex};

/// Name of the task.
const TASK: &str = "database_compaction";
/// Name of the task for an index.
const VIEW_TASK: &str = "view_compaction";

/// A file that can be compacted.
#[derive(Clone, Debug)]
struct CompactionTarget {
    database: Arc<OpenDatabase>,
    /// The index of a design document, if its file is meant and not that of the database.
    index: Option<(String, Arc<ViewIndex>)>,
}

impl CompactionTarget {
    /// The key of its jobs.
    fn key(&self) -> String {
        match &self.index {
            None => database_key(&self.database),
            Some((_, index)) => index_key(&self.database, index),
        }
    }

    fn compact(&self, app: &CouchContext, stop: &Interrupt, why: Why<'_>) -> Result<(), Failed> {
        let database = &self.database;
        let name = ("database", database.name.as_str());
        let throttle = app
            .server()
            .scheduler
            .throttle(app.settings().compaction.share);
        let progress = |task| CompactionProgress {
            task,
            why,
            throttle,
        };
        let (task, done) = match &self.index {
            None => {
                let task = app.tasks().start_in_phases(TASK, &[name]);
                let done = compact_database(app, database, stop, &progress(&task));
                if app.databases.is_shared() {
                    // Copies of its indexes name a commit of the file that was there before.
                    database.to_store.mark();
                }
                (task, done.map_err(Failed::from))
            }
            Some((design, index)) => {
                let document = format!("{DESIGN_PREFIX}{design}");
                let fields = [name, ("design_document", &document)];
                let task = app.tasks().start(VIEW_TASK, &fields);
                let done = index.compact(&progress(&task), stop);
                let done = done.inspect(|()| database.indexes.synced(index.group().signature()));
                (task, done.map_err(Failed::from))
            }
        };
        done.inspect_err(|failed| {
            if failed.is_unexpected() {
                task.fail(&failed.to_string());
            }
        })
    }

    /// Bytes of the file, and those that are needed; `None` if they cannot be read.
    fn sizes(&self) -> Option<(u64, u64)> {
        match &self.index {
            // The server that writes a database compacts its file.
            None if self.database.documents.is_following() => None,
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
    /// Whether the compaction was interrupted.
    fn is_interruption(&self) -> bool {
        matches!(
            self,
            Failed::Database(DocdbError::Interrupted) | Failed::Index(ViewError::Interrupted(_))
        )
    }

    /// Whether it belongs into the log.
    fn is_unexpected(&self) -> bool {
        let is_expected = matches!(
            self,
            Failed::Database(DocdbError::Deleted { .. } | DocdbError::CompactionRuns { .. })
        );
        !is_expected && !self.is_interruption()
    }
}

fn database_key(database: &OpenDatabase) -> String {
    format!("{} {}", database.name, database.incarnation)
}

fn index_key(database: &OpenDatabase, index: &ViewIndex) -> String {
    format!("{} {}", database_key(database), index.group().signature())
}

/// Whether a database is being compacted, or is to be because a client asked for it.
pub(crate) fn is_compacting(app: &CouchContext, database: &OpenDatabase) -> bool {
    let scheduler = &app.server().scheduler;
    database.documents.is_compacting()
        || scheduler.has(JobKind::Compaction, &database_key(database))
}

/// Whether an index is being compacted, or is to be because a client asked for it.
pub(crate) fn is_compacting_index(
    app: &CouchContext,
    database: &OpenDatabase,
    index: &ViewIndex,
) -> bool {
    let scheduler = &app.server().scheduler;
    index.is_compacting() || scheduler.has(JobKind::Compaction, &index_key(database, index))
}

/// Answers `POST /{db}/_compact`.
///
/// # Errors
/// 415 for another type than JSON, 401 or 403 for all but the database's admins, 507 if the disk has no room for the
/// compacted database.
pub fn answer(call: &Call) -> Result<Answer, Failure> {
    call.request.require_json()?;
    call.check_admin()?;
    call.database.documents.check_room()?;
    let database = Arc::clone(&call.database);
    request(
        &call.app,
        CompactionTarget {
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
    request(
        &call.app,
        CompactionTarget {
            database,
            index: Some((design.to_owned(), index)),
        },
    );
    Ok(Answer::ok(StatusCode::ACCEPTED))
}

/// Has a file compacted, unless that is to be done already.
fn request(app: &Arc<CouchContext>, target: CompactionTarget) {
    let scheduler = &app.server().scheduler;
    let app = Arc::clone(app);
    let job = Job::new(JobKind::Compaction, target.key(), move |stop| {
        if let Err(failed) = target.compact(&app, stop, Why::Requested) {
            report(&app, &target.database, &failed);
        }
    });
    // A server that stops begins no compaction.
    let _ = scheduler.submit(job);
}

/// Logs why a compaction did not come to its end, unless that is expected.
fn report(app: &CouchContext, database: &OpenDatabase, failed: &Failed) {
    if failed.is_unexpected() {
        let name = &database.name;
        app.log()
            .scope(|| tracing::error!(database = name, "compaction of {name}: {failed}"));
    }
}

/// Why a database is compacted.
#[derive(Clone, Copy)]
enum Why<'w> {
    /// A client asked for it.
    Requested,
    /// The settings ask for it. The closure is called now and then, and may raise the flag to stop.
    ByItself(&'w (dyn Fn() + Sync)),
}

fn compact_database(
    app: &CouchContext,
    database: &OpenDatabase,
    stop: &Interrupt,
    progress: &CompactionProgress<'_>,
) -> Result<(), DocdbError> {
    let documents = &database.documents;
    let copied = with_low_priority("copying", || {
        if documents.compact_in_place(progress, stop)?.is_some() {
            return Ok(None);
        }
        let mut compaction = documents.begin_compaction()?;
        let copied = compaction.copy(progress, stop);
        copied.map(|()| Some(compaction))
    });
    let abandoned = || DocdbError::Abandoned {
        path: documents.path().to_owned(),
    };
    let Some(copy) = copied.ok_or_else(abandoned)?? else {
        return Ok(());
    };
    if matches!(progress.why, Why::ByItself(_)) {
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

/// Progress of a compaction, which pauses now and then.
struct CompactionProgress<'t> {
    task: &'t crate::RunningTask,
    why: Why<'t>,
    throttle: Throttle,
}

impl Progress for CompactionProgress<'_> {
    fn begin(&self, step: &str, unit: varve_base::Unit, total: Option<u64>) {
        self.task.begin(step, unit, total);
    }

    fn advance(&self, amount: u64) {
        if let Why::ByItself(look) = self.why {
            look();
        }
        self.task.advance(amount);
        self.throttle.pause();
    }
}
