//! Documents of `_replicator`, and of databases whose names end in `/_replicator`: each asks for a replication.
//!
//! A document begins a job when it comes or changes, and ends it when it goes. The end of a job is written into the document
//! (`_replication_state`, `_replication_state_time`, `_replication_stats` or `_replication_state_reason`), which
//! then begins none again until these members are taken out.

mod listed;
mod stored;
mod waiting;

pub(super) use listed::{ListedDocument, list_documents};
pub(super) use waiting::{DocumentName, WaitingDocuments};

use super::api::identify;
use super::error::ReplicationError;
use super::job::{Job, JobOrigin, timestamp};
use super::scheduler::EndedJob;
use super::{REPLICATOR, is_replicator};
use crate::http::{FailureKind, blocking};
use crate::runtime::clock::now;
use crate::runtime::repeats::fault_id;
use crate::{CouchContext, Failure};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stored::{SeenDatabase, read_document, read_next, write_members};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use varve_config::Replicator;
use varve_json::{Object, Value};
use varve_replicate::replicator::{Parsed, ReplicationRequest, Selection};

/// Documents that are looked at before it is looked whether the server stops.
const STEP: usize = 100;
/// Filter functions that are asked for at the same time.
const MOST_IDENTIFYING: usize = 32;
/// Time in which further updates are gathered.
const GATHERING: Duration = Duration::from_millis(20);

/// Follows the documents until the server stops.
pub(in crate::couch) struct ReplicatorDocuments {
    app: Arc<CouchContext>,
    /// Up to where each database was looked at.
    seen: BTreeMap<String, SeenDatabase>,
    /// Up to which update databases were looked for.
    updated_until: u64,
    /// Requests for filter functions: a source that does not answer holds up no other document.
    identifying: JoinSet<()>,
    sources: Arc<Semaphore>,
    ended: Option<mpsc::UnboundedReceiver<EndedJob>>,
}

impl ReplicatorDocuments {
    pub(in crate::couch) fn new(app: Arc<CouchContext>) -> ReplicatorDocuments {
        let ended = app.replications.take_ended();
        ReplicatorDocuments {
            app,
            seen: BTreeMap::new(),
            updated_until: 0,
            identifying: JoinSet::new(),
            sources: Arc::new(Semaphore::new(MOST_IDENTIFYING)),
            ended,
        }
    }

    /// Follows all of them.
    pub(in crate::couch) async fn run(mut self) {
        let app = Arc::clone(&self.app);
        let mut updates = app.databases.updates().watch();
        let Some(mut ended) = self.ended.take() else {
            return;
        };
        self.find_databases().await;
        loop {
            updates.mark_unchanged();
            self.look_at_all().await;
            let retry_at = self.retry().await;
            tokio::select! {
                changed = updates.changed() => match changed {
                    Ok(()) => tokio::time::sleep(GATHERING).await,
                    Err(_) => return,
                },
                Some(job) = ended.recv() => complete(&self.app, job).await,
                Some(_) = self.identifying.join_next() => {}
                () = tokio::time::sleep_until(retry_at) => {}
            }
        }
    }

    /// Finds the databases that were there before the start.
    async fn find_databases(&mut self) {
        let app = Arc::clone(&self.app);
        let names = blocking(&self.app.executor().reads, move || app.database_names()).await;
        match names {
            Ok(names) => {
                let names = names.into_iter().filter(|name| is_replicator(name));
                self.seen = names.map(|name| (name, SeenDatabase::default())).collect();
            }
            Err(failure) => report(&self.app, REPLICATOR, &failure),
        }
    }

    async fn look_at_all(&mut self) {
        let updates = Arc::clone(self.app.databases.updates());
        let (names, last) = updates.names_since(self.updated_until, is_replicator);
        self.updated_until = last;
        for name in names {
            self.seen.entry(name).or_default();
        }
        let names: Vec<String> = self.seen.keys().cloned().collect();
        for name in names {
            let update = updates.last_of(&name);
            let is_new =
                |seen: &&mut SeenDatabase| seen.incarnation.is_empty() || seen.update != update;
            if let Some(seen) = self.seen.get_mut(&name).filter(is_new) {
                seen.update = update;
                while self.look_at(&name).await {}
            }
        }
    }

    /// Looks at the next documents of a database; returns whether there may be more.
    async fn look_at(&mut self, name: &str) -> bool {
        let (app, of) = (Arc::clone(&self.app), name.to_owned());
        let seen = self.seen.get(name).cloned().unwrap_or_default();
        let read = blocking(&self.app.executor().reads, move || {
            read_next(&app, &of, seen)
        });
        let (seen, found) = match read.await {
            Ok(read) => read,
            Err(failure) => {
                if failure.kind == FailureKind::NotFound {
                    self.end_all_of(name);
                } else {
                    report(&self.app, name, &failure);
                }
                return false;
            }
        };
        if self.seen.get(name).is_some_and(|known| {
            !known.incarnation.is_empty() && known.incarnation != seen.incarnation
        }) {
            self.end_all_of(name);
        }
        let has_more = found.len() >= STEP;
        self.seen.insert(name.to_owned(), seen);
        for (id, document) in found {
            self.see_to(name, &id, document).await;
        }
        has_more && !self.app.server().is_stopping()
    }

    /// Ends the jobs of a database that is no more.
    fn end_all_of(&mut self, name: &str) {
        self.seen.remove(name);
        let jobs = self.app.replications.all();
        let is_of = |job: &&Arc<Job>| {
            let document = job.origin.document.as_ref();
            document.is_some_and(|(database, _)| database == name)
        };
        for job in jobs.iter().filter(is_of) {
            self.app.replications.remove(job);
        }
        let waiting = &self.app.replications.waiting;
        waiting.forget(|(database, _)| database == name);
    }

    /// Begins the job of a document, or ends it.
    async fn see_to(&mut self, database: &str, id: &str, document: Option<Object>) {
        let jobs = &self.app.replications;
        let name = (database.to_owned(), id.to_owned());
        let known = jobs.of_document(database, id);
        let wanted = document.filter(|document| !is_at_its_end(document));
        let Some(document) = wanted else {
            jobs.waiting.forget(|waiting| *waiting == name);
            if let Some(job) = known {
                jobs.remove(&job);
            }
            return;
        };
        let settings = Arc::new(self.app.settings().replicator.clone());
        let request = match ReplicationRequest::parse(&document, &settings, None) {
            Ok(Parsed::Start(request)) => *request,
            // A document cannot cancel another one's replication: it is deleted for that.
            Ok(Parsed::Cancel(_)) => return,
            Err(error) => return fail(&self.app, &name, &error.into()).await,
        };
        if known.as_ref().is_some_and(|job| job.request == request) {
            return;
        }
        if let Some(job) = known {
            jobs.remove(&job);
        }
        let origin = JobOrigin {
            user: owner(&document),
            document: Some(name.clone()),
        };
        let begun = Begun {
            ticket: jobs.waiting.begin(&name),
            name,
            request,
            origin,
        };
        let app = Arc::clone(&self.app);
        if !begun.asks_source() {
            return add(&app, begun, &settings).await;
        }
        let sources = Arc::clone(&self.sources);
        self.identifying.spawn(async move {
            // The semaphore is never closed.
            let _permit = sources.acquire().await;
            add(&app, begun, &settings).await;
        });
    }

    /// Looks again at documents whose filter could not be had; returns when to do it again.
    async fn retry(&mut self) -> Instant {
        let now = Instant::now();
        let due = self.app.replications.waiting.due(now);
        for (database, id) in due {
            let (app, of, document) = (Arc::clone(&self.app), database.clone(), id.clone());
            let read = move || read_document(&*app.databases.get(&of)?, &document);
            match blocking(&self.app.executor().reads, read).await {
                Ok(document) => self.see_to(&database, &id, document).await,
                Err(failure) => report(&self.app, &database, &failure),
            }
        }
        let next = self.app.replications.waiting.next();
        next.unwrap_or(now + Duration::from_secs(3600))
    }
}

/// A document whose replication is to get its identity.
struct Begun {
    name: DocumentName,
    request: ReplicationRequest,
    origin: JobOrigin,
    /// Of the newest look at the document.
    ticket: u64,
}

impl Begun {
    /// Whether the identity has the text of a function in it, which only the source knows.
    fn asks_source(&self) -> bool {
        matches!(self.request.options.selection, Selection::Filter { .. })
    }
}

/// Adds the job of a document, unless that has changed meanwhile.
async fn add(app: &Arc<CouchContext>, begun: Begun, settings: &Arc<Replicator>) {
    let jobs = &app.replications;
    let Begun {
        name,
        request,
        origin,
        ticket,
    } = begun;
    let identity = identify(app, &request, settings).await;
    if !jobs.waiting.end(&name, ticket) {
        return;
    }
    let added = identity.and_then(|identity| jobs.add(identity, request, origin).map(drop));
    match added {
        Ok(()) => jobs.waiting.forget(|waiting| *waiting == name),
        Err(
            error @ (ReplicationError::Request(_)
            | ReplicationError::Selector(_)
            | ReplicationError::AlreadyStarted(_)),
        ) => fail(app, &name, &error).await,
        Err(error) => jobs.waiting.fail(name, &error),
    }
}

/// Writes into a document that its replication can never be.
async fn fail(app: &Arc<CouchContext>, name: &DocumentName, error: &ReplicationError) {
    app.replications.waiting.forget(|waiting| waiting == name);
    let mut state = Object::new();
    state.insert("_replication_state", "failed");
    state.insert("_replication_state_time", timestamp(now()));
    state.insert("_replication_state_reason", error.told());
    write_state(app, name, state).await;
}

/// Writes into a document that its replication is at its end.
async fn complete(app: &Arc<CouchContext>, job: EndedJob) {
    let mut state = Object::new();
    state.insert("_replication_id", job.id.base);
    state.insert("_replication_state", "completed");
    state.insert("_replication_state_time", timestamp(now()));
    state.insert("_replication_stats", job.stats);
    write_state(app, &(job.database, job.document), state).await;
}

async fn write_state(app: &Arc<CouchContext>, (database, id): &DocumentName, state: Object) {
    let (of, database_name, id) = (Arc::clone(app), database.clone(), id.clone());
    let write = move || write_members(&*of.databases.get(&database_name)?, &id, state);
    if let Err(failure) = blocking(&app.executor().commits, write).await {
        report(app, database, &failure);
    }
}

fn report(app: &CouchContext, database: &str, failure: &Failure) {
    app.log().scope(|| {
        let fault = fault_id(&failure.reason);
        tracing::error!(fault, "replications of {database:?}: {failure}");
    });
}

/// Whether the job of a document has come to its end.
fn is_at_its_end(document: &Object) -> bool {
    let state = document.get("_replication_state").and_then(Value::as_str);
    matches!(state, Some("completed" | "failed"))
}

/// The user whose document it is.
fn owner(document: &Object) -> Option<String> {
    let of = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let context = document
        .get("user_ctx")
        .and_then(|context| context.get("name"));
    of(document.get("owner")).or_else(|| of(context))
}
