//! Starting and stopping: threads, the listening socket, signals.
//!
//! A server stops in this order, so that nothing is begun that could not be finished, and nothing is closed
//! that is still in use:
//!
//! 1. The listener is closed: there are no new connections.
//! 2. Feeds end, and background work that no request waits for is interrupted.
//! 3. Requests finish, or are cut after `[varve] shutdown_timeout`, and the log says which. A push that is cut is
//!    undone. Connections without a running request are closed at once.
//! 4. Index builds are interrupted. The scheduler waits until all background work has removed its unfinished
//!    files, up to 5 s. Replications write a last checkpoint, up to 5 s more.
//! 5. Threads that still answer requests end, within 5 s more.
//! 6. Databases are sealed.
//! 7. Other servers of a shared store may take over; copies of indexes are stored for them, for up to 5 s.
//! 8. The access log is flushed.
//!
//! After a step's time the next one follows regardless: the files are safe against a power cut at any point, so
//! nothing that was acknowledged is lost. For the same reason a second signal may end the process at once.

use crate::directory::{self, ServedDirectory};
use crate::hg::logs::RepositoryLogs;
use crate::hg::{RepoCollection, RepoRegistry};
use crate::history::HistoryDatabases;
use crate::http;
use crate::http::handler::HttpContext;
use crate::http::{AccessLog, AccessLogOutput, Mount, Tls};
use crate::runtime::log::Log;
use crate::runtime::{
    Executor, HelpIndex, Limits, ListeningAddress, LogOutput, STACK, ServerContext,
};
use crate::site::Halves;
use crate::site::Site;
use crate::site::cluster::{Cluster, SharedOptions};
use crate::site::forward::Forwarder;
use crate::site::signals::StopSignal;
use crate::{Collection, CouchContext, LoneRepository, ServerError};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use varve_base::Interrupt;

/// Where one repository is served by default, as `hg serve` has it.
const PORT: u16 = 8000;

/// Threads of tokio itself for blocking calls: the server gives it no such work.
const TOKIO_BLOCKING_THREADS: usize = 2;

/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// When the server stops, calls that cannot be ended have this long to be undone.
const UNDONE_WITHIN: Duration = Duration::from_secs(5);

/// Feeds hold a socket each. Not more than that is asked for: a process started by the server may go through all of
/// them.
const SOCKETS: u64 = 65_536;

/// Lets this process have many files and sockets open at a time, as far as it may.
pub fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(SOCKETS, |most| most.min(SOCKETS));
    if limit.current.is_some_and(|current| current < most) {
        limit.current = Some(most);
        // With fewer it works too, for fewer clients.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// Tells once which settings were accepted and change nothing.
fn tell_idle(idle: &[String]) {
    if !idle.is_empty() {
        let names = idle.join(", ");
        tracing::warn!("settings that neither Varve nor CouchDB knows: {names}");
    }
}

/// Half of the descriptors that the process may have are for clients; the rest is for files.
fn socket_budget() -> usize {
    let allowed = getrlimit(Resource::Nofile).current;
    allowed.map_or(usize::MAX, |allowed| {
        usize::try_from(allowed / 2).unwrap_or(usize::MAX)
    })
}

/// Content of a server.
#[derive(Clone, Debug)]
pub enum Served {
    /// The repositories and databases of a directory; above the list of repositories stands the title.
    Directory {
        /// The directory.
        path: PathBuf,
        /// The title; there is one already.
        title: Option<String>,
        /// The store of its databases, if these are not in the directory.
        shared: Option<SharedOptions>,
    },
    /// One repository, with nothing beside it.
    Repository(LoneRepository),
    /// Repositories with names.
    Collection(Collection),
}

/// Content of a server, and its address.
#[derive(Debug)]
pub struct ServeOptions {
    /// The content to serve.
    pub served: Served,
    /// Takes the place of `[chttpd] bind_address`; without both, all of this machine's.
    pub address: Option<IpAddr>,
    /// Takes the place of `[chttpd] port`; 0 takes any free one.
    pub port: Option<u16>,
    /// The path below which everything is.
    pub prefix: String,
    /// A file in PEM with a certificate and its key: with it, all connections are TLS.
    pub certificate: Option<PathBuf>,
    /// Gets a line for each answered request.
    pub access: Option<AccessLogOutput>,
    /// Where the log goes unless `[log] file` says otherwise.
    pub log: LogOutput,
    /// Commands and topics for the pages of help.
    pub help: HelpIndex,
}

/// A server that listens already.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
    site: Site,
    context: Arc<HttpContext>,
    /// How long running answers may take when the server stops.
    shutdown_timeout: Duration,
    /// The servers of its store, if its databases are in one.
    cluster: Option<Arc<Cluster>>,
}

/// The reason why a server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A signal or the caller has stopped it.
    Stopped,
    /// Another server leads those of its store.
    Superseded,
}

/// A socket that listens before anything else is done: a start that is refused its address leaves nothing behind.
#[derive(Debug)]
pub struct ListeningSocket {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

impl ServeOptions {
    /// Listens where the options or the directory's settings say; connections wait. Writes nothing.
    ///
    /// # Errors
    /// The settings cannot be read; [`ServerError::Listen`].
    pub fn listen(&self) -> Result<ListeningSocket, ServerError> {
        let (ip, port) = match &self.served {
            Served::Directory { path, .. } => {
                let settings = directory::read_settings(path)?;
                (settings.bind_address, settings.port)
            }
            Served::Repository(_) | Served::Collection(_) => (Ipv4Addr::UNSPECIFIED.into(), PORT),
        };
        let address = SocketAddr::new(self.address.unwrap_or(ip), self.port.unwrap_or(port));
        let refused = |source| ServerError::Listen { address, source };
        let runtime = start_runtime()?;
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(ListeningSocket {
            runtime,
            listener,
            address,
        })
    }
}

/// Opens logs again and reads the certificate; what fails stays as it was.
fn reload(log: &Log, access: Option<&AccessLog>, tls: Option<&Tls>) {
    log.reopen();
    if let Some(access) = access {
        access.reopen();
    }
    if let Some(Err(error)) = tls.map(Tls::reload) {
        log.scope(|| tracing::error!("{error}; the one before is kept"));
    }
}

fn start_runtime() -> Result<Runtime, ServerError> {
    Builder::new_multi_thread()
        .worker_threads(Executor::connection_threads())
        .max_blocking_threads(TOKIO_BLOCKING_THREADS)
        .enable_all()
        .thread_stack_size(STACK)
        .thread_name("varve")
        .build()
        .map_err(|source| ServerError::Threads { source })
}

/// State of a server that has no settings of its own.
fn without_settings(executor: Executor, log: LogOutput) -> Result<Arc<ServerContext>, ServerError> {
    let log = Log::open(&varve_config::Log::default(), Path::new(""), log)?;
    let limits = Limits::new(varve_config::Limits::default(), socket_budget());
    Ok(Arc::new(ServerContext::new(executor, log, limits)))
}

/// Opens the databases and repositories of a directory.
fn open_halves(
    directory: ServedDirectory,
    (executor, log): (Executor, Log),
    title: Option<String>,
    (cluster, tls): (Option<&Cluster>, Option<&Tls>),
) -> Result<Halves, ServerError> {
    log.scope(|| tell_idle(&directory.settings.idle));
    let limits = Limits::new(directory.settings.limits.clone(), socket_budget());
    let server = Arc::new(ServerContext::new(executor, log, limits));
    let (own, context) = (&directory, Arc::clone(&server));
    let hg = Arc::new(RepoRegistry::of_directory(own, context, title));
    let hg_logs = RepositoryLogs::of_directory(own, Arc::clone(&server), hg.title())?;
    let couch = Arc::new(CouchContext::new(directory, server)?);
    // Those of a shared store are the leader's.
    if !couch.databases.is_shared() {
        make_own_databases(&couch);
    }
    let history = HistoryDatabases::new(Arc::clone(&couch), Arc::clone(&hg));
    let forwarder = cluster.map(|cluster| {
        let secret = couch.settings().sessions.secret.clone();
        let (secret, log) = (secret.unwrap_or_default(), couch.log().clone());
        let common = (secret.as_str(), cluster.takeover());
        Forwarder::new(Arc::clone(cluster.view()), common, tls.cloned(), log)
    });
    Ok(Halves {
        couch,
        hg,
        hg_logs: hg_logs.map(Arc::new),
        history,
        forwarder,
    })
}

/// Makes `_users` and `_replicator`; the log says if they cannot be made.
pub(super) fn make_own_databases(couch: &CouchContext) {
    if let Err(failure) = couch.make_own_databases() {
        couch
            .log()
            .scope(|| tracing::error!("_users cannot be made: {failure}"));
    }
}

impl Server {
    /// [`ServeOptions::listen`], then [`Server::open`].
    ///
    /// # Errors
    /// Any [`ServerError`].
    pub fn bind(options: ServeOptions) -> Result<Server, ServerError> {
        let socket = options.listen()?;
        Server::open(options, socket)
    }

    /// Opens the content; connections wait until [`Server::run_until`].
    ///
    /// # Errors
    /// Any [`ServerError`].
    pub fn open(options: ServeOptions, socket: ListeningSocket) -> Result<Server, ServerError> {
        raise_file_limit();
        let http2 = match &options.served {
            Served::Directory { path, .. } => directory::read_settings(path)?.answers.http2,
            // The programs that read repositories speak HTTP/1.1.
            Served::Repository(_) | Served::Collection(_) => false,
        };
        let certificate = options.certificate.as_deref();
        let tls = certificate.map(|file| Tls::read(file, http2)).transpose()?;
        let executor = Executor::new().map_err(|source| ServerError::Threads { source })?;
        let mut shutdown_timeout = varve_config::SHUTDOWN_TIMEOUT;
        let mut cluster = None;
        let site = match options.served {
            Served::Directory {
                path,
                title,
                shared,
            } => {
                let directory = match &shared {
                    None => ServedDirectory::open(&path)?,
                    Some(shared) => ServedDirectory::open_shared(&path, Arc::clone(&shared.store))?,
                };
                shutdown_timeout = directory.settings.shutdown_timeout;
                if let (Some(options), Some(own)) = (shared, &directory.shared) {
                    let found = Cluster::new(options, &own.view, socket.address);
                    cluster = Some(found.ok_or(ServerError::NoAdvertisedAddress)?);
                }
                let log = Log::open(&directory.settings.log, &path, options.log)?;
                let among = (cluster.as_ref(), tls.as_ref());
                let halves = open_halves(directory, (executor, log), title, among)?;
                Site::Directory(Arc::new(halves))
            }
            Served::Repository(one) => {
                let server = without_settings(executor, options.log)?;
                Site::Repository(Arc::new(RepoRegistry::of_one(one, server)))
            }
            Served::Collection(collection) => {
                let server = without_settings(executor, options.log)?;
                Site::Collection(Arc::new(RepoCollection::new(collection, server)))
            }
        };
        let server = Arc::clone(site.server());
        let access = options
            .access
            .map(|output| AccessLog::start(output, server.log.clone()));
        let mount = Mount::parse(&options.prefix);
        let _ = server.help.set(options.help);
        let _ = server.listening.set(ListeningAddress {
            socket: socket.address,
            is_encrypted: tls.is_some(),
            prefix: mount.path(),
        });
        let context = Arc::new(HttpContext {
            server,
            trust: site.trust_policy(socket.address.ip()),
            mount,
            access: access.transpose()?.map(Arc::new),
        });
        Ok(Server {
            runtime: socket.runtime,
            listener: socket.listener,
            address: socket.address,
            tls,
            site,
            context,
            shutdown_timeout,
            cluster: cluster.map(Arc::new),
        })
    }

    /// Where it listens, with the port that was really taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }

    /// The path below which everything is: nothing, or `/a/b`.
    pub fn prefix(&self) -> String {
        self.context.mount.path()
    }

    /// The directory, if one is served.
    pub fn directory(&self) -> Option<&ServedDirectory> {
        match &self.site {
            Site::Directory(halves) => Some(&halves.couch.directory),
            Site::Repository(_) | Site::Collection(_) => None,
        }
    }

    /// Catches Ctrl-C and SIGTERM from this call on, so it belongs before anything that tells others that the server is
    /// there. The second signal ends the process at once.
    ///
    /// # Errors
    /// [`ServerError::Signals`].
    pub fn stop_signal(&self) -> Result<StopSignal, ServerError> {
        let _inside = self.runtime.enter();
        StopSignal::catch()
    }

    /// From this call on SIGHUP makes the server open its logs again, which may have been renamed, and read its
    /// certificate once more, for connections from then on. It ends no server.
    ///
    /// # Errors
    /// [`ServerError::Signals`].
    pub fn reload_at_hangup(&self) -> Result<(), ServerError> {
        let _inside = self.runtime.enter();
        let caught = signal(SignalKind::hangup());
        let mut hangup = caught.map_err(|source| ServerError::Signals { source })?;
        let (log, access) = (self.site.server().log.clone(), self.context.access.clone());
        let tls = self.tls.clone();
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                let (log, access, tls) = (log.clone(), access.clone(), tls.clone());
                // It fails only if the server ends.
                let _ = tokio::task::spawn_blocking(move || {
                    reload(&log, access.as_deref(), tls.as_ref());
                })
                .await;
            }
        });
        Ok(())
    }

    /// Answers requests until `stop` completes, such as [`Server::stop_signal`], or another server leads after this one; returns
    /// after running ones have finished.
    pub fn run_until(self, stop: impl Future<Output = ()>) -> Ended {
        let past_limit = self.catch_file_limit();
        let (site, cluster) = (self.site.clone(), self.cluster.clone());
        let access = self.context.access.clone();
        let attendance = cluster
            .as_ref()
            .and_then(|cluster| cluster.join(&site.server().log));
        self.runtime.block_on(async {
            tokio::pin!(stop);
            let leading = tokio::spawn(begin_to_lead(cluster.clone(), site.clone()));
            if let Some(cluster) = &cluster {
                tokio::select! {
                    () = cluster.ready() => {}
                    // A server that is told to stop before has nothing to end.
                    () = stop.as_mut() => return,
                }
            }
            site.maintain_files();
            tokio::spawn(site.server().log.clone().count_repeats());
            let listening = (self.listener, self.tls);
            let handling = (self.site, self.context);
            let stop = stop_or_superseded(stop, cluster.as_deref());
            http::serve(listening, handling, stop, self.shutdown_timeout).await;
            site.end_background_work(UNDONE_WITHIN).await;
            if let Some(maintenance) = leading.await.ok().flatten() {
                // What has not ended by then is cut with the runtime.
                let _ = tokio::time::timeout(UNDONE_WITHIN, maintenance).await;
            }
        });
        // Blocking threads that still write to a client that was cut end at their next write; pushes
        // that are cut are undone.
        self.runtime.shutdown_timeout(UNDONE_WITHIN);
        site.server().executor.shut_down(UNDONE_WITHIN);
        site.close();
        if let Some(attendance) = attendance {
            attendance.end();
            site.store_indexes(UNDONE_WITHIN);
        }
        drop(past_limit);
        site.server().log.write_repeats(Duration::ZERO);
        if let Some(log) = access {
            log.end();
        }
        match cluster.is_some_and(|cluster| cluster.is_superseded()) {
            true => Ended::Superseded,
            false => Ended::Stopped,
        }
    }

    /// Has a write past the limit of file sizes (`ulimit -f`) fail as on a full disk: the signal that comes with it
    /// would end the process otherwise. A system without that signal has nothing to be caught.
    fn catch_file_limit(&self) -> Option<Signal> {
        let _inside = self.runtime.enter();
        let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        signal(kind).ok()
    }

    /// [`Server::run_until`] with `stop` as the end.
    pub fn run_until_raised(self, stop: &Interrupt) {
        self.run_until(async {
            while !stop.is_raised() {
                tokio::time::sleep(LOOK).await;
            }
        });
    }
}

/// Begins with what one server of a store does for all, once it is this server's turn. `None` if it stops before.
async fn begin_to_lead(cluster: Option<Arc<Cluster>>, site: Site) -> Option<JoinHandle<()>> {
    if let Some(cluster) = cluster {
        if !cluster.wait_for_turn(site.server()).await {
            return None;
        }
        site.make_own_databases().await;
        cluster.view().begin_to_lead();
    }
    site.start()
}

async fn stop_or_superseded(stop: impl Future<Output = ()>, cluster: Option<&Cluster>) {
    match cluster {
        None => stop.await,
        Some(cluster) => tokio::select! {
            () = stop => (),
            () = cluster.superseded() => (),
        },
    }
}
