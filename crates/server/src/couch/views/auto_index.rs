//! Indexes are brought up to date behind writes, as `[ken]` says, so that the first query after many
//! writes finds its index current; index files that no design document needs are removed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use varve_base::Interrupt;
use varve_btree::Direction;
use varve_docdb::{IdRange, Rev, Snapshot};
use varve_json::{Object, Value};
use varve_views::ViewIndex;

use crate::couch::database::registry::OpenDatabase;
use crate::couch::views::indexes::{Refresh, clean_up, index_of};
use crate::http::FailureKind;
use crate::runtime::repeats::fault_id;
use crate::runtime::scheduler::JobKind;
use crate::{CouchContext, Failure};

/// An index that could not be brought up to date is tried again after this.
const RETRY_AFTER: Duration = Duration::from_secs(600);

/// Brings indexes up to date by the settings.
pub(crate) struct AutoIndexer {
    app: Arc<CouchContext>,
    databases: KnownDatabases,
}

/// Design documents of databases that were written to, by name and id.
type KnownDatabases = HashMap<String, KnownDesigns>;

type KnownDesigns = HashMap<String, KnownDesign>;

struct KnownDesign {
    rev: Rev,
    /// Whether it has views that are to be kept up to date.
    is_wanted: bool,
    failed: Option<Instant>,
}

/// An index that is behind its database.
struct StaleIndex {
    database: Arc<OpenDatabase>,
    design: String,
    index: Arc<ViewIndex>,
    snapshot: Snapshot,
}

impl AutoIndexer {
    pub(crate) fn new(app: Arc<CouchContext>) -> AutoIndexer {
        AutoIndexer {
            app,
            databases: KnownDatabases::new(),
        }
    }

    /// Looks after databases for ever, unless the settings switch it off.
    pub(crate) async fn run(mut self) {
        let app = Arc::clone(&self.app);
        let mut settings = app.watch_settings();
        let written = app.databases.written();
        loop {
            written.wait().await;
            // The settings last as long as the server.
            drop(settings.wait_for(|now| now.ken.builds > 0).await);
            sleep(app.settings().ken.wait).await;
            let ken = app.settings().ken.clone();
            let mut names = written.take();
            names.retain(|name| !ken.ignored.contains(name));
            let stale = self.find_stale(names).await;
            self.build(stale).await;
        }
    }

    async fn find_stale(&mut self, names: BTreeSet<String>) -> Vec<StaleIndex> {
        let app = Arc::clone(&self.app);
        let mut databases = std::mem::take(&mut self.databases);
        let find = move |_: &Interrupt| {
            databases.retain(|name, _| app.databases.if_open(name).is_some());
            let mut stale = Vec::new();
            for name in names {
                // A database that was closed again is looked at after the next write to it.
                let Some(database) = app.databases.if_open(&name) else {
                    continue;
                };
                database.to_index.clear();
                if database.documents.is_following() {
                    // Queries build the indexes of databases that another server writes.
                    continue;
                }
                let known = databases.entry(name).or_default();
                if let Err(failure) = examine(&app, &database, known, &mut stale) {
                    report(&app, &database, &failure);
                }
            }
            (databases, stale)
        };
        let scheduler = &self.app.server().scheduler;
        let found = scheduler.run(JobKind::AutoIndex, "examine", find).await;
        let (databases, stale) = found.unwrap_or_default();
        self.databases = databases;
        stale
    }

    /// Builds as many indexes at the same time as the kind has workers, and waits for all of them.
    async fn build(&mut self, stale: Vec<StaleIndex>) {
        let scheduler = &self.app.server().scheduler;
        let builds: Vec<_> = stale
            .into_iter()
            .map(|stale| {
                let app = Arc::clone(&self.app);
                let key = format!("{} {}", stale.database.name, stale.design);
                let names = (stale.database.name.clone(), stale.design.clone());
                let build = scheduler.start(JobKind::AutoIndex, key, move |stop| {
                    build(&app, &stale, stop)
                });
                (names, build)
            })
            .collect();
        for ((name, design), build) in builds {
            let has_failed = build.await != Ok(true);
            let known = self.databases.get_mut(&name);
            if has_failed && let Some(design) = known.and_then(|known| known.get_mut(&design)) {
                design.failed = Some(Instant::now());
            }
        }
    }
}

/// Returns `false` if the index is not to be tried again soon.
fn build(app: &Arc<CouchContext>, stale: &StaleIndex, stop: &Interrupt) -> bool {
    let refresh = Refresh::of(app, &stale.database, &stale.design);
    let Err(failure) = refresh.run(&stale.index, &stale.snapshot, stop.clone()) else {
        return true;
    };
    refresh.report(&failure);
    failure.kind == FailureKind::IndexAbandoned || stale.database.documents.is_deleted()
}

fn report(app: &CouchContext, database: &OpenDatabase, failure: &Failure) {
    if !database.documents.is_deleted() && !app.server().is_stopping() {
        let name = &database.name;
        app.log().scope(|| {
            let fault = fault_id(&failure.reason);
            tracing::error!(database = name, fault, "indexes of {name}: {failure}");
        });
    }
}

/// Adds the indexes of a database that are behind it.
fn examine(
    app: &CouchContext,
    database: &Arc<OpenDatabase>,
    known: &mut KnownDesigns,
    stale: &mut Vec<StaleIndex>,
) -> Result<(), Failure> {
    let snapshot = database.documents.snapshot();
    let designs = database.designs();
    if learn(&designs, known)? {
        clean_up(app, database)?;
    }
    let is_due = |design: &KnownDesign| {
        let has_failed = design
            .failed
            .is_some_and(|when| when.elapsed() < RETRY_AFTER);
        design.is_wanted && !has_failed
    };
    for id in known.iter().filter(|(_, it)| is_due(it)).map(|(id, _)| id) {
        let Some(document) = designs.document(id)? else {
            continue;
        };
        // A request for an index that cannot be used is answered with the reason.
        let Ok(index) = index_of(app, database, &snapshot, &document) else {
            continue;
        };
        if index.get_if_current(&snapshot).is_none() {
            stale.push(StaleIndex {
                database: Arc::clone(database),
                design: id.clone(),
                index,
                snapshot: snapshot.clone(),
            });
        }
    }
    Ok(())
}

/// Brings the known design documents up to date; returns whether any has changed.
fn learn(snapshot: &Snapshot, known: &mut KnownDesigns) -> Result<bool, Failure> {
    let (mut changed, mut found) = (false, KnownDesigns::new());
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
                KnownDesign {
                    rev: row.rev.clone(),
                    is_wanted: is_wanted(&varve_json::parse_object(&text)?),
                    failed: None,
                }
            }
        };
        found.insert(row.id().to_owned(), design);
    }
    // Those that are left were deleted.
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
