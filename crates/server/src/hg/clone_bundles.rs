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
//! One thread of low priority makes them, one repository after the other. Every request that looks
//! at a repository or changes it may be what it is dirty by.

use crate::hg::find::Found;
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::{OpenError, RepoRegistry, open};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use varve_base::Interrupt;
use varve_config::hgrc::HgrcError;
use varve_exchange::ExchangeError;
use varve_exchange::server::clone_bundles::{
    CloneBundleOptions, DEFAULT_FORMATS, clone_bundle_status, make_clone_bundles, read_manifest,
};
use varve_repo::{RepoView, Repository};

/// The configuration's section.
const SECTION: &str = "clone-bundles";

/// `trigger.revs` where nobody sets it.
const REVS: i64 = 1000;
/// `trigger.below-bundled-ratio` where nobody sets it.
const RATIO: f64 = 0.95;

/// What Mercurial has and this server does not: it serves the bundles itself.
const ELSEWHERE: [&str; 3] = ["upload-command", "delete-command", "url-template"];

/// What is to be made, and by whom.
#[derive(Debug, Default)]
pub(crate) struct CloneBundleScheduler {
    work: Mutex<Work>,
    stop: Interrupt,
}

#[derive(Debug, Default)]
struct Work {
    waiting: VecDeque<Job>,
    /// Whether there is a thread.
    runs: bool,
    /// What was last begun for each repository: the same is not tried twice.
    begun: HashMap<String, Seen>,
}

#[derive(Debug)]
struct Job {
    found: Found,
    formats: Vec<String>,
    publishing: bool,
}

/// What a repository was like.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    changesets: usize,
    formats: Vec<String>,
    is_visible: bool,
}

impl CloneBundleScheduler {
    /// Ends what runs, without damage, and begins nothing more.
    pub(crate) fn stop(&self) {
        self.stop.raise();
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has bundles made if the repository wants them and the ones that are there are too old.
pub(super) fn consider(
    repos: &Arc<RepoRegistry>,
    found: &Found,
    repository: &Repository,
    config: &RepositoryConfig,
) -> Result<(), OpenError> {
    if !is_on(config)? || repos.scheduler.stop.is_raised() {
        return Ok(());
    }
    let view = repository.view()?;
    let Some(seen) = due(repository, &view, config)? else {
        return Ok(());
    };
    let mut work = repos.scheduler.work();
    if work.begun.get(&found.name) == Some(&seen) {
        return Ok(());
    }
    work.begun.insert(found.name.clone(), seen.clone());
    work.waiting.retain(|job| job.found != *found);
    work.waiting.push_back(Job {
        found: found.clone(),
        formats: seen.formats,
        publishing: config.publishing()?,
    });
    if !work.runs {
        let repos = Arc::clone(repos);
        let started = std::thread::Builder::new().name("bundles".to_owned());
        let started = started.spawn(move || run(&repos));
        work.runs = started.is_ok();
    }
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

/// What the repository is like if it needs bundles.
fn due(
    repository: &Repository,
    view: &RepoView,
    config: &RepositoryConfig,
) -> Result<Option<Seen>, OpenError> {
    let changesets = view
        .changelog()
        .revs()
        .filter(|rev| view.is_visible(*rev))
        .count();
    let mut is_visible = true;
    if let Some(manifest) = read_manifest(repository)? {
        let Some(status) = clone_bundle_status(repository, view, &manifest)? else {
            // Somebody takes care of them by hand.
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
    Ok((changesets > 0).then_some(Seen {
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

/// Works until nothing waits.
fn run(repos: &Arc<RepoRegistry>) {
    // Requests come first. Where that cannot be had, bundles are made all the same.
    let _ = rustix::process::setpriority_process(None, 19);
    loop {
        let job = {
            let mut work = repos.scheduler.work();
            let job = work.waiting.pop_front();
            let job = job.filter(|_| !repos.scheduler.stop.is_raised());
            work.runs = job.is_some();
            job
        };
        let Some(job) = job else { return };
        match make(repos, &job) {
            // Whoever makes them looks at what is there now, or soon.
            Ok(()) | Err(OpenError::Exchange(ExchangeError::CloneBundlesLocked)) => {}
            Err(_) if repos.scheduler.stop.is_raised() => {}
            Err(error) => {
                let name = &job.found.name;
                repos.server().log.scope(|| {
                    tracing::error!(repository = name, "clone bundles of {name}: {error}")
                });
            }
        }
    }
}

fn make(repos: &RepoRegistry, job: &Job) -> Result<(), OpenError> {
    let opened = open(repos, &job.found)?;
    let server = repos.server();
    let task = server
        .tasks
        .start("clonebundle", &[("repository", &job.found.name)]);
    let recipe = CloneBundleOptions {
        formats: &job.formats,
        replaces_manifest: false,
        publishing: job.publishing,
        progress: &task,
        stop: &repos.scheduler.stop,
    };
    make_clone_bundles(&opened.repository, &recipe)?;
    Ok(())
}
