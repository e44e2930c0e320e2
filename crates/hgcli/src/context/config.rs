//! The configuration of one call, and the meaning of its settings.

use crate::context::Repo;
use crate::context::layers::{Layers, UntrustedConfig};
use crate::ui::clock::clock;
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::io::Write;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use varve_base::Interrupt;
use varve_config::hgrc::Hgrc;
use varve_exchange::server::clone_bundles::BUNDLE_CACHE;
use varve_lang::date::{self, Date};
use varve_repo::{Evolution, LockEvent, LockWait, StorageSettings};

/// `ui.timeout` where it is not set, in seconds.
const TIMEOUT: i64 = 600;

/// All layers of configuration; dereferences to the values that count.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The values that count; [`Context::set_config`](super::Context::set_config) replaces them.
    pub(crate) values: Arc<Hgrc>,
    /// The layers one by one, without that of a repository.
    pub layers: Arc<Layers>,
    /// Files of the repository that do not count, because their owner is not trusted.
    pub(crate) untrusted: Vec<UntrustedConfig>,
    /// The values that would count if they did; `None` if there are none of these.
    pub(crate) with_untrusted: Option<Arc<Hgrc>>,
    /// Files of the system's and the user's configuration that exist.
    pub(crate) files_read: Vec<PathBuf>,
    /// `--insecure`: certificates of servers are not checked.
    pub(crate) accepts_any_certificate: bool,
}

impl Deref for Config {
    type Target = Hgrc;

    fn deref(&self) -> &Hgrc {
        &self.values
    }
}

impl Config {
    /// `devel.default-date`, where it is a date: that of the working copy, which is now otherwise.
    pub(crate) fn working_date(&self) -> Option<Date> {
        let text = self.get("devel", "default-date");
        let text = text.filter(|text| !text.is_empty())?;
        date::parse(std::str::from_utf8(text).ok()?, &clock()).ok()
    }

    /// The values, shared.
    pub fn values(&self) -> Arc<Hgrc> {
        Arc::clone(&self.values)
    }

    /// Directory of clone bundles that are sent by a command, relative to `.hg`: `server.peer-bundle-cache-root`.
    pub fn bundle_cache(&self) -> PathBuf {
        let set = self.get("server", "peer-bundle-cache-root");
        let set = set.filter(|value| !value.is_empty());
        PathBuf::from(set.map_or(OsStr::new(BUNDLE_CACHE), OsStr::from_bytes))
    }

    /// How locks are waited for, as `[ui]` says.
    ///
    /// # Errors
    /// A timeout that is not a number.
    pub fn lock_wait<'a>(&self, stop: &'a Interrupt) -> Result<LockWait<'a>, Abort> {
        lock_wait(&self.values, stop)
    }

    /// How new revisions are stored, as `[format]` and `[storage]` say.
    ///
    /// # Errors
    /// A setting with a value that it cannot have.
    pub fn storage_settings(&self) -> Result<StorageSettings, Abort> {
        storage_settings(&self.values)
    }

    /// The features that `experimental.evolution` enables.
    ///
    /// # Errors
    /// A setting with a value that it cannot have.
    pub fn evolution(&self) -> Result<Evolution, Abort> {
        Evolution::read(&self.values).map_err(Abort::Setting)
    }

    /// The configuration of the repository that the call works on now, which need not be the one
    /// it was started in.
    ///
    /// # Errors
    /// An error in a file that counts.
    pub fn of_repository(&self, repo: &Repo, ui: &mut Ui) -> Result<Hgrc, Abort> {
        let root = repo.root()?;
        let layered = self.layers.with(Some(root))?;
        for untrusted in &layered.untrusted {
            ui.warn(untrusted.warning(root))?;
        }
        Ok(layered.config)
    }

    /// Whether clients that pull from the repository see all changesets as public.
    pub fn is_publishing(&self, repo: &Repo, ui: &mut Ui) -> Result<bool, Abort> {
        let values = self.of_repository(repo, ui)?;
        Ok(values.boolean("phases", "publish", true)?)
    }

    /// Whether obsolescence markers travel between repositories.
    pub(crate) fn exchanges_markers(&self) -> Result<bool, Abort> {
        Ok(self.evolution()?.exchange)
    }

    /// [`Config::exchanges_markers`] for a repository that has no settings of its own yet.
    pub(crate) fn new_exchanges_markers(&self) -> Result<bool, Abort> {
        let values = self.layers.with(None)?.config;
        let evolution = Evolution::read(&values).map_err(Abort::Setting)?;
        Ok(evolution.exchange)
    }
}

pub(super) fn lock_wait<'a>(config: &Hgrc, stop: &'a Interrupt) -> Result<LockWait<'a>, Abort> {
    let seconds = |value: i64| Duration::from_secs(value.unsigned_abs());
    let setting = |key| config.integer("ui", key).map_err(Abort::Setting);
    let timeout = setting("timeout")?.unwrap_or(TIMEOUT);
    let silent = setting("timeout.warn")?.unwrap_or(0);
    Ok(LockWait {
        timeout: (timeout >= 0).then(|| seconds(timeout)),
        notify_after: seconds(silent.max(0)),
        on_event: &|event: &LockEvent<'_>| {
            // Nothing is left to do if even standard error is gone.
            let _ = std::io::stderr().write_all(format!("{event}\n").as_bytes());
        },
        stop,
    })
}

pub(super) fn storage_settings(config: &Hgrc) -> Result<StorageSettings, Abort> {
    let lookup = |section: &str, name: &str| config.text(section, name);
    Ok(StorageSettings::read(&lookup)?)
}
