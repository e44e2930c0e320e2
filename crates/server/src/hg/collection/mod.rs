//! Repositories that a settings file names, each with a path of its own: what `hg serve --web-conf` serves.
//!
//! ```text
//! path -> names, read and walked anew after `web.refreshinterval` seconds
//!           -> a repository, which answers as one that is served alone
//!           -> a list of those below the path
//!           -> 404
//! ```
//! The walk runs in the pool of reads. Requests that come meanwhile wait for it as futures.

mod index;
mod names;
mod walk;

use super::registry::{LoneConfig, LoneRepository, RepoRegistry};
use crate::http::{IN_PATH, blocking};
use crate::runtime::repeats::fault_id;
use crate::runtime::{Resource, ServerContext};
use crate::{Answer, Failure, Registry, Request, ServerError, UserContext};
use hyper::Method;
use names::{NamedRepository, name_repositories, trim_slashes};
use parking_lot::Mutex;
use percent_encoding::{percent_decode_str, percent_encode};
use std::collections::HashMap;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use varve_base::Interrupt;
use varve_config::hgrc::{ConfigItem, Hgrc, HgrcError};
use varve_lang::date::Zone;
use walk::WalkBudget;

/// Repositories whose files stay open between requests.
const IDLE_REPOSITORIES: usize = 64;
/// Directories that one refresh reads at most.
const DIRECTORIES: usize = 1_000_000;
/// Repositories that one refresh finds by patterns at most.
const REPOSITORIES: usize = 100_000;
/// Default of `web.refreshinterval`, in seconds.
const REFRESH_INTERVAL: i64 = 20;

/// Reads the configuration of one repository as it is now.
pub type ReadConfig = Arc<dyn Fn(&Path) -> Result<LoneConfig, HgrcError> + Send + Sync>;

/// The settings file of a collection as it was read once.
#[derive(Clone)]
pub struct CollectionSettings {
    /// All layers of configuration without that of a repository, the file among them.
    pub values: Hgrc,
    /// `[paths]` of the file.
    pub paths: Vec<ConfigItem>,
    /// `[collections]` of the file.
    pub collections: Vec<ConfigItem>,
    /// Puts a repository's own configuration over these settings.
    pub configuration: ReadConfig,
}

/// The source of a collection's settings.
#[derive(Clone)]
pub struct CollectionSource {
    /// Reads them as they are now.
    pub read: Arc<dyn Fn() -> Result<CollectionSettings, HgrcError> + Send + Sync>,
    /// The directory that relative paths begin in.
    pub started_in: PathBuf,
    /// The contact of repositories that name none.
    pub email: Option<String>,
    /// The zone of shown times.
    pub zone: Zone,
}

impl fmt::Debug for CollectionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CollectionSource");
        shown.field("started_in", &self.started_in).finish()
    }
}

/// A collection whose names are known.
#[derive(Clone, Debug)]
pub struct Collection {
    source: CollectionSource,
    names: Arc<RepositoryNames>,
}

impl Collection {
    /// Reads the settings and finds the repositories.
    ///
    /// # Errors
    /// [`ServerError::Hgrc`]; [`ServerError::NotARepository`], [`ServerError::Walk`]; [`ServerError::Interrupted`] once
    /// `stop` is raised.
    pub fn read(source: CollectionSource, stop: &Interrupt) -> Result<Collection, ServerError> {
        let names = Arc::new(RepositoryNames::read(&source, stop)?);
        Ok(Collection { source, names })
    }
}

/// The names of one refresh.
struct RepositoryNames {
    settings: CollectionSettings,
    listed: Vec<NamedRepository>,
    /// Places in the list.
    by_name: HashMap<Vec<u8>, usize>,
    /// Bytes of the longest name: no longer part of a path is one, however many slashes it has.
    longest: usize,
    begun: Instant,
    /// How long they count.
    interval: Duration,
    descend: bool,
    collapse: bool,
    /// Set if the walk ended at a bound.
    is_cut: bool,
}

impl fmt::Debug for RepositoryNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.listed).finish()
    }
}

/// Part of a collection that a path names.
#[derive(Debug, PartialEq, Eq)]
enum Named<'a> {
    /// A repository, and the rest of the path.
    Repository(&'a NamedRepository, &'a [u8]),
    /// Repositories whose names begin with this.
    Index(Vec<u8>),
    Nothing,
}

impl RepositoryNames {
    fn read(source: &CollectionSource, stop: &Interrupt) -> Result<RepositoryNames, ServerError> {
        let begun = Instant::now();
        let settings = (source.read)()?;
        let web = |key, default| settings.values.boolean("web", key, default);
        let (descend, collapse) = (web("descend", true)?, web("collapse", false)?);
        let seconds = settings.values.integer("web", "refreshinterval")?;
        let seconds = u64::try_from(seconds.unwrap_or(REFRESH_INTERVAL)).unwrap_or(0);
        let mut budget = WalkBudget {
            directories: DIRECTORIES,
            repositories: REPOSITORIES,
            is_exceeded: false,
            stop,
        };
        let (paths, collections) = (&settings.paths, &settings.collections);
        let listed = name_repositories(paths, collections, &source.started_in, &mut budget)?;
        let places = listed.iter().enumerate();
        let by_name = places.map(|(at, named)| (named.name.clone(), at)).collect();
        Ok(RepositoryNames {
            longest: longest(&listed),
            by_name,
            listed,
            begun,
            interval: Duration::from_secs(seconds),
            descend,
            collapse,
            is_cut: budget.is_exceeded,
            settings,
        })
    }

    fn get(&self, name: &[u8]) -> Option<&NamedRepository> {
        self.by_name.get(name).map(|at| &self.listed[*at])
    }

    fn has_below(&self, start: &[u8]) -> bool {
        (self.listed.iter()).any(|named| named.name.starts_with(start))
    }

    /// Finds what a decoded path without slashes at its ends is for.
    fn resolve<'a>(&'a self, path: &'a [u8]) -> Named<'a> {
        const INDEX: &[u8] = b"index";
        let is_named = self.by_name.contains_key(path);
        if !is_named && (path.is_empty() || path == INDEX) {
            return Named::Index(Vec::new());
        }
        if !is_named
            && let Some(above) = path.strip_suffix(INDEX)
            && above.ends_with(b"/")
            && self.has_below(above)
        {
            return Named::Index(above.to_owned());
        }
        let slashes = (0..path.len()).rev().filter(|at| path[*at] == b'/');
        let ends = [path.len()].into_iter().chain(slashes).chain([0]);
        for end in ends.filter(|end| *end <= self.longest) {
            if let Some(named) = self.get(&path[..end]) {
                return Named::Repository(named, &path[end..]);
            }
        }
        let below = [path, b"/"].concat();
        match self.has_below(&below) {
            true => Named::Index(below),
            false => Named::Nothing,
        }
    }
}

fn longest(listed: &[NamedRepository]) -> usize {
    let lengths = listed.iter().map(|named| named.name.len());
    lengths.max().unwrap_or_default()
}

impl Resource for RepoRegistry {}

/// The repositories of a collection on a running server.
#[derive(Debug)]
pub(crate) struct RepoCollection {
    server: Arc<ServerContext>,
    source: CollectionSource,
    names: Mutex<Arc<RepositoryNames>>,
    /// Held by the request that refreshes the names.
    refreshing: tokio::sync::Mutex<()>,
    open: Registry<RepoRegistry>,
}

impl RepoCollection {
    pub(crate) fn new(collection: Collection, server: Arc<ServerContext>) -> RepoCollection {
        let Collection { source, names } = collection;
        let served = RepoCollection {
            server,
            source,
            names: Mutex::new(names),
            refreshing: tokio::sync::Mutex::new(()),
            open: Registry::new(IDLE_REPOSITORIES),
        };
        served.warn_of_cut(&served.names());
        served
    }

    pub(crate) fn server(&self) -> &Arc<ServerContext> {
        &self.server
    }

    fn names(&self) -> Arc<RepositoryNames> {
        Arc::clone(&self.names.lock())
    }

    /// The names as they are, or were at most `web.refreshinterval` seconds before this call.
    async fn fresh_names(self: &Arc<Self>) -> Result<Arc<RepositoryNames>, Failure> {
        let called = Instant::now();
        let is_fresh = |names: &RepositoryNames| called < names.begun + names.interval;
        let names = self.names();
        if is_fresh(&names) {
            return Ok(names);
        }
        let _refreshing = self.refreshing.lock().await;
        let names = self.names();
        // A walk that began after this call saw all that was there then.
        if is_fresh(&names) || names.begun >= called {
            return Ok(names);
        }
        let collection = Arc::clone(self);
        let reads = &self.server.executor.reads;
        blocking(reads, move || collection.refresh()).await
    }

    fn refresh(&self) -> Result<Arc<RepositoryNames>, Failure> {
        let names = RepositoryNames::read(&self.source, &self.server.hurry);
        let names = Arc::new(names.map_err(Failure::internal)?);
        self.warn_of_cut(&names);
        *self.names.lock() = Arc::clone(&names);
        Ok(names)
    }

    fn warn_of_cut(&self, names: &RepositoryNames) {
        if names.is_cut {
            let words = format!(
                "not all repositories are served: patterns lead to more than {REPOSITORIES} repositories or \
                 {DIRECTORIES} directories"
            );
            let fault = fault_id(&words);
            let log = &self.server.log;
            log.scope(|| tracing::error!(fault = fault, "{words}"));
        }
    }

    /// The registry of one repository, which stays open for later requests.
    fn registry(self: &Arc<Self>, named: &NamedRepository) -> Arc<RepoRegistry> {
        let path = named.directory.as_os_str().as_bytes();
        // Two names of one directory are two repositories to their pages.
        let name = percent_encode(&named.name, IN_PATH);
        let key = format!("{} {name}", percent_encode(path, IN_PATH));
        let opened = self.open.get_or_open(&key, || {
            let (collection, directory) = (Arc::downgrade(self), named.directory.clone());
            let lone = LoneRepository {
                root: named.directory.clone(),
                name: String::from_utf8_lossy(&named.name).into_owned(),
                configuration: Arc::new(move || match collection.upgrade() {
                    Some(collection) => (collection.names().settings.configuration)(&directory),
                    None => Ok(LoneConfig::default()),
                }),
            };
            let server = Arc::clone(&self.server);
            Ok::<_, std::convert::Infallible>(RepoRegistry::of_named(lone, server))
        });
        opened.unwrap_or_else(|never| match never {})
    }
}

/// Answers any request to a collection.
pub(crate) async fn route(
    collection: Arc<RepoCollection>,
    mut request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    if !request.is_read() && request.method != Method::POST {
        return Err(Failure::method_not_allowed("GET,HEAD,POST"));
    }
    let names = collection.fresh_names().await?;
    let decoded: Vec<u8> = percent_decode_str(&request.raw_path).collect();
    let path = trim_slashes(&decoded);
    let below = match names.resolve(path) {
        Named::Repository(named, rest) => {
            let registry = collection.registry(named);
            into_repository(&mut request, &named.name, rest);
            return Box::pin(super::route(registry, request, user)).await;
        }
        Named::Nothing => {
            let style = index::Style::of(&request, &names.settings.values);
            return Ok(index::not_found(path, style));
        }
        Named::Index(below) => below,
    };
    let reads = collection.server.executor.reads.clone();
    let answering = move || Ok(index::answer(&collection, &names, &below, &request));
    blocking(&reads, answering).await
}

/// Makes the request one to the repository of this name.
fn into_repository(request: &mut Request, name: &[u8], rest: &[u8]) {
    if !name.is_empty() {
        let name = percent_encode(name, IN_PATH).to_string();
        request.mount = format!("{}/{name}", request.mount);
    }
    let rest = String::from_utf8_lossy(rest);
    let segments = rest.split('/').filter(|segment| !segment.is_empty());
    request.segments = segments.map(str::to_owned).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(names: &[&str]) -> RepositoryNames {
        let settings = CollectionSettings {
            values: Hgrc::default(),
            paths: Vec::new(),
            collections: Vec::new(),
            configuration: Arc::new(|_| Ok(LoneConfig::default())),
        };
        let listed = names.iter().enumerate().map(|(at, name)| NamedRepository {
            name: name.as_bytes().to_vec(),
            directory: PathBuf::from(format!("/{at}")),
            written: PathBuf::new(),
        });
        let listed = listed.collect::<Vec<_>>();
        let by_name = names.iter().enumerate();
        RepositoryNames {
            settings,
            by_name: by_name
                .map(|(at, name)| (name.as_bytes().to_vec(), at))
                .collect(),
            longest: longest(&listed),
            listed,
            begun: Instant::now(),
            interval: Duration::ZERO,
            descend: true,
            collapse: false,
            is_cut: false,
        }
    }

    /// The directory and the rest of the path, or the beginning of the listed names in brackets.
    fn resolved(names: &[&str], path: &str) -> String {
        let names = collection(names);
        match names.resolve(trim_slashes(path.as_bytes())) {
            Named::Repository(named, rest) => {
                let rest = String::from_utf8_lossy(rest);
                format!("{}{rest}", named.directory.display())
            }
            Named::Index(below) => format!("[{}]", String::from_utf8_lossy(&below)),
            Named::Nothing => String::new(),
        }
    }

    #[test]
    fn the_longest_name_is_the_repository() {
        let names = ["a", "a/b", "c/d", "e//f", "../g", "a"];
        for (path, expected) in [
            ("/a", "/5"),
            ("//a/", "/5"),
            ("/a/x/y", "/5/x/y"),
            ("/a/b", "/1"),
            ("/a/b/c", "/1/c"),
            ("/ab", ""),
            ("/a//b", "/5//b"),
            ("/e//f", "/3"),
            ("/e/f", ""),
            ("/../g", "/4"),
            ("/g", ""),
            ("/c/d", "/2"),
            ("/c/../a", ""),
            ("/A", ""),
        ] {
            assert_eq!(resolved(&names, path), expected, "{path}");
        }
    }

    #[test]
    fn lists_stand_above_the_names() {
        let names = ["a", "a/b", "c/d/e"];
        for (path, expected) in [
            ("/", "[]"),
            ("/index", "[]"),
            ("/index/", "[]"),
            ("/c", "[c/]"),
            ("/c/d/", "[c/d/]"),
            ("/c/index", "[c/]"),
            ("/a/index", "[a/]"),
            ("/a/b/index", "/1/index"),
            ("/index/x", ""),
            ("/d", ""),
        ] {
            assert_eq!(resolved(&names, path), expected, "{path}");
        }
        assert_eq!(resolved(&["", "index", "b"], "/"), "/0");
        assert_eq!(resolved(&["", "index", "b"], "/index"), "/1");
        assert_eq!(resolved(&["", "b"], "/none/x"), "/0none/x");
        assert_eq!(resolved(&["", "b"], "/index"), "[]");
    }

    #[test]
    fn names_count_as_long_as_the_settings_say() {
        let read = |interval: &str| {
            let mut values = Hgrc::default();
            let argument = format!("web.refreshinterval={interval}");
            values.add_argument(argument.as_bytes()).unwrap();
            let source = CollectionSource {
                read: Arc::new(move || {
                    Ok(CollectionSettings {
                        values: values.clone(),
                        paths: Vec::new(),
                        collections: Vec::new(),
                        configuration: Arc::new(|_| Ok(LoneConfig::default())),
                    })
                }),
                started_in: PathBuf::from("/"),
                email: None,
                zone: Zone::default(),
            };
            RepositoryNames::read(&source, &Interrupt::default())
        };
        let seconds = |interval| read(interval).unwrap().interval.as_secs();
        assert_eq!([seconds("7"), seconds("0"), seconds("-1")], [7, 0, 0]);
        let refused = read("often").unwrap_err().to_string();
        assert!(
            refused.starts_with("web.refreshinterval is not"),
            "{refused}"
        );
    }
}
