//! Clone bundles that are made anew by themselves, where a repository's `.hg/hgrc` says so:
//!
//! ```text
//! [clone-bundles]
//! auto-generate.on-change = yes        switches it on
//! auto-generate.formats = …            bundlespecs; else a zstd bundle and one of the store's files
//! auto-generate.serve-inline = yes     clients ask for them by a command instead of by URL
//! trigger.revs = 1000                  so many changesets are in no bundle, or
//! trigger.below-bundled-ratio = 0.95   less than this part of all is in one
//! ```
//! The scheduler makes them at the lowest priority, one repository after the other. A push, or a request for
//! the capabilities, checks whether its repository needs them.

use crate::hg::find::ServedRepository;
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::{OpenError, RepoRegistry, open, settings};
use crate::runtime::scheduler::{Job, JobKind};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use varve_base::Interrupt;
use varve_config::hgrc::HgrcError;
use varve_exchange::ExchangeError;
use varve_exchange::server::clone_bundles::{
    CloneBundleOptions, DEFAULT_FORMATS, clone_bundle_status, make_clone_bundles, read_manifest,
};
use varve_repo::{RepoView, Repository};

/// The configuration's section.
const SECTION: &str = "clone-bundles";

/// Default of `trigger.revs`.
const REVS: i64 = 1000;
/// Default of `trigger.below-bundled-ratio`.
const RATIO: f64 = 0.95;

/// Settings of Mercurial that this server lacks: it serves the bundles itself.
const ELSEWHERE: [&str; 3] = ["upload-command", "delete-command", "url-template"];

/// Has clone bundles made when repositories need them.
#[derive(Debug, Default)]
pub(crate) struct CloneBundleScheduler {
    /// The state of each repository when bundles were last made: the same state is not tried twice.
    tried: Mutex<HashMap<String, BundledState>>,
}

/// Bundles that a repository needs.
#[derive(Debug)]
struct WantedBundles {
    found: ServedRepository,
    formats: Vec<String>,
    /// Their directory, relative to `.hg`.
    cache: PathBuf,
    publishing: bool,
}

/// The state of a repository that decides whether it needs bundles.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BundledState {
    changesets: usize,
    formats: Vec<String>,
    is_visible: bool,
}

/// Has bundles made if the repository wants them and has none, or has outdated ones.
pub(super) fn consider(
    repos: &Arc<RepoRegistry>,
    found: &ServedRepository,
    repository: &Repository,
    config: &RepositoryConfig,
) -> Result<(), OpenError> {
    if !is_on(config)? || repos.server().is_stopping() {
        return Ok(());
    }
    let view = repository.view()?;
    let Some(state) = due(repository, &view, config)? else {
        return Ok(());
    };
    let wanted = WantedBundles {
        found: found.clone(),
        formats: state.formats.clone(),
        cache: settings::bundle_cache(config),
        publishing: config.publishing()?,
    };
    let mut tried = repos.clone_bundles.tried.lock();
    if tried.get(&found.name) == Some(&state) {
        return Ok(());
    }
    tried.insert(found.name.clone(), state);
    let maker = Arc::clone(repos);
    let job = Job::new(JobKind::CloneBundle, &*found.name, move |stop| {
        make_and_report(&maker, &wanted, stop);
    });
    // A server that stops makes no bundles.
    let _ = repos.server().scheduler.submit(job);
    Ok(())
}

/// Whether clients of the repository ask for bundles by a command.
pub(super) fn serves_inline(config: &RepositoryConfig) -> Result<bool, HgrcError> {
    let key = "auto-generate.serve-inline";
    config.values.boolean(SECTION, key, false)
}

fn is_on(config: &RepositoryConfig) -> Result<bool, OpenError> {
    let on = config
        .values
        .boolean(SECTION, "auto-generate.on-change", false)?;
    let elsewhere = ELSEWHERE
        .into_iter()
        .find(|key| config.values.get(SECTION, key).is_some());
    match elsewhere.filter(|_| on) {
        Some(key) => Err(OpenError::Setting(format!(
            "{SECTION}.{key} is not supported"
        ))),
        None => Ok(on),
    }
}

/// State of the repository if it needs bundles, else `None`.
fn due(
    repository: &Repository,
    view: &RepoView,
    config: &RepositoryConfig,
) -> Result<Option<BundledState>, OpenError> {
    let changesets = view
        .changelog()
        .revs()
        .filter(|rev| view.is_visible(*rev))
        .count();
    let mut is_visible = true;
    if let Some(manifest) = read_manifest(repository)? {
        let Some(status) =
            clone_bundle_status(repository, view, &settings::bundle_cache(config), &manifest)?
        else {
            // They are made by hand.
            return Ok(None);
        };
        is_visible = status.is_visible;
        if is_visible && !is_behind(config, status.bundled, changesets)? {
            return Ok(None);
        }
    }
    let formats = config.values.list(SECTION, "auto-generate.formats");
    let text = |format: &Vec<u8>| String::from_utf8_lossy(format).into_owned();
    let formats = match formats.is_empty() {
        true => DEFAULT_FORMATS.map(str::to_owned).to_vec(),
        false => formats.iter().map(text).collect(),
    };
    Ok((changesets > 0).then_some(BundledState {
        changesets,
        formats,
        is_visible,
    }))
}

fn is_behind(
    config: &RepositoryConfig,
    bundled: usize,
    changesets: usize,
) -> Result<bool, OpenError> {
    let revs = config
        .values
        .integer(SECTION, "trigger.revs")?
        .unwrap_or(REVS);
    let key = "trigger.below-bundled-ratio";
    let ratio = match config.values.text(SECTION, key) {
        None => RATIO,
        Some(text) => text.trim().parse().map_err(|_| HgrcError::Value {
            section: SECTION.to_owned(),
            key: key.to_owned(),
            expected: "a float",
            found: text,
        })?,
    };
    let missing = changesets.saturating_sub(bundled);
    let enough = i64::try_from(missing).unwrap_or(i64::MAX) >= revs;
    Ok(missing > 0 && (enough || (bundled as f64) < ratio * changesets as f64))
}

fn make_and_report(repos: &RepoRegistry, wanted: &WantedBundles, stop: &Interrupt) {
    match make(repos, wanted, stop) {
        // The process that makes them looks at the repository as it is now, or soon.
        Ok(()) | Err(OpenError::Exchange(ExchangeError::CloneBundlesLocked)) => {}
        Err(_) if stop.is_raised() => {}
        Err(error) => {
            let name = &wanted.found.name;
            let log = &repos.server().log;
            log.scope(|| tracing::error!(repository = name, "clone bundles of {name}: {error}"));
        }
    }
}

fn make(repos: &RepoRegistry, wanted: &WantedBundles, stop: &Interrupt) -> Result<(), OpenError> {
    let opened = open(repos, &wanted.found)?;
    let server = repos.server();
    let task = server
        .tasks
        .start("clonebundle", &[("repository", &wanted.found.name)]);
    let options = CloneBundleOptions {
        formats: &wanted.formats,
        cache: &wanted.cache,
        replaces_manifest: false,
        publishing: wanted.publishing,
        progress: &task,
        stop,
    };
    make_clone_bundles(&opened.repository, &options)?;
    Ok(())
}
