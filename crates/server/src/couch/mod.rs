//! Databases, documents, changes and views.
//!
//! A request is taken apart into a [`Target`] and a [`Call`]; handlers answer calls on blocking
//! threads. A short read is first attempted on the connection's own thread, from memory only. Only
//! the feeds of `_changes` and short documents that are written wait outside of them.

mod access;
pub(crate) mod admin;
mod call;
mod changes;
mod context;
pub mod database;
pub(crate) mod document;
pub(crate) mod etag;
mod failures;
mod find;
mod functions;
pub(crate) mod history;
pub mod names;
mod partitions;
mod queries;
pub(crate) mod replication;
mod rows;
mod search;
mod target;
mod users;
mod views;

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, StatusCode};
use tokio::task::JoinSet;
use varve_base::ReadMode;

use crate::http::FailureKind;
use crate::http::blocking;
use crate::http::range;
use crate::runtime::{RequestClass, ResponsibleServer, SharedLogs};
use crate::{Answer, Failure, Request, UserContext};
use admin::compaction::AutoCompactor;
pub(crate) use admin::is_about_the_server;
use call::Call;
pub(crate) use changes::db_updates::{Event, Updates, route as db_updates};
pub(crate) use changes::sequence::parse_since;
pub use context::CouchContext;
use database::garbage::collect_regularly;
pub use database::registry::Databases;
use database::registry::OpenDatabase;
use document::write::ReadyPut;
use failures::missing_database;
pub(crate) use functions::rewrite::rules as rewrite_rules;
pub(crate) use functions::rewrite::{Rewriting, rewrite};
use functions::scripts::TimeBudget;
pub use replication::import;
use replication::{ReplicatorDocuments, run_jobs};
use target::Target;
use users::UserDatabases;
use views::Ready;
use views::auto_index::AutoIndexer;
pub(crate) use views::index_copies;
pub(crate) use views::known::KnownIndex;

/// Answers everything whose first path segment is a database's name.
///
/// # Errors
/// Any [`Failure`].
pub async fn route(
    app: Arc<CouchContext>,
    request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    let path = request.path();
    let (name, rest) = path.split_first().ok_or_else(missing_database)?;
    let (name, target) = ((*name).to_owned(), Target::parse(rest));
    if target == Target::Database && request.method == Method::DELETE {
        // Before it is looked whether there is such a database.
        user.require_admin()?;
    }
    let request = Arc::new(request);
    if request.upload.is_some() {
        let open = {
            let (app, request, name) = (Arc::clone(&app), Arc::clone(&request), name.clone());
            move |target: &Target| {
                Call::open(app, request, user, (&name, target), ReadMode::Blocking)
            }
        };
        return Box::pin(document::upload::route(&app, &request, target, open)).await;
    }
    match from_memory((&app, &request, &user), (&name, &target)) {
        Some(Attempted::Read(Next::Answered(answer))) => Ok(answer),
        Some(Attempted::Read(next)) => Box::pin(next.answer()).await,
        Some(Attempted::Write(ready)) => Box::pin(ready.answer()).await,
        Some(Attempted::Refused(failure)) => Err(failure),
        None => Box::pin(route_in_pool(app, request, user, (name, target))).await,
    }
}

/// Outcome of a request that was attempted on its connection's thread.
enum Attempted {
    Read(Next),
    /// Everything but the commit is done.
    Write(Box<ReadyPut>),
    Refused(Failure),
}

/// A short request, as far as it is answered from memory; `None` if it needs a thread that may wait.
fn from_memory(
    (app, request, user): (&Arc<CouchContext>, &Arc<Request>, &UserContext),
    (name, target): (&str, &Target),
) -> Option<Attempted> {
    app.databases.if_open(name)?;
    let open = |reads| {
        let (app, request) = (Arc::clone(app), Arc::clone(request));
        Call::open(app, request, user.clone(), (name, target), reads)
    };
    let attempted = if let Some(id) = target.brief_write(request) {
        let ready = CouchContext::try_cached(|reads| ReadyPut::new(open(reads)?, id))?;
        ready.map(|ready| Attempted::Write(Box::new(ready)))
    } else if target.is_brief(request) {
        let attempt = |reads| {
            let call = open(reads)?;
            target.check_method(&call.request.method)?;
            answer(call, target.clone())
        };
        CouchContext::try_cached(attempt)?.map(Attempted::Read)
    } else {
        return None;
    };
    Some(attempted.unwrap_or_else(Attempted::Refused))
}

/// Answers on threads that may wait.
async fn route_in_pool(
    app: Arc<CouchContext>,
    request: Arc<Request>,
    user: UserContext,
    (name, target): (String, Target),
) -> Result<Answer, Failure> {
    let executor = app.executor();
    let pool = match target.writes(&request) {
        true => executor.commits.clone(),
        false => executor.reads.clone(),
    };
    let work = |budget| {
        let (app, request, user) = (Arc::clone(&app), Arc::clone(&request), user.clone());
        let (name, target) = (name.clone(), target.clone());
        move || run((app, request, user), (name, target), budget)
    };
    let next = match blocking(&pool, work(TimeBudget::Brief)).await {
        // Nothing was written: functions are asked before.
        Err(failure) if failure.kind == FailureKind::NeedsTime => {
            blocking(&executor.functions, work(TimeBudget::Full)).await
        }
        done => done,
    };
    next?.answer().await
}

/// The design document, by its database and its name, that says which request takes the place of this one.
pub(crate) fn rewriter(request: &Request) -> Option<(String, String)> {
    if !request.segments.iter().any(|part| part == "_rewrite") {
        return None;
    }
    let path = request.path();
    let (name, rest) = path.split_first()?;
    match Target::parse(rest) {
        Target::Rewrite(design) if names::is_legal(name) => Some(((*name).to_owned(), design)),
        _ => None,
    }
}

/// The blocking part of a request.
fn run(
    (app, request, user): (Arc<CouchContext>, Arc<Request>, UserContext),
    (name, target): (String, Target),
    budget: TimeBudget,
) -> Result<Next, Failure> {
    if target == Target::Database && request.method == Method::PUT {
        return database::create(&app, &request, &user, &name).map(Next::Answered);
    }
    if !names::is_legal(&name) {
        return Err(missing_database());
    }
    if target == Target::Database
        && request.method == Method::DELETE
        && let Err(failure) = app.databases.get(&name)
        && failure.kind == FailureKind::Internal
    {
        user.require_admin()?;
        app.databases.delete_unreadable(&name, failure)?;
        return Ok(Next::Answered(Answer::ok(StatusCode::OK)));
    }
    let call = Call::open(app, request, user, (&name, &target), ReadMode::Blocking)?;
    target.check_method(&call.request.method)?;
    answer(call.with_budget(budget), target)
}

/// Runs replications until the server stops.
pub(crate) async fn maintain(app: Arc<CouchContext>) {
    let mut stopping = app.stopping();
    let documents = ReplicatorDocuments::new(Arc::clone(&app)).run();
    let jobs = tokio::spawn(run_jobs(app));
    tokio::select! {
        _ = stopping.wait_for(|is_stopping| *is_stopping) => (),
        () = documents => (),
    }
    // Jobs write a last checkpoint; they end by themselves soon.
    let _ = jobs.await;
}

/// Looks after the databases that this server writes, and its own files, until it stops: compacts them, brings indexes up to
/// date and stores copies of them, makes users' databases, has copies of databases follow their logs, and removes what a shared
/// store need not keep.
pub(crate) async fn maintain_files(app: Arc<CouchContext>, logs: Vec<Arc<SharedLogs>>) {
    let mut stopping = app.stopping();
    let compactor = AutoCompactor::new(Arc::clone(&app)).run();
    let indexer = AutoIndexer::new(Arc::clone(&app)).run();
    let user_databases = UserDatabases::new(Arc::clone(&app)).run();
    let collector = collect_regularly(Arc::clone(&app), logs);
    let copies = index_copies::store_regularly(Arc::clone(&app));
    let all = async {
        tokio::join!(
            compactor,
            indexer,
            user_databases,
            collector,
            copies,
            follow_logs(app)
        )
    };
    tokio::select! {
        _ = stopping.wait_for(|is_stopping| *is_stopping) => (),
        _ = all => (),
    }
}

/// Follows the logs of a shared store that feeds and reads of old states wait for, hands databases over that other servers
/// should write, and looks now and then whether other processes have taken databases over that only feeds wait for.
async fn follow_logs(app: Arc<CouchContext>) {
    let mut since_check = Duration::ZERO;
    while app.databases.is_shared() {
        tokio::time::sleep(FOLLOW_INTERVAL).await;
        for_each(&app, app.databases.followed(), Databases::follow).await;
        for_each(&app, app.databases.misplaced(), Databases::hand_over).await;
        since_check += FOLLOW_INTERVAL;
        if since_check >= OWNER_CHECK {
            since_check = Duration::ZERO;
            let databases = Arc::clone(&app.databases);
            let check = move || {
                databases.retire_lost();
                Ok(())
            };
            // Errors are found again by the next request.
            let _ = blocking(&app.executor().reads, check).await;
        }
    }
}

/// Does the same to several databases, on threads that may wait, and returns when all is done.
async fn for_each(
    app: &Arc<CouchContext>,
    databases: Vec<Arc<OpenDatabase>>,
    work: fn(&Databases, &Arc<OpenDatabase>),
) {
    let mut begun = JoinSet::new();
    for database in databases {
        let of = Arc::clone(app);
        begun.spawn(async move {
            let all = Arc::clone(&of.databases);
            let work = move || {
                work(&all, &database);
                Ok(())
            };
            // Errors are found again the next time.
            let _ = blocking(&of.executor().reads, work).await;
        });
    }
    while begun.join_next().await.is_some() {}
}

/// The server of a store that has to answer a request: the owner of a database for those that write to it, the leader for jobs
/// and for what is once in a store, the one that is named for `_node`. `None` for requests that any server answers.
pub(crate) fn responsible_server(request: &Request) -> Option<ResponsibleServer> {
    let path = request.path();
    let (name, rest) = path.split_first()?;
    if admin::claims(request) {
        let is_for_leader = match *name {
            "_replicate" | "_scheduler" => true,
            "_db_updates" => request.is_read(),
            "_cluster_setup" => !request.is_read(),
            "_node" => {
                let name = rest.first().copied().unwrap_or_default();
                return Some(ResponsibleServer::Named(name.to_owned()));
            }
            _ => false,
        };
        return is_for_leader.then_some(ResponsibleServer::Leader);
    }
    let target = Target::parse(rest);
    // Which request takes the place of one that is rewritten is known only later.
    let writes = target.writes(request) || matches!(target, Target::Rewrite(_));
    writes.then(|| ResponsibleServer::OwnerOf((*name).to_owned()))
}

/// Whether the body of a request is read while it arrives: attachments may be longer than memory.
pub(crate) fn reads_while_arriving(request: &Request) -> bool {
    let path = request.path();
    let Some((name, rest)) = path.split_first() else {
        return false;
    };
    let target = Target::parse(rest);
    let media = request.content_type();
    let comes_as = |wanted: &str| media.as_deref() == Some(wanted);
    names::is_legal(name)
        && match (request.method.as_str(), target) {
            ("PUT", Target::Attachment(..)) => true,
            ("PUT", Target::Document(_)) => comes_as(document::receive::RELATED),
            ("POST", Target::Document(_)) => comes_as(document::receive::FORM),
            _ => false,
        }
}

/// Most bytes of a body that is no data: settings, logins, names of databases.
const SHORT_BODY: u64 = 1 << 20;
/// Time between two looks whether this process still owns the databases of a shared store.
const OWNER_CHECK: Duration = Duration::from_secs(1);
/// Time between two looks for new commits of databases that another server writes.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(200);

/// The most bytes of body that a request of this path and method may have, also after gunzipping.
pub(crate) fn longest_body(app: &CouchContext, request: &Request) -> u64 {
    let path = request.path();
    let target = Target::parse(path.get(1..).unwrap_or_default());
    let has_data = matches!(request.method.as_str(), "PUT" | "POST") && path.len() > 1;
    match target {
        _ if admin::claims(request) => SHORT_BODY,
        Target::Database if request.method == Method::POST => app.longest_json(),
        Target::Security
        | Target::RevsLimit
        | Target::Compression
        | Target::PurgedInfosLimit
        | Target::EnsureFullCommit
        | Target::Shards(_)
        | Target::SyncShards
        | Target::Compact(_)
        | Target::ViewCleanup
        | Target::Database => SHORT_BODY,
        // The function sees the body as a text of JavaScript.
        Target::Update(..) | Target::Show(..) | Target::List(..) => {
            app.settings().max_document_size.min(app.longest_json())
        }
        _ if has_data => app.longest_json(),
        _ => SHORT_BODY,
    }
}

/// Refuses a request that may not do what it asks for, before its body is read.
///
/// # Errors
/// As [`route`].
pub(crate) async fn check_rights(
    app: &Arc<CouchContext>,
    request: Request,
    user: UserContext,
) -> Result<(), Failure> {
    let path = request.path();
    let (name, rest) = path.split_first().ok_or_else(missing_database)?;
    let (name, target) = ((*name).to_owned(), Target::parse(rest));
    let (app, reads) = (Arc::clone(app), &app.executor().reads);
    let check = move || {
        if target == Target::Database && request.method == Method::PUT {
            return user.require_admin();
        }
        if !names::is_legal(&name) {
            return Err(missing_database());
        }
        // Update functions decide by themselves what they write.
        let writes = target.writes(&request) && !matches!(target, Target::Update(..));
        let request = Arc::new(request);
        let call = Call::open(app, request, user, (&name, &target), ReadMode::Blocking)?;
        target.check_method(&call.request.method)?;
        match writes {
            true => call.check_writer(),
            false => Ok(()),
        }
    };
    blocking(reads, check).await
}

/// Which limit a request counts against.
pub(crate) fn class(request: &Request) -> RequestClass {
    let path = request.path();
    match Target::parse(path.get(1..).unwrap_or_default()) {
        target if target.is_query() => RequestClass::Query,
        target if target.writes(request) => RequestClass::Write,
        _ => RequestClass::Read,
    }
}

/// The bytes that a `Range` header asks for, of a body of `length` bytes.
pub(crate) fn parse_range(header: Option<&str>, length: u64) -> Option<std::ops::Range<u64>> {
    match range::parse_range(header, length) {
        range::Part::Bytes(range) => Some(range),
        _ => None,
    }
}

/// Outcome of the blocking part of a request.
enum Next {
    Answered(Answer),
    Feed(Box<changes::Feed>),
    /// An index has to be built before there is an answer.
    Index(Box<views::IndexWait>),
    /// A list function has to run, perhaps after its index was built.
    List(Box<functions::list::Begun>),
}

impl From<Ready<Answer>> for Next {
    fn from(ready: Ready<Answer>) -> Next {
        match ready {
            Ready::Now(answer) => Next::Answered(answer),
            Ready::Wait(wait) => Next::Index(wait),
        }
    }
}

impl Next {
    async fn answer(self) -> Result<Answer, Failure> {
        match self {
            Next::Answered(answer) => Ok(answer),
            Next::Feed(feed) => Box::pin(feed.answer()).await,
            Next::Index(wait) => Box::pin(wait.outcome()).await,
            Next::List(begun) => Box::pin(begun.answer()).await,
        }
    }
}

fn answer(call: Call, target: Target) -> Result<Next, Failure> {
    match target {
        Target::Changes => changes::begin(call).map(|feed| Next::Feed(Box::new(feed))),
        Target::View(design, view) => views::answer(&call, &design, &view),
        Target::ViewQueries(design, view) => views::answer_queries(&call, &design, &view),
        Target::Find => find::answer(&call),
        Target::List(design, function, other, view) => {
            let view = (other.as_deref().unwrap_or(&design), view.as_str());
            let begun = functions::list::begin(&call, (&design, &function), view)?;
            Ok(Next::List(Box::new(begun)))
        }
        Target::InPartition(partition, target) => {
            answer(partitions::enter(call, &partition, &target)?, *target)
        }
        target => answer_now(call, target).map(Next::Answered),
    }
}

/// Answers requests that never wait for an index or for changes.
pub(in crate::couch) fn answer_now(call: Call, target: Target) -> Result<Answer, Failure> {
    match target {
        Target::Database => database::answer(&call),
        Target::AllDocs => document::all_docs::answer(call, document::all_docs::Which::All),
        Target::DesignDocs => document::all_docs::answer(call, document::all_docs::Which::Design),
        Target::LocalDocs => document::all_docs::answer(call, document::all_docs::Which::Local),
        Target::AllDocsQueries => {
            document::all_docs::answer_queries(call, document::all_docs::Which::All)
        }
        Target::DesignDocsQueries => {
            document::all_docs::answer_queries(call, document::all_docs::Which::Design)
        }
        Target::LocalDocsQueries => {
            document::all_docs::answer_queries(call, document::all_docs::Which::Local)
        }
        Target::BulkDocs => document::bulk::answer(&call),
        Target::BulkGet => document::bulk_get::answer(call),
        Target::RevsDiff => document::revisions::diff(&call),
        Target::MissingRevs => document::revisions::missing(&call),
        Target::Security => database::security(&call),
        Target::RevsLimit => database::revs_limit(&call),
        Target::Compression => database::compression::answer(&call),
        Target::Purge => database::purge::answer(&call),
        Target::PurgedInfos => database::purge::infos(&call),
        Target::PurgedInfosLimit => database::purge::limit(&call),
        Target::EnsureFullCommit => database::ensure_full_commit(&call),
        Target::Shards(id) => Ok(admin::shards::of_database(id.as_deref())),
        Target::SyncShards => admin::shards::sync(&call),
        Target::Compact(None) => admin::compaction::answer(&call),
        Target::Compact(Some(design)) => admin::compaction::answer_views(&call, &design),
        Target::ViewCleanup => database::view_cleanup(&call),
        Target::TempView => Err(Failure::new(
            FailureKind::Gone,
            "gone",
            "Temporary views are not supported in CouchDB",
        )),
        Target::Document(id) => document::answer(&call, &id),
        Target::Attachment(id, name) => document::attachments::answer(&call, &id, &name),
        Target::Unknown(id) => document::answer(&call, &id),
        Target::Update(design, function, id) => {
            functions::update::answer(&call, &design, &function, id.as_deref())
        }
        Target::NoUpdate => Err(no_path("update_error")),
        Target::Show(design, function, id) => {
            functions::show::answer(&call, &design, &function, id.as_deref())
        }
        Target::NoShow => Err(no_path("show_error")),
        Target::NoList => Err(no_path("list_error")),
        Target::ViewInfo(design) => views::info(&call, &design),
        Target::NoPartition => Err(partitions::unnamed()),
        Target::Partition(partition) => partitions::info(&call, &partition),
        Target::Explain => find::explain_query(&call),
        Target::Index => find::index(&call),
        Target::IndexNamed(design, kind, name) => find::delete(&call, &design, &kind, &name),
        Target::IndexBulkDelete => find::delete_many(&call),
        Target::NoIndex => Err(failures::missing()),
        Target::Search(service) => Err(search::refused(service)),
        // `answer` has taken these.
        Target::Changes
        | Target::View(..)
        | Target::ViewQueries(..)
        | Target::List(..)
        | Target::Rewrite(_)
        | Target::Find
        | Target::InPartition(..) => Err(failures::missing()),
    }
}

/// A path that names no function.
fn no_path(word: &str) -> Failure {
    Failure::new(FailureKind::NotFound, word, "Invalid path.")
}
