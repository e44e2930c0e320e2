//! What all requests to a served folder share.

use crate::auth::Auth;
use crate::couch::{Compactor, Databases, Directory, Warmer};
use crate::folder::{DATABASES, Folder};
use crate::hg::Shelf;
use crate::house::{House, Report};
use crate::node::{NodeConfig, Uuids};
use crate::{Failure, ServerError, Tasks, databases};
use rustix::process::{Resource, getrlimit};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;
use varve_base::{Storage, storage};
use varve_btree::NodeCache;
use varve_codec::deflate::Level;
use varve_config::{Attachments, Settings};
use varve_docdb::{Compressible, DatabaseOptions, Durability, Limits};
use varve_js::Compilation;
use varve_views::Unwritten;

/// One running server of a folder.
#[derive(Debug)]
pub struct App {
    /// The served folder, locked for this process.
    pub folder: Folder,
    /// Users and sessions.
    pub auth: Auth,
    /// What every server has.
    pub(crate) house: Arc<House>,
    /// The folder's repositories.
    pub(crate) hg: Arc<Shelf>,
    pub(crate) databases: Arc<Databases>,
    pub(crate) compactor: Arc<Compactor>,
    pub(crate) warmer: Warmer,
    /// A part of the memory that is configured for caches.
    pub(crate) unwritten: Unwritten,
    pub(crate) uuids: Uuids,
    pub(crate) config: NodeConfig,
}

/// This part of the memory for caches may hold changes of indexes that are not in their files yet.
const UNWRITTEN_PART: usize = 8;

fn compressible(settings: &Attachments) -> Compressible {
    let usual = Compressible::default();
    let types = settings.compressible_types.clone();
    Compressible {
        types: types.unwrap_or(usual.types),
        level: settings.compression_level.map_or(usual.level, Level::new),
    }
}

fn durability(settings: &Settings) -> Durability {
    let interval = settings.sync_interval;
    interval.map_or(Durability::Commit, Durability::Interval)
}

/// How many files of databases and indexes are kept open: at most half of what this process may have
/// open, so that there is room for clients.
fn most_open(settings: &Settings) -> usize {
    let allowed = getrlimit(Resource::Nofile).current;
    let half = allowed.map_or(u64::MAX, |allowed| allowed / 2);
    usize::try_from(settings.max_dbs_open.min(half)).unwrap_or(usize::MAX)
}

impl App {
    /// Serves a folder; nothing below it is read before somebody asks for it. `title` stands above
    /// the list of repositories.
    ///
    /// # Errors
    /// [`ServerError::Random`].
    pub(crate) fn new(
        folder: Folder,
        house: House,
        title: Option<String>,
        report: &Report,
    ) -> Result<App, ServerError> {
        // More than can be addressed is as good as no bound.
        let cache_size = usize::try_from(folder.settings.cache_size).unwrap_or(usize::MAX);
        let unwritten = cache_size / UNWRITTEN_PART;
        let options = DatabaseOptions {
            setting: folder.compression,
            cache: NodeCache::new(cache_size - unwritten),
            limits: Limits {
                document: folder.settings.max_document_size,
                attachment: folder.settings.max_attachment_size,
                attachments: folder.settings.max_attachments_per_doc,
            },
            trains: varve_docdb::TrainsBy::Itself,
            durability: durability(&folder.settings),
            in_place: varve_docdb::InPlace {
                from: folder.settings.compaction.in_place_from,
                ..varve_docdb::InPlace::default()
            },
            compressible: compressible(&folder.settings.attachments),
        };
        let house = Arc::new(house);
        let storage = Arc::clone(&folder.storage);
        let most_open = most_open(&folder.settings);
        let databases = Databases::new(storage, options, most_open, report.clone());
        let databases = databases.map_err(|source| ServerError::Random { source })?;
        let databases = Arc::new(databases);
        Ok(App {
            auth: Auth::new(&folder.settings, Directory::of(&databases))?,
            databases,
            hg: Arc::new(Shelf::of_folder(&folder, Arc::clone(&house), title)),
            compactor: Arc::default(),
            warmer: Warmer::default(),
            unwritten: Unwritten::new(unwritten),
            uuids: Uuids::new()?,
            config: NodeConfig::of(&folder.ini),
            house,
            folder,
        })
    }

    /// Which map functions run without an engine.
    pub fn compilation(&self) -> Compilation {
        match self.folder.settings.compile_maps {
            true => Compilation::Simple,
            false => Compilation::Off,
        }
    }

    /// What functions in JavaScript may use.
    pub fn limits(&self) -> varve_js::Limits {
        let functions = &self.folder.settings.functions;
        varve_js::Limits {
            time: functions.time,
            memory: functions.memory,
            ..varve_js::Limits::default()
        }
    }

    /// The served folder's files; paths are relative to it.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.folder.storage
    }

    /// What `varve.ini` says.
    pub fn settings(&self) -> &Settings {
        &self.folder.settings
    }

    /// Runs storage work on a blocking thread.
    ///
    /// # Errors
    /// That of `work`; 500 if it panicked.
    pub async fn blocking<T, W>(work: W) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: FnOnce() -> Result<T, Failure> + Send + 'static,
    {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(Failure::internal("the handler of this request failed")))
    }

    /// Does on this thread what needs nothing but memory; `None` if it would have to wait for the
    /// disk, or takes long. It is to be done on a blocking thread then, so it must change nothing.
    pub fn at_once<T>(work: impl FnOnce() -> Result<T, Failure>) -> Option<Result<T, Failure>> {
        storage::at_once(|| {
            // As on a blocking thread, a panic ends no more than this request.
            let done = panic::catch_unwind(AssertUnwindSafe(work));
            done.unwrap_or_else(|_| Err(Failure::internal("the handler of this request failed")))
        })
    }

    /// A new document id.
    pub fn new_uuid(&self) -> String {
        self.uuids.next()
    }

    /// Names of all databases, in order.
    ///
    /// # Errors
    /// 500 if the folder cannot be listed.
    pub fn database_names(&self) -> Result<Vec<String>, Failure> {
        let entries = self.storage().list(Path::new(DATABASES));
        let entries = entries.map_err(Failure::internal)?.into_iter();
        let names = entries.filter_map(|entry| databases::name_of(entry.name.to_str()?));
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Becomes `true` when the server stops: feeds then end.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.house.stopping()
    }

    /// Tells the operator what went wrong.
    pub(crate) fn report(&self, line: &str) {
        self.house.report(line);
    }

    /// Ends what works in the background.
    pub(crate) fn stop(&self) {
        self.hg.stop();
        self.compactor.stop();
        self.databases.noticed().end();
        self.databases.written().end();
    }

    /// What runs for longer.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.house.tasks
    }
}
