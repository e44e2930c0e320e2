//! Documents of `_replicator`, and of databases whose names end in `/_replicator`: each asks for a replication.
//!
//! A document begins a job when it comes or changes, and ends it when it goes. The end of a job is written into the document
//! (`_replication_state`, `_replication_state_time`, `_replication_stats` or `_replication_state_reason`), which
//! then begins none again until these members are taken out.

use super::api::identify;
use super::error::ReplicationError;
use super::job::{JobOrigin, timestamp};
use super::scheduler::EndedJob;
use super::{REPLICATOR, is_replicator};
use crate::couch::database::registry::OpenDatabase;
use crate::http::{FailureKind, blocking};
use crate::runtime::clock::now;
use crate::runtime::repeats::fault_id;
use crate::{CouchContext, Failure};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use varve_btree::Direction;
use varve_docdb::{DESIGN_PREFIX, Edit, Mode};
use varve_json::{Object, Value};
use varve_replicate::replicator::{Parsed, ReplicationRequest, backoff};

/// Documents that are looked at before it is looked whether the server stops.
const STEP: usize = 100;
/// Time in which further updates are gathered.
const GATHERING: Duration = Duration::from_millis(20);

/// A document whose replication has no identity yet: its filter cannot be had from the source.
#[derive(Clone, Debug)]
pub(super) struct WaitingDocument {
    pub reason: String,
    pub failures: u32,
    pub retry_at: Instant,
}

/// Database and id of a document.
pub(super) type DocumentName = (String, String);

/// Follows the documents until the server stops.
pub(in crate::couch) struct ReplicatorDocuments {
    app: Arc<CouchContext>,
    /// Up to where each database was looked at.
    seen: BTreeMap<String, SeenDatabase>,
    /// Up to which update databases were looked for.
    updated_until: u64,
    ended: Option<mpsc::UnboundedReceiver<EndedJob>>,
}

#[derive(Clone, Debug, Default)]
struct SeenDatabase {
    incarnation: String,
    sequence: u64,
    update: Option<u64>,
}

/// A document as it was when it was looked at; `None` for one that is gone.
type ReadDocument = (String, Option<Object>);

impl ReplicatorDocuments {
    pub(in crate::couch) fn new(app: Arc<CouchContext>) -> ReplicatorDocuments {
        let ended = app.replications.take_ended();
        ReplicatorDocuments {
            app,
            seen: BTreeMap::new(),
            updated_until: 0,
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
                Some(job) = ended.recv() => self.complete(job).await,
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
        let is_of = |job: &&Arc<super::job::Job>| {
            let document = job.origin.document.as_ref();
            document.is_some_and(|(database, _)| database == name)
        };
        for job in jobs.iter().filter(is_of) {
            self.app.replications.remove(&job.id.base);
        }
        self.app
            .replications
            .forget_waiting(|(database, _)| database == name);
    }

    /// Begins the job of a document, or ends it.
    async fn see_to(&self, database: &str, id: &str, document: Option<Object>) {
        let jobs = &self.app.replications;
        let name = (database.to_owned(), id.to_owned());
        let known = jobs.of_document(database, id);
        let wanted = document.filter(|document| !is_at_its_end(document));
        let Some(document) = wanted else {
            jobs.forget_waiting(|waiting| *waiting == name);
            if let Some(job) = known {
                jobs.remove(&job.id.base);
            }
            return;
        };
        let settings = Arc::new(self.app.settings().replicator.clone());
        let request = match ReplicationRequest::parse(&document, &settings) {
            Ok(Parsed::Start(request)) => *request,
            // A document cannot cancel another one's replication: it is deleted for that.
            Ok(Parsed::Cancel(_)) => return,
            Err(error) => return self.fail(&name, &error.into()).await,
        };
        if known.as_ref().is_some_and(|job| job.request == request) {
            return;
        }
        if let Some(job) = known {
            jobs.remove(&job.id.base);
        }
        let origin = JobOrigin {
            user: owner(&document),
            document: Some(name.clone()),
        };
        let added = match identify(&self.app, &request, &settings).await {
            Ok(identity) => jobs.add(identity, request, origin).map(drop),
            Err(error) => Err(error),
        };
        match added {
            Ok(()) => jobs.forget_waiting(|waiting| *waiting == name),
            Err(
                error @ (ReplicationError::Request(_)
                | ReplicationError::Selector(_)
                | ReplicationError::AlreadyStarted(_)),
            ) => self.fail(&name, &error).await,
            Err(error) => jobs.wait_for_identity(name, &error),
        }
    }

    /// Looks again at documents whose filter could not be had; returns when to do it again.
    async fn retry(&self) -> Instant {
        let now = Instant::now();
        let due = self.app.replications.waiting_until(now);
        for (database, id) in due {
            let (app, of, document) = (Arc::clone(&self.app), database.clone(), id.clone());
            let read = move || read_document(&*app.databases.get(&of)?, &document);
            match blocking(&self.app.executor().reads, read).await {
                Ok(document) => self.see_to(&database, &id, document).await,
                Err(failure) => report(&self.app, &database, &failure),
            }
        }
        let next = self.app.replications.next_waiting();
        next.unwrap_or(now + Duration::from_secs(3600))
    }

    /// Writes into a document that its replication can never be.
    async fn fail(&self, name: &DocumentName, error: &ReplicationError) {
        self.app
            .replications
            .forget_waiting(|waiting| waiting == name);
        let mut state = Object::new();
        state.insert("_replication_state", "failed");
        state.insert("_replication_state_time", timestamp(now()));
        state.insert("_replication_state_reason", error.told());
        self.write_state(name, state).await;
    }

    /// Writes into a document that its replication is at its end.
    async fn complete(&self, job: EndedJob) {
        let mut state = Object::new();
        state.insert("_replication_id", job.id.base);
        state.insert("_replication_state", "completed");
        state.insert("_replication_state_time", timestamp(now()));
        state.insert("_replication_stats", job.stats);
        self.write_state(&(job.database, job.document), state).await;
    }

    async fn write_state(&self, (database, id): &DocumentName, state: Object) {
        let (app, of, document) = (Arc::clone(&self.app), database.clone(), id.clone());
        let write = move || write_members(&*app.databases.get(&of)?, &document, state);
        if let Err(failure) = blocking(&self.app.executor().commits, write).await {
            report(&self.app, database, &failure);
        }
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

/// The next documents that changed, and up to where they were read.
fn read_next(
    app: &CouchContext,
    name: &str,
    seen: SeenDatabase,
) -> Result<(SeenDatabase, Vec<ReadDocument>), Failure> {
    let database = app.databases.get(name)?;
    let since = match seen.incarnation == database.incarnation {
        true => seen.sequence,
        false => 0,
    };
    let mut now = SeenDatabase {
        incarnation: database.incarnation.clone(),
        sequence: since,
        update: seen.update,
    };
    let mut found = Vec::new();
    let snapshot = database.documents.snapshot();
    for change in snapshot.changes(since, Direction::Forward)? {
        let change = change?;
        now.sequence = change.seq;
        if change.id.starts_with(DESIGN_PREFIX) {
            continue;
        }
        let document = read_document(&database, &change.id)?;
        found.push((change.id, document));
        if found.len() == STEP {
            break;
        }
    }
    Ok((now, found))
}

/// The winning revision of a document; `None` if it is deleted.
fn read_document(database: &OpenDatabase, id: &str) -> Result<Option<Object>, Failure> {
    let snapshot = database.documents.snapshot();
    let Some(document) = snapshot.document(id)? else {
        return Ok(None);
    };
    let Some((_, stored)) = document.winner().filter(|_| !document.is_deleted()) else {
        return Ok(None);
    };
    let mut text = Vec::new();
    snapshot.body(stored, &mut text)?;
    Ok(Some(varve_json::parse_object(&text)?))
}

/// Sets members of a document that is there. One with attachments stays as it is: an edit without them would lose them.
fn write_members(database: &OpenDatabase, id: &str, members: Object) -> Result<(), Failure> {
    let snapshot = database.documents.snapshot();
    let Some(document) = snapshot.document(id)? else {
        return Ok(());
    };
    let Some((rev, stored)) = document.winner().filter(|_| !document.is_deleted()) else {
        return Ok(());
    };
    if stored.attachments.is_some() {
        return Ok(());
    }
    let mut text = Vec::new();
    snapshot.body(stored, &mut text)?;
    let mut body = varve_json::parse_object(&text)?;
    for name in ["_replication_state_reason", "_replication_stats"] {
        body.remove(name);
    }
    for (name, value) in members {
        body.insert(name, value);
    }
    let mut edit = Edit::new(Some(id), body)?;
    edit.set_rev(&rev.to_string())?;
    match database.documents.update_one(edit, Mode::Interactive)? {
        Ok(_) => Ok(()),
        // A newer revision counts, which is looked at next.
        Err(varve_docdb::EditError::Conflict) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What a list shows of a document.
pub(super) struct ListedDocument {
    pub database: String,
    pub id: String,
    pub replication_id: Option<String>,
    pub source: Option<String>,
    pub target: Option<String>,
    pub state: Option<String>,
    pub info: Value,
    pub updated: Option<String>,
}

/// The documents of one of the databases, or of all.
pub(super) fn list_documents(
    app: &CouchContext,
    database: Option<&str>,
) -> Result<Vec<ListedDocument>, Failure> {
    let names = match database {
        Some(name) => vec![name.to_owned()],
        None => {
            let names = app.database_names()?.into_iter();
            names.filter(|name| is_replicator(name)).collect()
        }
    };
    let mut listed = Vec::new();
    for name in names {
        let database = app.databases.get(&name)?;
        let mut ids = BTreeSet::new();
        for change in database
            .documents
            .snapshot()
            .changes(0, Direction::Forward)?
        {
            let change = change?;
            if !change.stored.deleted && !change.id.starts_with(DESIGN_PREFIX) {
                ids.insert(change.id);
            }
        }
        for id in ids {
            if let Some(document) = read_document(&database, &id)? {
                listed.push(describe(app, &name, id, &document));
            }
        }
    }
    Ok(listed)
}

fn describe(app: &CouchContext, database: &str, id: String, document: &Object) -> ListedDocument {
    let text = |name: &str| {
        document
            .get(name)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let waiting = app.replications.waiting(&(database.to_owned(), id.clone()));
    let mut state = text("_replication_state");
    let mut error = text("_replication_state_reason");
    if let Some(waiting) = waiting {
        state = Some("error".to_owned());
        error = Some(waiting.reason);
    }
    let info = match (error, document.get("_replication_stats")) {
        (Some(error), _) => {
            let mut info = Object::new();
            info.insert("error", error);
            info.into()
        }
        (None, Some(stats)) => stats.clone(),
        (None, None) => Value::Null,
    };
    ListedDocument {
        database: database.to_owned(),
        id,
        replication_id: text("_replication_id"),
        source: shown(document.get("source")),
        target: shown(document.get("target")),
        state,
        info,
        updated: text("_replication_state_time"),
    }
}

/// An endpoint without its password.
fn shown(endpoint: Option<&Value>) -> Option<String> {
    let text = match endpoint? {
        Value::String(text) => text.as_str(),
        other => other.get("url")?.as_str()?,
    };
    let Ok(mut url) = reqwest::Url::parse(text) else {
        return Some(text.to_owned());
    };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some(url.to_string())
}

impl super::ReplicationJobs {
    /// Remembers a document whose replication has no identity yet.
    fn wait_for_identity(&self, name: DocumentName, error: &ReplicationError) {
        let mut waiting = self.waiting_documents();
        let failures = waiting.get(&name).map_or(0, |known| known.failures) + 1;
        let document = WaitingDocument {
            reason: error.told(),
            failures,
            retry_at: Instant::now() + backoff::after_crashes(failures),
        };
        waiting.insert(name, document);
    }

    fn forget_waiting(&self, is_it: impl Fn(&DocumentName) -> bool) {
        self.waiting_documents().retain(|name, _| !is_it(name));
    }

    /// The documents that are to be looked at again by now.
    fn waiting_until(&self, now: Instant) -> Vec<DocumentName> {
        let waiting = self.waiting_documents();
        let due = waiting
            .iter()
            .filter(|(_, document)| document.retry_at <= now);
        due.map(|(name, _)| name.clone()).collect()
    }

    fn next_waiting(&self) -> Option<Instant> {
        let waiting = self.waiting_documents();
        waiting.values().map(|document| document.retry_at).min()
    }

    fn waiting(&self, name: &DocumentName) -> Option<WaitingDocument> {
        self.waiting_documents().get(name).cloned()
    }
}
