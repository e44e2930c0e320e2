//! The repositories that a server has: all below a directory, or a single one.

use crate::Registry;
use crate::directory::ServedDirectory;
use crate::hg::database::{RepositoryDatabase, RepositoryDatabases};
use crate::hg::find;
use crate::hg::find::ServedRepository;
use crate::hg::listing::ListedConfigs;
use crate::hg::pages::PageCache;
use crate::hg::{CloneBundleScheduler, OpenRepository, SharedBundles};
use crate::runtime::dirty::DirtySet;
use crate::runtime::{CopyDirectory, OpenLog, ServerContext};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use varve_base::{DiskStorage, Storage, StorageError};
use varve_config::HgServer;
use varve_config::hgrc::{Hgrc, HgrcError};
use varve_repo::ShareAccess;
use varve_shared::{SharedError, SharedStorage};

/// Repositories that stay open between requests.
const IDLE_REPOSITORIES: usize = 64;

/// Default heading of the list of a directory's repositories.
const TITLE: &str = "Repositories";

/// One repository that is served alone, with the configuration of the user who serves it.
#[derive(Clone)]
pub struct LoneRepository {
    /// Its directory; an absolute path.
    pub root: PathBuf,
    /// How pages call it.
    pub name: String,
    /// Reads its configuration as it is now.
    pub configuration: Arc<dyn Fn() -> Result<LoneConfig, HgrcError> + Send + Sync>,
}

impl std::fmt::Debug for LoneRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LoneRepository").field(&self.root).finish()
    }
}

/// Configuration of a repository that is served alone.
#[derive(Clone, Debug, Default)]
pub struct LoneConfig {
    /// Trusted settings.
    pub values: Hgrc,
    /// The same with untrusted settings; `None` if there are none.
    pub with_untrusted: Option<Hgrc>,
}

/// The repositories of one server.
#[derive(Debug)]
pub(crate) struct RepoRegistry {
    server: Arc<ServerContext>,
    storage: Arc<dyn Storage>,
    /// Where the storage's paths begin.
    root: PathBuf,
    holds: ServedRepos,
    /// Others are served beside the one that it holds.
    is_in_collection: bool,
    pub(super) repositories: Registry<OpenRepository>,
    /// Answers that several clients get at the moment.
    pub(super) shared: SharedBundles,
    pub(super) clone_bundles: CloneBundleScheduler,
    pub(super) listed: ListedConfigs,
    /// Repositories that were pushed to.
    pub(super) pushed: DirtySet,
    pub(super) page_cache: PageCache,
    databases: OnceLock<Arc<dyn RepositoryDatabases>>,
}

/// The repositories that requests can address.
#[derive(Debug)]
pub(super) enum ServedRepos {
    /// All below a directory's `repos`, by their names below `/hg/`.
    Directory { title: String, settings: HgServer },
    /// One, at the root of the server.
    Lone(LoneRepository),
    /// One of a shared store, by its name below `/hg/`.
    InLog(LoggedRepository),
}

/// A repository whose files are in a log.
#[derive(Debug)]
pub(super) struct LoggedRepository {
    found: ServedRepository,
    settings: HgServer,
    log: SharedStorage,
    /// The local copy, which is there as long as this.
    _copy: Arc<CopyDirectory>,
    /// Directory of bodies of pushes on their way in.
    spool: PathBuf,
}

impl RepoRegistry {
    /// The repositories of a served directory.
    pub(crate) fn of_directory(
        directory: &ServedDirectory,
        server: Arc<ServerContext>,
        title: Option<String>,
    ) -> RepoRegistry {
        let holds = ServedRepos::Directory {
            title: title.unwrap_or_else(|| TITLE.to_owned()),
            settings: directory.settings.hg.clone(),
        };
        let storage = Arc::clone(&directory.storage);
        let shared = SharedBundles::new(&directory.path);
        RepoRegistry::new(server, (storage, directory.path.clone()), shared, holds)
    }

    /// One repository, of which nothing is read before the first request.
    pub(crate) fn of_one(repository: LoneRepository, server: Arc<ServerContext>) -> RepoRegistry {
        let root = repository.root.clone();
        let storage: Arc<dyn Storage> = Arc::new(
            DiskStorage::new(&root)
                .with_names_from_root()
                .with_modes_like(".hg", "store"),
        );
        // Not in `.hg` itself, whose time would change, which looks as if the repository had.
        let shared = SharedBundles::new(&repository.root.join(".hg/cache"));
        let place = (storage, root);
        RepoRegistry::new(server, place, shared, ServedRepos::Lone(repository))
    }

    /// One repository of a shared store, with its files as the storage has them.
    pub(super) fn of_log(
        server: Arc<ServerContext>,
        (path, settings): (&str, &HgServer),
        (storage, log): (Arc<dyn Storage>, OpenLog),
        spool: &Path,
    ) -> RepoRegistry {
        let (root, shared) = (log.copy.path().to_owned(), SharedBundles::new(spool));
        let holds = ServedRepos::InLog(LoggedRepository {
            found: ServedRepository::in_log(path),
            settings: settings.clone(),
            log: log.storage,
            _copy: log.copy,
            spool: spool.to_owned(),
        });
        RepoRegistry::new(server, (storage, root), shared, holds)
    }

    /// True if this server may change the repositories, as far as it knows.
    pub(super) fn is_writer(&self) -> bool {
        match &self.holds {
            ServedRepos::InLog(logged) => logged.log.is_owner(),
            ServedRepos::Directory { .. } | ServedRepos::Lone(_) => true,
        }
    }

    /// Has the disk hold all of the repositories: programs are about to read them.
    ///
    /// # Errors
    /// Of a repository in a log: errors of the store.
    pub(super) fn prepare_for_programs(&self) -> Result<(), SharedError> {
        match &self.holds {
            ServedRepos::InLog(logged) => logged.log.fetch_all(),
            ServedRepos::Directory { .. } | ServedRepos::Lone(_) => Ok(()),
        }
    }

    /// [`RepoRegistry::of_one`] for a repository of a collection.
    pub(super) fn of_named(repository: LoneRepository, server: Arc<ServerContext>) -> RepoRegistry {
        RepoRegistry {
            is_in_collection: true,
            page_cache: PageCache::new(true),
            ..RepoRegistry::of_one(repository, server)
        }
    }

    /// True if the repository was removed since the names of its collection were read.
    pub(super) fn is_gone(&self) -> bool {
        self.is_in_collection && !self.root.join(".hg").is_dir()
    }

    fn new(
        server: Arc<ServerContext>,
        (storage, root): (Arc<dyn Storage>, PathBuf),
        shared: SharedBundles,
        holds: ServedRepos,
    ) -> RepoRegistry {
        RepoRegistry {
            server,
            storage,
            root,
            holds,
            is_in_collection: false,
            repositories: Registry::new(IDLE_REPOSITORIES),
            shared,
            clone_bundles: CloneBundleScheduler::default(),
            listed: ListedConfigs::default(),
            pushed: DirtySet::default(),
            page_cache: PageCache::new(false),
            databases: OnceLock::new(),
        }
    }

    /// Heading of the list of repositories.
    pub(crate) fn title(&self) -> &str {
        match &self.holds {
            ServedRepos::Directory { title, .. } => title,
            ServedRepos::Lone(one) => &one.name,
            ServedRepos::InLog(logged) => &logged.found.name,
        }
    }

    /// State that every server has, whatever it serves.
    pub(crate) fn server(&self) -> &Arc<ServerContext> {
        &self.server
    }

    /// To be called once, where repositories are databases.
    pub(crate) fn set_databases(&self, databases: Arc<dyn RepositoryDatabases>) {
        // There is one such object for each server.
        let _ = self.databases.set(databases);
    }

    /// The database of a repository, if it is one.
    pub(super) fn database<'r>(
        &'r self,
        found: &'r ServedRepository,
    ) -> Option<RepositoryDatabase<'r>> {
        let databases = self.databases.get()?;
        RepositoryDatabase::of(databases.as_ref(), &found.name)
    }

    pub(super) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    pub(super) fn holds(&self) -> &ServedRepos {
        &self.holds
    }

    /// Whether repositories may have their store elsewhere: those of a directory could name files of the server.
    pub(super) fn share_access(&self) -> ShareAccess {
        match &self.holds {
            ServedRepos::Directory { .. } | ServedRepos::InLog(_) => ShareAccess::Refused,
            ServedRepos::Lone(_) => ShareAccess::Store,
        }
    }

    /// Where bodies of pushes are spooled.
    pub(super) fn spool_directory(&self) -> PathBuf {
        match &self.holds {
            ServedRepos::Directory { .. } => self.root.clone(),
            ServedRepos::InLog(logged) => logged.spool.clone(),
            ServedRepos::Lone(one) => {
                let cache = one.root.join(".hg/cache");
                // Not every repository has one.
                if cache.is_dir() {
                    cache
                } else {
                    one.root.join(".hg")
                }
            }
        }
    }

    /// The path on the disk of one that the storage knows.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        match path.as_os_str().is_empty() {
            // Joined, it would end in a slash.
            true => self.root.clone(),
            false => self.root.join(path),
        }
    }

    /// Defaults for settings that a repository lacks.
    pub(super) fn settings(&self) -> HgServer {
        match &self.holds {
            ServedRepos::Directory { settings, .. } => settings.clone(),
            ServedRepos::InLog(logged) => logged.settings.clone(),
            ServedRepos::Lone(_) => HgServer::default(),
        }
    }

    /// The part of a request's path that is about repositories.
    pub(super) fn segments<'a>(&self, segments: &'a [String]) -> &'a [String] {
        match &self.holds {
            ServedRepos::Directory { .. } | ServedRepos::InLog(_) => {
                segments.get(1..).unwrap_or_default()
            }
            ServedRepos::Lone(_) => segments,
        }
    }

    /// The repository that the segments name, with more behind it.
    pub(super) fn find(
        &self,
        segments: &[String],
    ) -> Result<Option<ServedRepository>, StorageError> {
        match &self.holds {
            ServedRepos::Directory { .. } => find::find(self.storage.as_ref(), segments),
            ServedRepos::InLog(logged) => Ok(Some(logged.found.clone())),
            ServedRepos::Lone(one) => Ok(Some(ServedRepository {
                name: one.name.clone(),
                directory: PathBuf::new(),
                is_lone: true,
                is_in_collection: self.is_in_collection,
            })),
        }
    }
}
