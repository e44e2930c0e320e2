//! Repositories: Mercurial's wire protocol below `/hg/`, and plain pages for browsers.
//!
//! Every client may read whatever stands below `repos/`, as with `hg serve`, unless `[chttpd] require_valid_user` asks
//! for a login or the repository's own `.hg/hgrc` says otherwise; no user may push unless that says so. See [`rights`].

mod bundles;
mod clone_bundles;
mod collection;
mod database;
mod find;
mod hgrc;
mod history;
mod hooks;
mod listing;
pub mod logs;
mod page;
mod pages;
mod push;
mod registry;
mod rights;
mod settings;
mod shared_bundles;
mod streams;

use crate::auth::UserContext;
use crate::http::blocking;
use crate::runtime::Resource;
use crate::runtime::repeats::fault_id;
use crate::{Answer, Failure, Request};
use clone_bundles::CloneBundleScheduler;
pub(crate) use collection::RepoCollection;
pub(crate) use collection::route as route_collection;
pub use collection::{Collection, CollectionSettings, CollectionSource, ReadConfig};
pub(crate) use database::{Remark, RepositoryDatabases, Statistics};
use find::ServedRepository;
use hgrc::RepositoryConfig;
pub(crate) use history::{HistorySource, HistoryStamp};
use hooks::RequestHooks;
use hyper::{Method, StatusCode};
pub(crate) use registry::RepoRegistry;
use registry::ServedRepos;
pub use registry::{LoneConfig, LoneRepository};
use rights::AccessRequest;
use shared_bundles::SharedBundles;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::read_if_there;
use varve_config::hgrc::HgrcError;
use varve_exchange::ExchangeError;
use varve_exchange::format::media_types::TYPE_ERROR;
use varve_exchange::server::wire;
use varve_exchange::server::wire::TYPE_01;
use varve_exchange::server::wire::{StreamBody, WireRequest, WireResponse};
use varve_repo::{OpenOptions, Repository};

/// Whether the request is for a repository. `/hg%2FNAME` is not: that is a database.
pub(crate) fn claims(path: &str) -> bool {
    path == "/hg" || path.starts_with("/hg/")
}

/// Whether a request with this query has a body that is to be read as it arrives, because it may be
/// of any length.
pub(crate) fn reads_while_arriving(query: &str) -> bool {
    query.split('&').any(|pair| pair == "cmd=unbundle")
}

/// A repository that is kept open.
#[derive(Debug)]
pub(crate) struct OpenRepository {
    repository: Repository,
    /// `.hg/requires` as it was when the repository was opened: another one means that another
    /// repository stands there now. Everything else is dirty by the repository itself.
    requires: Option<Vec<u8>>,
}

impl Resource for OpenRepository {}

/// Answers everything below `/hg`, or all there is where a repository is served alone.
pub(crate) async fn route(
    repos: Arc<RepoRegistry>,
    request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    if !request.is_read() && request.method != Method::POST {
        return Err(Failure::method_not_allowed("GET,HEAD,POST"));
    }
    let executor = &repos.server().executor;
    if let Some(upload) = request.upload.clone() {
        let request = request.clone();
        if !upload.is_short()
            && let Some(refusal) = refusal(&repos, request, &user, upload.announced()).await?
        {
            return Ok(refusal);
        }
        let memory = repos.server().limits.settings().body_buffer;
        let directory = repos.spool_directory();
        upload.spool(&executor.commits, memory, &directory).await?;
    }
    let pool = match AccessRequest::of(&request, &user).writes() {
        true => executor.pushes.clone(),
        false => executor.reads.clone(),
    };
    let mut answer = blocking(&pool, move || answer(&repos, &request, &user)).await?;
    if answer.status == StatusCode::OK {
        answer.reason.get_or_insert(pages::DONE);
    }
    Ok(answer)
}

/// The list of the repositories that a user sees.
pub(crate) async fn list(
    repos: Arc<RepoRegistry>,
    request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    let pool = repos.server().executor.reads.clone();
    blocking(&pool, move || listed(&repos, &request, &user)).await
}

fn listed(repos: &RepoRegistry, request: &Request, user: &UserContext) -> Result<Answer, Failure> {
    let listed = listing::list(repos, user).map_err(Failure::internal)?;
    Ok(page::index(repos.title(), &listed, &request.mount))
}

/// The answer to a push that need not send its bundle.
async fn refusal(
    repos: &Arc<RepoRegistry>,
    request: Request,
    user: &UserContext,
    announced: u64,
) -> Result<Option<Answer>, Failure> {
    let pool = repos.server().executor.reads.clone();
    let (shared, user) = (Arc::clone(repos), user.clone());
    let admission = blocking(&pool, move || admit(&shared, &request, &user));
    let admitted = match admission.await? {
        Admission::Answered(answer) => return Ok(Some(answer)),
        Admission::Admitted(admitted) => admitted,
    };
    Ok(match push::longest(&admitted.config) {
        Ok(Some(longest)) if announced > longest => {
            let too_long = ExchangeError::PushTooLong { longest };
            Some(refuse(&too_long.to_string()))
        }
        Ok(_) => None,
        Err(error) => Some(refuse_fault(repos, &admitted.found, &error)),
    })
}

/// Whether a request gets to its repository.
enum Admission {
    Admitted(Box<AdmittedRequest>),
    Answered(Answer),
}

/// A request whose user has the right to it.
struct AdmittedRequest {
    found: ServedRepository,
    repository: Arc<OpenRepository>,
    config: RepositoryConfig,
    /// The clone bundle that it asks for.
    bundle: Option<String>,
}

/// Finds the repository, and checks that the user has the right to the request.
fn admit(
    repos: &Arc<RepoRegistry>,
    request: &Request,
    user: &UserContext,
) -> Result<Admission, Failure> {
    let segments = repos.segments(&request.segments);
    if let (ServedRepos::Directory { .. }, []) = (repos.holds(), segments) {
        return Ok(Admission::Answered(listed(repos, request, user)?));
    }
    let found = repos.find(segments).map_err(Failure::internal)?;
    let Some(found) = found else {
        let name = segments.join("/");
        return Ok(Admission::Answered(no_repository(request, &name)));
    };
    if is_wire_command(request) && segments_behind(repos, request, &found).next().is_some() {
        // Mercurial's commands belong to the repository's own URL.
        let missing = b"0\nNot Found\n".to_vec();
        let missing = Answer::whole(StatusCode::NOT_FOUND, TYPE_01, missing);
        return Ok(Admission::Answered(missing));
    }
    let opened = open(repos, &found)
        .inspect(|opened| recover(repos, &found, &opened.repository))
        .and_then(|opened| Ok((opened, RepositoryConfig::read(repos, &found)?)));
    let (repository, config) = match opened {
        Ok(opened) => opened,
        Err(_) if repos.is_gone() => {
            return Ok(Admission::Answered(page::no_repository(&found.name)));
        }
        Err(error) => return Ok(Admission::Answered(refuse_fault(repos, &found, &error))),
    };
    let bundle = bundles::named(&found, segments).map(str::to_owned);
    let access = access_request(request, user, &found, bundle.as_deref());
    if let Err(refusal) = rights::check(&config, &access) {
        return Ok(Admission::Answered(refusal.into()));
    }
    Ok(Admission::Admitted(Box::new(AdmittedRequest {
        found,
        repository,
        config,
        bundle,
    })))
}

fn no_repository(request: &Request, name: &str) -> Answer {
    match request.accepts("text/html") {
        true => page::no_repository(name),
        false => {
            let missing = format!("there is no repository {name:?}\n");
            Answer::text(StatusCode::NOT_FOUND, missing)
        }
    }
}

fn access_request<'a>(
    request: &'a Request,
    user: &'a UserContext,
    found: &ServedRepository,
    bundle: Option<&str>,
) -> AccessRequest<'a> {
    let mut access = AccessRequest::of(request, user);
    access.has_users = !found.is_lone;
    if bundle.is_some() {
        // A client that may not pull may not fetch the same from here.
        access.command = "getbundle";
    }
    access
}

fn answer(
    repos: &Arc<RepoRegistry>,
    request: &Request,
    user: &UserContext,
) -> Result<Answer, Failure> {
    let admitted = match admit(repos, request, user)? {
        Admission::Admitted(admitted) => admitted,
        Admission::Answered(answer) => return Ok(answer),
    };
    let AdmittedRequest {
        found,
        repository,
        config,
        bundle,
    } = *admitted;
    let bundle = bundle.as_deref();
    let access = access_request(request, user, &found, bundle);
    if let Some(name) = bundle {
        let sent = bundles::send(repos, &repository.repository, (request, &config), name);
        return Ok(sent.unwrap_or_else(|error| refuse_fault(repos, &found, &error)));
    }
    if !is_wire_command(request) && !request.headers.contains_key("x-hgargs-post") {
        let segments: Vec<&str> = segments_behind(repos, request, &found)
            .map(String::as_str)
            .collect();
        let page = (request, segments.as_slice());
        return pages::answer(repos, (&found, &config), &repository.repository, page);
    }
    let answered = match access.writes() {
        true => push::receive(repos, &found, &config, (request, &access)),
        false => respond(repos, &found, &repository.repository, request, &config),
    };
    if access.writes() && !found.is_lone {
        repos.pushed.insert(&found.name);
    }
    if (access.writes() || access.command == "capabilities")
        && repos.is_writer()
        && let Err(error) = clone_bundles::consider(repos, &found, &repository.repository, &config)
    {
        let name = &found.name;
        let log = &repos.server().log;
        log.scope(|| tracing::error!(repository = name, "clone bundles of {name}: {error}"));
    }
    Ok(answered.unwrap_or_else(|error| refuse_fault(repos, &found, &error)))
}

/// Returns whether the request is in the wire protocol, and for no page.
fn is_wire_command(request: &Request) -> bool {
    let command = request.query("cmd");
    command.is_some_and(|command| !command.is_empty() && !pages::is_page_command(command))
}

/// The segments of a path behind those of the repository. An empty one is a slash at the end.
fn segments_behind<'a>(
    repos: &RepoRegistry,
    request: &'a Request,
    found: &ServedRepository,
) -> impl Iterator<Item = &'a String> {
    let segments = repos.segments(&request.segments).iter();
    segments
        .skip(found.depth())
        .filter(|segment| !segment.is_empty())
}

/// The repository, opened anew if another one stands in its place.
fn open(repos: &RepoRegistry, found: &ServedRepository) -> Result<Arc<OpenRepository>, OpenError> {
    let requires = read_if_there(
        repos.storage().as_ref(),
        &found.directory.join(".hg/requires"),
    )?;
    if let Some(known) = repos.repositories.get(&found.name)
        && known.requires != requires
    {
        repos.repositories.forget(&found.name);
    }
    repos.repositories.get_or_open(&found.name, || {
        let opening = OpenOptions {
            shares: repos.share_access(),
            ..OpenOptions::default()
        };
        let storage = Arc::clone(repos.storage());
        let repository = Repository::open_with(storage, Path::new(&found.directory), opening)?;
        Ok(OpenRepository {
            repository,
            requires,
        })
    })
}

/// Undoes what a killed process has left half done: until then every push is refused, and no store's files are streamed.
/// A failure is logged, and the repository served as far as that goes.
fn recover(repos: &RepoRegistry, found: &ServedRepository, repository: &Repository) {
    let name = &found.name;
    let log = &repos.server().log;
    match repository.recover_abandoned() {
        Ok(None) => {}
        Ok(Some(undone)) => {
            log.scope(|| tracing::warn!(repository = name, "repository {name}: {undone}"));
        }
        Err(error) => {
            let failed = format!(
                "repository {name}: a transaction was interrupted and cannot be undone: {error}"
            );
            log.scope(|| tracing::error!(repository = name, "{failed}"));
        }
    }
}

/// Why a repository cannot be served.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error(transparent)]
    Storage(#[from] varve_base::StorageError),
    #[error(transparent)]
    Repository(#[from] varve_repo::RepoError),
    #[error(transparent)]
    Hgrc(#[from] HgrcError),
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error("{0}")]
    Setting(String),
}

fn respond(
    repos: &Arc<RepoRegistry>,
    found: &ServedRepository,
    repository: &Repository,
    request: &Request,
    config: &RepositoryConfig,
) -> Result<Answer, OpenError> {
    let bundles = bundles::location(found, request);
    let settings = settings::wire(config, repos, bundles, repository)?;
    let hooks = RequestHooks::for_reading(repos, found, config)?;
    let parsed = wire_request(request);
    let response = parsed.and_then(|wire| wire::respond(repository, &wire, &settings, &hooks));
    match response {
        Err(error) if fails_request(&error) => {
            log_fault(repos, &found.name, &error.to_string());
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            let words = b"Internal Server Error".to_vec();
            Ok(Answer::whole(status, TYPE_01, words))
        }
        response => Ok(send(repos, found, request, response)),
    }
}

/// True for errors at which Mercurial's server fails, and says nothing about them to the client.
fn fails_request(error: &ExchangeError) -> bool {
    error.is_hooks() || matches!(error, ExchangeError::IllegalCloneBundle(_))
}

/// The directory of a repository, where its hooks run.
fn absolute(repos: &RepoRegistry, found: &ServedRepository) -> PathBuf {
    let directory = repos.path(&found.directory);
    std::path::absolute(&directory).unwrap_or(directory)
}

/// The command that a request has.
fn wire_request(request: &Request) -> Result<WireRequest, ExchangeError> {
    let headers = request.headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
    WireRequest::parse(headers, request.raw_query.as_bytes(), &request.body)
}

fn send(
    repos: &Arc<RepoRegistry>,
    found: &ServedRepository,
    request: &Request,
    response: Result<WireResponse, ExchangeError>,
) -> Answer {
    let status = match &response {
        Err(ExchangeError::UnknownCommand { .. }) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    if let Err(error) = &response {
        log_damage(repos, &found.name, error);
    }
    match response.unwrap_or_else(|error| WireResponse::refusal(&error)) {
        WireResponse::Whole { content_type, body } => Answer::whole(status, content_type, body),
        WireResponse::Stream {
            content_type,
            body: StreamBody::InSteps(steps),
            ..
        } => streams::in_steps(repos, content_type, steps),
        WireResponse::Stream {
            content_type,
            body: StreamBody::OnePass(write),
            repeatable,
        } => {
            let report = Box::new(reporter(repos, request));
            let bundles = &repos.server().executor.bundles;
            let part = repos.shared.join(bundles, (write, repeatable), report);
            Answer::stream(
                content_type,
                &repos.server().executor.reads,
                move |writer| part.send(writer),
            )
        }
    }
}

/// Tells the operator why an answer broke off.
fn reporter(
    repos: &Arc<RepoRegistry>,
    request: &Request,
) -> impl Fn(&ExchangeError) + Send + Sync + use<> {
    let repos = Arc::clone(repos);
    let request_line = format!("{} {}", request.method, request.raw_path);
    move |error| {
        let log = &repos.server().log;
        log.scope(|| tracing::error!("{request_line}: {error}"));
    }
}

/// A text that `hg` shows to its user before it stops.
fn refuse(reason: &str) -> Answer {
    Answer::whole(
        StatusCode::OK,
        TYPE_ERROR,
        format!("{reason}\n").into_bytes(),
    )
}

/// [`refuse`] for a repository or configuration that cannot be read, which the operator learns too.
fn refuse_fault(repos: &RepoRegistry, found: &ServedRepository, error: &OpenError) -> Answer {
    log_fault(repos, &found.name, &error.to_string());
    match (repos.holds(), error) {
        // It may stand in any file of the user who runs the server.
        (ServedRepos::Lone(_), OpenError::Hgrc(_)) => {
            refuse("the configuration of the server cannot be read; its log says why")
        }
        _ => refuse(&error.to_string()),
    }
}

/// Logs an error if this repository's files are to blame for it.
fn log_damage(repos: &RepoRegistry, name: &str, error: &ExchangeError) {
    if error.is_damage() {
        log_fault(repos, name, &error.to_string());
    }
}

fn log_fault(repos: &RepoRegistry, name: &str, reason: &str) {
    let log = &repos.server().log;
    let words = format!("repository {name}: {reason}");
    let fault = fault_id(&words);
    log.scope(|| tracing::error!(repository = name, fault = fault, "{words}"));
}
