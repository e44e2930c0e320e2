//! The served site: a directory with repositories and databases, or one repository.

mod active_tasks;
mod announcements;
mod cluster;
mod copies;
mod forgery;
mod forward;
mod route;
mod server;
mod signals;

pub use cluster::SharedOptions;
pub use server::{Ended, ListeningSocket, ServeOptions, Served, Server, raise_file_limit};
pub use signals::StopSignal;

use crate::auth::Login;
use crate::hg::logs::{self, RepositoryLogs};
use crate::hg::{RepoCollection, RepoRegistry};
use crate::history::HistoryDatabases;
use crate::http::TrustPolicy;
use crate::http::blocking;
use crate::http::handler::{BodyPlan, Handler, Subject};
use crate::runtime::{RequestClass, ServerContext, ServerPlace};
use crate::site::forward::Forwarder;
use crate::{Answer, CouchContext, Failure, Request, UserContext, couch, hg};
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, SERVER};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Largest body that a request without a login may send, and one to a repository that is no push: arguments of reads, no data.
const ANONYMOUS_BODY: u64 = 8 << 20;

/// The two halves of a served directory.
#[derive(Debug)]
pub(crate) struct Halves {
    pub(crate) couch: Arc<CouchContext>,
    pub(crate) hg: Arc<RepoRegistry>,
    /// The repositories, if these are in a shared store.
    pub(crate) hg_logs: Option<Arc<RepositoryLogs>>,
    pub(crate) history: Arc<HistoryDatabases>,
    /// Forwards requests to other servers, if databases are in a shared store.
    pub(crate) forwarder: Option<Forwarder>,
}

impl Halves {
    /// The forwarder for a request that another server has to answer, and the place of that.
    fn forwarder_for(&self, request: &Request) -> Option<(&Forwarder, ServerPlace)> {
        let forwarder = self.forwarder.as_ref()?;
        let place = forwarder.place_for(request);
        (place != ServerPlace::Here).then_some((forwarder, place))
    }

    /// Most bytes of a body that is in memory before this server answers a request about databases.
    fn whole_body_limit(&self, request: &Request, user: &UserContext) -> u64 {
        let longest = couch::longest_body(&self.couch, request);
        self.body_limit(user).min(longest)
    }

    fn body_limit(&self, user: &UserContext) -> u64 {
        let limit = self.couch.settings().max_request_size;
        match user.name {
            Some(_) => limit,
            None => limit.min(ANONYMOUS_BODY),
        }
    }
}

/// Where the answers of a server come from.
#[derive(Clone, Debug)]
pub(crate) enum Site {
    /// Repositories, databases, and the server itself as a resource.
    Directory(Arc<Halves>),
    /// One repository, whose users have no names.
    Repository(Arc<RepoRegistry>),
    /// Repositories with names; users have none.
    Collection(Arc<RepoCollection>),
}

impl Site {
    /// The most bytes of a body that is read while it arrives, for this user.
    fn body_limit(&self, user: &UserContext) -> u64 {
        match self {
            Site::Directory(halves) => halves.body_limit(user),
            Site::Repository(_) | Site::Collection(_) => ANONYMOUS_BODY,
        }
    }

    /// The trust policy for requests to this address. `hg serve` has no settings for proxies and names.
    fn trust_policy(&self, listening: IpAddr) -> TrustPolicy {
        match self {
            Site::Directory(halves) => TrustPolicy::new(&halves.couch.settings().trust, listening),
            Site::Repository(_) | Site::Collection(_) => TrustPolicy::default(),
        }
    }

    /// State that every server has, whatever it serves.
    pub(crate) fn server(&self) -> &Arc<ServerContext> {
        match self {
            Site::Directory(halves) => halves.couch.server(),
            Site::Repository(repos) => repos.server(),
            Site::Collection(collection) => collection.server(),
        }
    }

    /// Makes the databases that all servers of a store need.
    pub(crate) async fn make_own_databases(&self) {
        if let Site::Directory(halves) = self {
            let couch = Arc::clone(&halves.couch);
            let making = move || {
                server::make_own_databases(&couch);
                Ok(())
            };
            // Requests find out what is wrong.
            let _ = blocking(&halves.couch.executor().commits, making).await;
        }
    }

    /// Starts the tasks that look after the databases that this server writes, and its own files, until it stops.
    pub(crate) fn maintain_files(&self) {
        if let Site::Directory(halves) = self {
            let databases = halves.couch.databases.logs().map(Arc::clone);
            let repositories = halves.hg_logs.iter().map(|it| Arc::clone(it.logs()));
            let all = databases.into_iter().chain(repositories).collect();
            tokio::spawn(couch::maintain_files(Arc::clone(&halves.couch), all));
            tokio::spawn(copies::limit_copies(Arc::clone(halves)));
            if let Some(repositories) = &halves.hg_logs {
                tokio::spawn(logs::maintain(Arc::clone(repositories)));
            }
            tokio::spawn(announcements::announce_updates(Arc::clone(halves)));
        }
    }

    /// Starts the tasks that one server does for all of a store, until the server stops; then replications write a last checkpoint.
    pub(crate) fn start(&self) -> Option<JoinHandle<()>> {
        match self {
            Site::Directory(halves) => {
                let couch = Arc::clone(&halves.couch);
                // Repositories in a shared store are no databases.
                if !couch.databases.is_shared() {
                    tokio::spawn(Arc::clone(&halves.history).run());
                }
                Some(tokio::spawn(couch::maintain(couch)))
            }
            Site::Repository(_) | Site::Collection(_) => None,
        }
    }

    /// Interrupts all background work and waits, but not longer than `limit`, until it has undone its halves.
    pub(crate) async fn end_background_work(&self, limit: Duration) {
        if let Site::Directory(halves) = self {
            halves.couch.databases.end_builds();
        }
        let scheduler = &self.server().scheduler;
        scheduler.stop();
        scheduler.wait_until_idle(limit).await;
    }

    /// Stores indexes that this server has built for the others of its store. To be called when these write its databases.
    pub(crate) fn store_indexes(&self, limit: Duration) {
        if let Site::Directory(halves) = self {
            couch::index_copies::store_at_end(&halves.couch, limit);
        }
    }

    /// Seals all databases. To be called when nothing works any more.
    pub(crate) fn close(&self) {
        if let Site::Directory(halves) = self {
            halves.couch.databases.seal_all();
            halves
                .hg_logs
                .iter()
                .for_each(|repositories| repositories.close());
        }
    }
}

impl Handler for Site {
    type Login = Login;

    async fn login(&self, request: &mut Request) -> Result<Login, Failure> {
        match self {
            Site::Directory(halves) => {
                if let Some(forwarder) = &halves.forwarder
                    && let Some(login) = forwarder.accept(request).await?
                {
                    return Ok(login);
                }
                let login = halves.couch.auth.login(request).await;
                login.map_err(|failure| {
                    let settings = halves.couch.settings();
                    match &settings.www_authenticate {
                        Some(asks) if failure.status() == StatusCode::UNAUTHORIZED => {
                            failure.with_header("www-authenticate", asks)
                        }
                        _ => failure,
                    }
                })
            }
            Site::Repository(_) | Site::Collection(_) => Ok(Login::default()),
        }
    }

    fn user_name(login: &Login) -> Option<&str> {
        login.user.name.as_deref()
    }

    fn subject<'p>(&self, path: &'p str) -> Subject<'p> {
        let path = path.trim_start_matches('/');
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match self {
            Site::Repository(_) => Subject::Repository(""),
            Site::Collection(_) => Subject::Repository(path),
            Site::Directory(_) if first == "hg" => Subject::Repository(rest),
            Site::Directory(_) if couch::is_about_the_server(first) => Subject::Server,
            Site::Directory(_) => Subject::Database(first),
        }
    }

    fn body_plan(&self, request: &Request, login: &Login) -> BodyPlan {
        let limit = self.body_limit(&login.user);
        if let Site::Directory(halves) = self
            && halves.forwarder_for(request).is_some()
        {
            return BodyPlan::WhileArriving(match hg::claims(&request.raw_path) {
                true => u64::MAX,
                false => limit,
            });
        }
        let is_about_hg = match self {
            Site::Directory(_) => hg::claims(&request.raw_path),
            Site::Repository(_) | Site::Collection(_) => true,
        };
        match is_about_hg {
            true if hg::reads_while_arriving(&request.raw_query) => {
                BodyPlan::WhileArriving(u64::MAX)
            }
            false if couch::reads_while_arriving(request) => BodyPlan::WhileArriving(limit),
            _ => BodyPlan::Whole(match self {
                Site::Directory(halves) if !is_about_hg => {
                    halves.whole_body_limit(request, &login.user)
                }
                _ => limit.min(ANONYMOUS_BODY),
            }),
        }
    }

    async fn check_rights(&self, request: &Request, login: &Login) -> Result<(), Failure> {
        match self {
            Site::Directory(halves) => route::check_rights(halves, request, login).await,
            Site::Repository(_) | Site::Collection(_) => Ok(()),
        }
    }

    fn class(&self, request: &Request) -> RequestClass {
        match self {
            Site::Directory(_) if !hg::claims(&request.raw_path) => couch::class(request),
            _ => RequestClass::Exchange,
        }
    }

    async fn answer(&self, request: Request, login: Login) -> Answer {
        route::answer(self, request, login).await
    }

    fn compresses_answers(&self) -> bool {
        match self {
            Site::Directory(halves) => halves.couch.settings().answers.compress,
            // `hg serve` sends bodies as they are.
            Site::Repository(_) | Site::Collection(_) => false,
        }
    }

    fn reads_plus_as_space(&self, path: &str) -> bool {
        match self {
            Site::Directory(halves) => {
                halves.couch.settings().requests.plus_is_space && !hg::claims(path)
            }
            Site::Repository(_) | Site::Collection(_) => false,
        }
    }

    fn finish_headers(&self, wishes_few: bool, headers: &mut HeaderMap) {
        let Site::Directory(halves) = self else {
            return;
        };
        let settings = halves.couch.settings();
        if !settings.requests.shows_version {
            headers.insert(SERVER, HeaderValue::from_static("Varve"));
        }
        if wishes_few {
            let kept = &settings.requests.minimal_headers;
            let is_kept = |name: &HeaderName| kept.iter().any(|kept| kept == name.as_str());
            let all = headers.keys().cloned().collect::<Vec<_>>();
            all.iter().filter(|name| !is_kept(name)).for_each(|name| {
                headers.remove(name);
            });
        }
    }

    fn answers_as_couchdb(&self) -> bool {
        matches!(self, Site::Directory(_))
    }

    fn stop(&self) {
        let server = self.server();
        server.scheduler.stop_background();
        server.stop();
    }
}
