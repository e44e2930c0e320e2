//! Repositories in the logs of a shared store. Any server reads them from its own copies, brought to the end of their logs for
//! each request; pushes are for the server that should write the repository.

mod list;
mod names;
mod storage;

use crate::auth::UserContext;
use crate::directory::{COPIES, REPOSITORIES, ServedDirectory};
use crate::hg::find::ServedRepository;
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::registry::RepoRegistry;
use crate::hg::rights::is_writing_command;
use crate::hg::{OpenError, is_wire_command, no_repository};
use crate::http::blocking;
use crate::runtime::{OpenLog, Resource, ResponsibleServer, ServerContext, SharedLogs};
use crate::{Answer, Failure, Registry, Request, ServerError};
use hyper::Method;
use list::KnownConfigs;
use names::KIND;
pub use names::{MARK, NAME_PREFIX, log_of_repository, repository_of};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::RepositoryStorage;
use varve_base::Storage;
use varve_config::HgServer;
use varve_shared::{SharedError, SharedStorage};

/// Repositories that stay open between requests.
const IDLE_REPOSITORIES: usize = 64;
/// Time for which the names in the store are known, once they were listed. A name that is not known is looked for at once.
const NAMES_LAST: Duration = Duration::from_secs(20);

/// The repositories of a server with a shared store.
#[derive(Debug)]
pub(crate) struct RepositoryLogs {
    server: Arc<ServerContext>,
    logs: Arc<SharedLogs>,
    settings: HgServer,
    title: String,
    /// Directory of bodies of pushes on their way in.
    spool: PathBuf,
    open: Registry<RepositoryLog>,
    names: Mutex<Option<KnownNames>>,
    /// Held by the request that lists the names, or reads configurations for a list of the repositories.
    listing: tokio::sync::Mutex<()>,
    configs: KnownConfigs,
}

/// Names of all repositories as they were listed.
#[derive(Clone, Debug)]
struct KnownNames {
    listed: Instant,
    names: Arc<BTreeSet<String>>,
}

/// An open repository.
#[derive(Debug)]
struct RepositoryLog {
    name: String,
    log: SharedStorage,
    storage: RepositoryStorage,
    repository: Arc<RepoRegistry>,
}

impl Resource for RepositoryLog {}

impl RepositoryLog {
    /// True if it need not be opened anew, or its log be taken over or given up. A push that is under way keeps the log, and must not
    /// hold up reads.
    fn is_good(&self, is_writer: bool) -> bool {
        let is_owner = self.log.is_owner();
        let is_placed = is_owner == is_writer || (is_owner && self.log.is_in_transaction());
        self.log.is_usable() && is_placed
    }

    fn is_there(&self) -> Result<bool, SharedError> {
        Ok(self.log.kind(Path::new(MARK))?.is_some())
    }

    fn config(&self) -> Result<RepositoryConfig, OpenError> {
        let path = self.name.strip_prefix(NAME_PREFIX).unwrap_or(&self.name);
        RepositoryConfig::read(&self.repository, &ServedRepository::in_log(path))
    }
}

/// The server that a request to a repository is for, if not any one.
pub(crate) fn responsible_server(request: &Request) -> Option<ResponsibleServer> {
    let writes = request.query("cmd").is_some_and(is_writing_command);
    writes.then(|| ResponsibleServer::OwnerOf(name_of(&request.segments)))
}

/// The repository of a path that names nothing more.
fn name_of(segments: &[String]) -> String {
    let segments = segments.iter().filter(|segment| !segment.is_empty());
    let segments = segments.map(String::as_str).collect::<Vec<_>>();
    segments.join("/")
}

/// A path, and what is left of it without its last segments, the longest first.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.rmatch_indices('/').map(|(end, _)| end);
    [path.len()].into_iter().chain(ends).map(|end| &path[..end])
}

impl RepositoryLogs {
    /// The repositories of the directory's shared store; `None` if it has none.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(crate) fn of_directory(
        directory: &ServedDirectory,
        server: Arc<ServerContext>,
        title: &str,
    ) -> Result<Option<RepositoryLogs>, ServerError> {
        let Some(shared) = &directory.shared else {
            return Ok(None);
        };
        let (store, view) = (Arc::clone(&shared.store), Arc::clone(&shared.view));
        let copies = directory.path.join(COPIES).join(REPOSITORIES);
        Ok(Some(RepositoryLogs {
            server,
            logs: Arc::new(SharedLogs::new(KIND, store, view, copies)?),
            settings: directory.settings.hg.clone(),
            title: title.to_owned(),
            spool: directory.path.clone(),
            open: Registry::new(IDLE_REPOSITORIES),
            names: Mutex::default(),
            listing: tokio::sync::Mutex::new(()),
            configs: KnownConfigs::default(),
        }))
    }

    pub(crate) fn logs(&self) -> &Arc<SharedLogs> {
        &self.logs
    }

    /// Names that were listed after `since`, if that is so.
    fn known_names(&self, since: Instant) -> Option<Arc<BTreeSet<String>>> {
        let known = self.names.lock().clone();
        let known = known.filter(|known| known.listed >= since);
        known.map(|known| known.names)
    }

    /// Lists the names. One request does that for all that wait for it as futures.
    async fn list_names(
        self: &Arc<Self>,
        since: Instant,
    ) -> Result<Arc<BTreeSet<String>>, Failure> {
        if let Some(names) = self.known_names(since) {
            return Ok(names);
        }
        let _listing = self.listing.lock().await;
        if let Some(names) = self.known_names(since) {
            return Ok(names);
        }
        let (reads, of) = (&self.server.executor.reads, Arc::clone(self));
        blocking(reads, move || Ok(of.read_names()?)).await
    }

    fn read_names(&self) -> Result<Arc<BTreeSet<String>>, SharedError> {
        let listed = Instant::now();
        let names = Arc::new(self.logs.names()?.into_iter().collect::<BTreeSet<_>>());
        let known = KnownNames {
            listed,
            names: Arc::clone(&names),
        };
        *self.names.lock() = Some(known);
        Ok(names)
    }

    /// The repository with the longest name that the path begins with, brought to the end of its log.
    async fn find(self: &Arc<Self>, path: &str) -> Result<Option<Arc<RepositoryLog>>, Failure> {
        let called = Instant::now();
        // Both looks are the same where the system has not run for long.
        let recently = called.checked_sub(NAMES_LAST).unwrap_or(called);
        for since in [recently, called] {
            let names = self.list_names(since).await?;
            let named = prefixes(path).filter(|prefix| names.contains(*prefix));
            for name in named.map(str::to_owned).collect::<Vec<_>>() {
                let (reads, of) = (&self.server.executor.reads, Arc::clone(self));
                let current = blocking(reads, move || Ok(of.current(&name)?));
                if let Some(open) = current.await? {
                    return Ok(Some(open));
                }
            }
        }
        Ok(None)
    }

    /// The repository as it is at the end of its log; `None` if it is there no more.
    fn current(&self, name: &str) -> Result<Option<Arc<RepositoryLog>>, SharedError> {
        if let Some(open) = self.good(name) {
            match open.log.ensure_current() {
                Ok(()) if open.is_there()? => return Ok(Some(open)),
                Err(error) if !error.must_reopen() => return Err(error),
                // It is looked for in the store.
                Ok(()) | Err(_) => {}
            }
        }
        self.open.exclusively(name, || {
            let open = match self.good(name) {
                Some(open) => open,
                None => match self.logs.find(name)?.and_then(|_| self.logs.opened(name)) {
                    Some(log) => self.keep(name, log),
                    None => {
                        self.open.forget(name);
                        return Ok(None);
                    }
                },
            };
            // It may have been opened before this call, and another process may have taken over from an owner.
            if let Err(error) = open.log.ensure_current() {
                if error.must_reopen() {
                    self.open.forget(name);
                    self.logs.retire(name);
                }
                return Err(error);
            }
            Ok(open.is_there()?.then_some(open))
        })
    }

    /// The repository, if it is open as it should be.
    fn good(&self, name: &str) -> Option<Arc<RepositoryLog>> {
        let is_writer = self.logs.view().writes(name);
        self.open.get(name).filter(|open| open.is_good(is_writer))
    }

    /// Keeps a repository open, unless it is already.
    fn keep(&self, name: &str, log: OpenLog) -> Arc<RepositoryLog> {
        let same = self
            .open
            .peek(name)
            .filter(|open| open.log.is_same(&log.storage));
        if let Some(open) = same {
            return open;
        }
        self.open.forget(name);
        let storage = RepositoryStorage::new(log.storage.clone());
        let path = name.strip_prefix(NAME_PREFIX).unwrap_or(name);
        let repository = RepoRegistry::of_log(
            Arc::clone(&self.server),
            (path, &self.settings),
            (Arc::new(storage.clone()), log.clone()),
            &self.spool,
        );
        let opened = RepositoryLog {
            name: name.to_owned(),
            log: log.storage,
            storage,
            repository: Arc::new(repository),
        };
        self.open.insert(name, opened)
    }

    /// Repositories that this server writes, and other ones should.
    fn misplaced(&self) -> Vec<Arc<RepositoryLog>> {
        let mut open = self.open.values();
        open.retain(|open| open.log.is_owner() && !self.logs.view().writes(&open.name));
        open
    }

    /// Removes the local copy of a repository that nothing uses. Returns true if it is gone.
    pub(crate) fn drop_copy(&self, name: &str) -> bool {
        self.open.close_idle(name);
        self.logs.drop_copy(name)
    }

    /// Commits everything that is left but unfinished pushes. To be called when the server ends.
    pub(crate) fn close(&self) {
        for open in self.open.values() {
            // A push may wait for a hook that never ends.
            if !open.log.is_in_transaction() {
                // Nothing that was acknowledged is left.
                let _ = open.log.release();
            }
        }
    }
}

/// Hands repositories over whenever the servers of the store have changed, until the server stops. Pushes that are under way end
/// before.
pub(crate) async fn maintain(logs: Arc<RepositoryLogs>) {
    let mut view = logs.logs.view().watch();
    let stopped = logs.server.stopped();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            changed = view.changed() => if changed.is_err() {
                return;
            },
            () = &mut stopped => return,
        }
        for open in logs.misplaced() {
            let pool = logs.server.executor.pushes.clone();
            // One waits for a push, and the others do not. A failure is found again by the next request.
            tokio::spawn(async move { blocking(&pool, move || Ok(open.log.release()?)).await });
        }
    }
}

/// Answers everything below `/hg`.
pub(crate) async fn route(
    logs: Arc<RepositoryLogs>,
    request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    if !request.is_read() && request.method != Method::POST {
        return Err(Failure::method_not_allowed("GET,HEAD,POST"));
    }
    if request.segments.iter().skip(1).all(String::is_empty) {
        return list(logs, request, user).await;
    }
    let reads = logs.server.executor.reads.clone();
    let Some(open) = logs.find(&name_of(&request.segments)).await? else {
        let name = name_of(&request.segments[1..]);
        return Ok(no_repository(&request, &name));
    };
    let writes = is_wire_command(&request) && responsible_server(&request).is_some();
    if writes && !open.log.is_owner() {
        let log = open.name.clone();
        return Err(SharedError::NotOwner { log }.into());
    }
    let answered = super::route(Arc::clone(&open.repository), request, user).await;
    // What was read, or said to be done, may be refused by the log yet.
    blocking(&reads, move || Ok(open.storage.settle()?)).await?;
    answered
}

/// The list of the repositories that a user sees.
pub(crate) async fn list(
    logs: Arc<RepositoryLogs>,
    request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    let names = logs.list_names(Instant::now()).await?;
    // Others wait as futures, and find the configurations that this one has read.
    let _listing = logs.listing.lock().await;
    let (reads, of) = (logs.server.executor.reads.clone(), Arc::clone(&logs));
    blocking(&reads, move || list::answer(&of, &names, (&request, &user))).await
}

#[cfg(test)]
mod tests;
