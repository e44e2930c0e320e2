//! State shared by all requests to a served directory.

use crate::auth::Auth;
use crate::couch::Databases;
use crate::couch::admin::compaction::SmooshQueue;
use crate::couch::admin::{NodeConfig, Uuids};
use crate::couch::database::logs;
use crate::couch::database::store::DatabaseStore;
use crate::couch::history::RepositoryRights;
use crate::couch::replication::{REPLICATOR, ReplicationJobs};
use crate::couch::users::{USERS, UserDirectory};
use crate::directory::{COPIES, DATABASES, INDEXES, ServedDirectory, compression};
use crate::runtime::SharedLogs;
use crate::runtime::log::Log;
use crate::runtime::scheduler::JobKind;
use crate::runtime::{Executor, ServerContext};
use crate::{Failure, ServerError, Tasks};
use rustix::process::{Resource, getrlimit};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;
use varve_base::{ReadMode, Storage};
use varve_btree::NodeCache;
use varve_codec::deflate::Level;
use varve_config::{Attachments, Settings};
use varve_docdb::{Compressible, DatabaseOptions, Durability, Limits};
use varve_js::Compilation;
use varve_views::MemtableBudget;

/// One running server of a directory.
#[derive(Debug)]
pub struct CouchContext {
    /// The served directory, locked for this process.
    pub directory: ServedDirectory,
    /// Users and sessions.
    pub auth: Auth,
    /// State that every server has, whatever it serves.
    pub(crate) server: Arc<ServerContext>,
    pub(crate) databases: Arc<Databases>,
    /// A part of the memory that is configured for caches.
    pub(crate) memtable_budget: MemtableBudget,
    pub(crate) uuids: Uuids,
    pub(crate) config: NodeConfig,
    pub(crate) replications: ReplicationJobs,
    pub(crate) smoosh: SmooshQueue,
    /// Rights to read the databases of repositories; set before the first request.
    pub(crate) repository_rights: OnceLock<Arc<dyn RepositoryRights>>,
    /// The settings that count now.
    live: watch::Sender<Arc<Settings>>,
}

/// This part of the memory for caches may hold changes of indexes that are not in their files yet.
const MEMTABLE_PART: usize = 6;

fn compressible(settings: &Attachments) -> Compressible {
    let usual = Compressible::default();
    let types = settings.compressible_types.clone();
    Compressible {
        types: types.unwrap_or(usual.types),
        level: settings.compression_level.map_or(usual.level, Level::new),
    }
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        document: settings.max_document_size,
        attachment: settings.max_attachment_size,
        attachments: settings.max_attachments_per_doc,
        id: settings.requests.document_id,
    }
}

fn durability(settings: &Settings) -> Durability {
    let interval = settings.sync_interval;
    interval.map_or(Durability::Commit, Durability::Interval)
}

/// Number of files of databases and indexes that are kept open: at most half of this process's limit, so that there is
/// room for clients.
fn most_open(settings: &Settings) -> usize {
    let allowed = getrlimit(Resource::Nofile).current;
    let half = allowed.map_or(u64::MAX, |allowed| allowed / 2);
    usize::try_from(settings.max_dbs_open.min(half)).unwrap_or(usize::MAX)
}

impl CouchContext {
    /// Serves a directory; nothing below it is read before the first request for it.
    ///
    /// # Errors
    /// [`ServerError::Random`]; [`ServerError::Storage`] if old copies of shared databases cannot be removed.
    pub(crate) fn new(
        directory: ServedDirectory,
        server: Arc<ServerContext>,
    ) -> Result<CouchContext, ServerError> {
        // More than can be addressed is as good as no bound.
        let cache_size = usize::try_from(directory.settings.cache_size).unwrap_or(usize::MAX);
        let memtable_budget = cache_size / MEMTABLE_PART;
        let options = DatabaseOptions {
            setting: directory.compression,
            cache: NodeCache::new(cache_size - memtable_budget),
            limits: limits(&directory.settings),
            trains: varve_docdb::TrainsBy::Itself,
            durability: durability(&directory.settings),
            in_place: varve_docdb::InPlace {
                from: directory.settings.compaction.in_place_from,
                ..varve_docdb::InPlace::default()
            },
            compressible: compressible(&directory.settings.attachments),
            tuned: varve_docdb::Tuned::default(),
        };
        let storage = Arc::clone(&directory.storage);
        let most_open = most_open(&directory.settings);
        let store = match &directory.shared {
            None => DatabaseStore::Directory(Arc::clone(&storage)),
            Some(shared) => {
                let (store, view) = (Arc::clone(&shared.store), Arc::clone(&shared.view));
                // What became of the databases meanwhile is not known, and the store has copies of indexes, too.
                storage.remove_tree(Path::new(INDEXES))?;
                let copies = directory.path.join(COPIES).join(DATABASES);
                DatabaseStore::Shared(Arc::new(SharedLogs::new(logs::KIND, store, view, copies)?))
            }
        };
        let databases = Databases::new(
            (storage, store),
            options,
            most_open,
            (server.log.clone(), Arc::clone(&server.tasks)),
        );
        let databases = databases.map_err(|source| ServerError::Random { source })?;
        let databases = Arc::new(databases);
        let reads = &server.executor.reads;
        let builds = directory.settings.ken.builds;
        server.scheduler.set_workers(JobKind::AutoIndex, builds);
        Ok(CouchContext {
            auth: Auth::new(
                &directory.settings,
                Box::new(UserDirectory::of(&databases, reads.clone())),
                reads.clone(),
                server.log.clone(),
            )?,
            databases,
            memtable_budget: MemtableBudget::new(memtable_budget),
            uuids: Uuids::new()?,
            config: NodeConfig::new(&directory.text),
            replications: ReplicationJobs::default(),
            smoosh: SmooshQueue::default(),
            repository_rights: OnceLock::new(),
            live: watch::Sender::new(Arc::new(directory.settings.clone())),
            server,
            directory,
        })
    }

    /// Makes `_users` and `_replicator`, so that clients need not, unless they are there or the settings ask for none.
    ///
    /// # Errors
    /// 500 if a file cannot be made.
    pub(crate) fn make_own_databases(&self) -> Result<(), Failure> {
        if !self.settings().single_node {
            return Ok(());
        }
        for name in [USERS, REPLICATOR] {
            if !self.databases.contains(name)? {
                self.databases
                    .create(name, varve_docdb::NewDatabase::default())?;
            }
        }
        Ok(())
    }

    /// Which map functions run without an engine.
    pub fn compilation(&self) -> Compilation {
        match self.settings().compile_maps {
            true => Compilation::Simple,
            false => Compilation::Off,
        }
    }

    /// Limits for functions in JavaScript.
    pub fn limits(&self) -> varve_js::Limits {
        let settings = self.settings();
        let functions = &settings.functions;
        varve_js::Limits {
            time: functions.time,
            memory: functions.memory,
            ..varve_js::Limits::default()
        }
    }

    /// The served directory's files; paths are relative to it.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.directory.storage
    }

    /// The settings that count now. A request that needs several of them takes them once.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.live.borrow())
    }

    /// Tells of each change of the settings from now on.
    pub(crate) fn watch_settings(&self) -> watch::Receiver<Arc<Settings>> {
        self.live.subscribe()
    }

    /// Has these settings count from now on, but for those that are read at a start.
    ///
    /// # Errors
    /// Any [`ServerError`]; nothing has changed then.
    pub(crate) fn change_settings(&self, settings: Settings) -> Result<(), ServerError> {
        let compression = compression(&settings)?;
        self.auth.change(&settings)?;
        let tuned = &self.databases.options().tuned;
        tuned.set(compression, limits(&settings));
        self.server.log.set_levels(&settings.log);
        self.server.limits.change(settings.limits.clone());
        let builds = settings.ken.builds;
        self.server
            .scheduler
            .set_workers(JobKind::AutoIndex, builds);
        self.live.send_replace(Arc::new(settings));
        Ok(())
    }

    /// The most bytes of a JSON body: `[limits] json_body`, or one document if that may be longer.
    pub fn longest_json(&self) -> u64 {
        let settings = self.settings();
        let longest = settings.limits.json_body.max(settings.max_document_size);
        longest.min(settings.max_request_size)
    }

    /// Runs `attempt` on the calling thread, which serves connections: all that it reads is read in
    /// the mode that it is given, and it changes nothing. `None` if it would block; it is then done
    /// again on a blocking thread.
    pub fn try_cached<T>(
        attempt: impl FnOnce(ReadMode) -> Result<T, Failure>,
    ) -> Option<Result<T, Failure>> {
        // As on a blocking thread, a panic ends no more than this request.
        match panic::catch_unwind(AssertUnwindSafe(|| attempt(ReadMode::CachedOnly))) {
            Ok(Err(failure)) if failure.is_would_block() => None,
            Ok(done) => Some(done),
            Err(_) => Some(Err(Failure::internal("the handler of this request failed"))),
        }
    }

    /// A new document id.
    pub fn new_uuid(&self) -> String {
        self.uuids.make(&self.settings().uuids)
    }

    /// Names of all databases, in order.
    ///
    /// # Errors
    /// 500 if the directory cannot be listed; 503 if the store does not answer.
    pub fn database_names(&self) -> Result<Vec<String>, Failure> {
        self.databases.names()
    }

    /// State that every server has, whatever it serves.
    pub(crate) fn server(&self) -> &Arc<ServerContext> {
        &self.server
    }

    /// The pools of this server.
    pub(crate) fn executor(&self) -> &Executor {
        &self.server.executor
    }

    /// Becomes `true` when the server stops: feeds then end.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.server.stopping()
    }

    /// Where faults are written.
    pub(crate) fn log(&self) -> &Log {
        &self.server.log
    }

    /// The list of `_active_tasks`.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.server.tasks
    }
}
