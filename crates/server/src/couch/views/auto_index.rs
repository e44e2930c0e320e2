//! Indexes are brought up to date behind writes, as `[ken]` says, so that the first query after many
//! writes need not wait; and those of design documents that are gone are removed.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use varve_btree::Direction;
use varve_docdb::{IdRange, Rev, Snapshot};
use varve_json::{Object, Value};
use varve_views::ViewIndex;

use crate::couch::admin::compaction::{Compactor, pause};
use crate::couch::database::registry::OpenDatabase;
use crate::couch::views::indexes::{Refresh, clean_up, index_of};
use crate::http::FailureKind;
use crate::{CouchContext, Failure};

/// An index that could not be brought up to date is tried again after this.
const AGAIN_AFTER: Duration = Duration::from_secs(600);

/// Says whether there is a thread that brings indexes up to date.
#[derive(Debug, Default)]
pub(crate) struct AutoIndexer {
    runs: AtomicBool,
}

/// Begins to bring indexes up to date, unless somebody does.
pub(crate) fn watch(app: &Arc<CouchContext>) {
    let runs = &app.auto_indexer.runs;
    let is_on = app.settings().ken.builds > 0;
    if is_on && !runs.load(Ordering::Relaxed) && !runs.swap(true, Ordering::AcqRel) {
        runs.store(Compactor::begin(app, "ken", run), Ordering::Release);
    }
}

/// What is known of the design documents of a database, by id.
type Known = HashMap<String, Design>;

struct Design {
    rev: Rev,
    /// Whether it has views that are to be kept up to date.
    is_wanted: bool,
    failed: Option<Instant>,
}

/// An index that is behind its database.
struct Job {
    database: Arc<OpenDatabase>,
    design: String,
    index: Arc<ViewIndex>,
    snapshot: Snapshot,
}

fn run(app: &Arc<CouchContext>) {
    let written = app.databases.written();
    let ken = &app.settings().ken;
    let mut databases: HashMap<String, Known> = HashMap::new();
    while !app.compactor.is_stopping() {
        written.wait();
        if written.is_empty() {
            continue;
        }
        pause(app, ken.wait);
        databases.retain(|name, _| app.databases.if_open(name).is_some());
        let mut jobs = VecDeque::new();
        for name in written.take() {
            if ken.ignored.contains(&name) {
                continue;
            }
            // One that was closed again is looked at after it is written to the next time.
            let Some(database) = app.databases.if_open(&name) else {
                continue;
            };
            database.to_index.taken();
            let known = databases.entry(name).or_default();
            if let Err(failure) = examine(app, &database, known, &mut jobs) {
                report(app, &database, &failure);
            }
        }
        for (name, design) in build_all(app, jobs, ken.builds) {
            let known = databases.get_mut(&name);
            if let Some(design) = known.and_then(|known| known.get_mut(&design)) {
                design.failed = Some(Instant::now());
            }
        }
    }
}

fn report(app: &CouchContext, database: &OpenDatabase, failure: &Failure) {
    if !database.documents.is_deleted() && !app.compactor.is_stopping() {
        let name = &database.name;
        app.log()
            .scope(|| tracing::error!(database = name, "indexes of {name}: {failure}"));
    }
}

/// Sees which indexes of a database are behind.
fn examine(
    app: &CouchContext,
    database: &Arc<OpenDatabase>,
    known: &mut Known,
    jobs: &mut VecDeque<Job>,
) -> Result<(), Failure> {
    let snapshot = database.documents.snapshot();
    if learn(&snapshot, known)? {
        clean_up(app, database)?;
    }
    let is_due = |design: &Design| {
        let rests = design
            .failed
            .is_some_and(|when| when.elapsed() < AGAIN_AFTER);
        design.is_wanted && !rests
    };
    for id in known.iter().filter(|(_, it)| is_due(it)).map(|(id, _)| id) {
        let Some(document) = snapshot.document(id)? else {
            continue;
        };
        // What cannot be used is told to whoever asks for it.
        let Ok(index) = index_of(app, database, &snapshot, &document) else {
            continue;
        };
        if index.get_if_current(&snapshot).is_none() {
            jobs.push_back(Job {
                database: Arc::clone(database),
                design: id.clone(),
                index,
                snapshot: snapshot.clone(),
            });
        }
    }
    Ok(())
}

/// Brings what is known of design documents up to date; says whether any has changed.
fn learn(snapshot: &Snapshot, known: &mut Known) -> Result<bool, Failure> {
    let (mut changed, mut found) = (false, Known::new());
    for row in snapshot.all_docs(IdRange::DESIGN, Direction::Forward)? {
        let row = row?;
        let same = known
            .remove(row.id())
            .filter(|design| design.rev == row.rev);
        changed |= same.is_none();
        let design = match same {
            Some(design) => design,
            None => {
                let mut text = Vec::new();
                snapshot.body(&row.stored, &mut text)?;
                Design {
                    rev: row.rev.clone(),
                    is_wanted: is_wanted(&varve_json::parse_object(&text)?),
                    failed: None,
                }
            }
        };
        found.insert(row.id().to_owned(), design);
    }
    // What is left is gone.
    changed |= !known.is_empty();
    *known = found;
    Ok(changed)
}

/// Whether a design document has views, and does not say that they are left alone.
fn is_wanted(design: &Object) -> bool {
    let views = design.get("views").and_then(Value::as_object);
    let is_off = design.get("autoupdate") == Some(&Value::Bool(false));
    views.is_some_and(|views| !views.is_empty()) && !is_off
}

/// Builds so many at the same time; returns database and design document of those that failed.
fn build_all(
    app: &Arc<CouchContext>,
    jobs: VecDeque<Job>,
    at_once: usize,
) -> Vec<(String, String)> {
    let threads = at_once.min(jobs.len());
    let (jobs, failed) = (Mutex::new(jobs), Mutex::default());
    let build = || {
        while let Some(job) = next(&jobs).filter(|_| !app.compactor.is_stopping()) {
            let refresh = Refresh::of(app, &job.database, &job.design);
            if let Err(failure) = refresh.run(&job.index, &job.snapshot) {
                refresh.report(&failure);
                if failure.kind == FailureKind::IndexAbandoned
                    || job.database.documents.is_deleted()
                {
                    continue;
                }
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                Vec::push(&mut failed, (job.database.name.clone(), job.design));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let thread = std::thread::Builder::new().name("ken".to_owned());
            // Without it the others do more.
            let _ = thread.spawn_scoped(scope, build);
        }
        build();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn next(jobs: &Mutex<VecDeque<Job>>) -> Option<Job> {
    let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
    jobs.pop_front()
}
