//! What commands that write need: the repository's locks, taken as Mercurial does, and the settings
//! of its storage.

use crate::context::Session;
use crate::ui::Abort;
use std::io::Write;
use std::time::Duration;
use varve_repo::{Lock, LockEvent, LockKind, LockWait, StorageSettings};

/// `ui.timeout` where nobody sets it.
const TIMEOUT: i64 = 600;

impl Session {
    /// Takes one of the repository's locks; [`LockKind::WorkingCopy`] comes before
    /// [`LockKind::Store`].
    pub fn lock(&mut self, what: LockKind) -> Result<Lock, Abort> {
        let repository = self.repository()?;
        if self.is_bundle() {
            return Err(Abort::new("bundlerepository is read-only"));
        }
        self.guard.writes();
        self.out.flush()?;
        self.hurried |= !self.hooks.is_empty();
        Ok(repository.lock(what, &self.lock_wait()?)?)
    }

    /// How locks are waited for, as `[ui]` says.
    pub fn lock_wait(&self) -> Result<LockWait<'_>, Abort> {
        let seconds = |value: i64| Duration::from_secs(value.unsigned_abs());
        let setting = |key| self.config.integer("ui", key).map_err(Abort::Setting);
        let timeout = setting("timeout")?.unwrap_or(TIMEOUT);
        let silent = setting("timeout.warn")?.unwrap_or(0);
        Ok(LockWait {
            timeout: (timeout >= 0).then(|| seconds(timeout)),
            notify_after: seconds(silent.max(0)),
            on_event: &|news: &LockEvent<'_>| {
                // Nothing is left to do if even standard error is gone.
                let _ = std::io::stderr().write_all(format!("{news}\n").as_bytes());
            },
            stop: &self.stop,
        })
    }

    /// Whether those who pull from the repository see all changesets as public.
    pub fn is_publishing(&mut self) -> Result<bool, Abort> {
        Ok(self.config_here()?.boolean("phases", "publish", true)?)
    }

    /// How new revisions are stored, as `[format]` and `[storage]` say.
    pub fn storage_settings(&self) -> Result<StorageSettings, Abort> {
        let lookup = |section: &str, name: &str| self.config.text(section, name);
        Ok(StorageSettings::read(&lookup)?)
    }
}
