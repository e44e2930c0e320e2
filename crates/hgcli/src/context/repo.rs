//! The repository that a command works on.

use crate::context::bundles::Placeholder;
use crate::context::config::{lock_wait, storage_settings};
use crate::context::file_filters::ConfiguredFilters;
use crate::context::location::RepoLocation;
use crate::context::revision::aliases;
use crate::hooks::HookRunner;
use crate::ui::{Abort, Ui, environment};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{DiskStorage, Interrupt, Storage};
use varve_config::hgrc::Hgrc;
use varve_repo::hooks::Hooks;
use varve_repo::{
    Evolution, Lock, LockEvent, LockKind, LockWait, OpenOptions, RepoError, RepoView, Repository,
    Rev, ShareAccess, ViewFilter, python_repr,
};
use varve_revset::{PeerRepositories, WorkingCopySource, parse_syntax};

/// The repository of a call, opened when it is first needed, and its working copy.
pub struct Repo {
    /// The directory that paths are relative to.
    pub cwd: PathBuf,
    /// `--hidden`: hidden changesets are seen too.
    pub(crate) hidden: bool,
    /// The hooks of the configuration.
    pub hooks: Arc<HookRunner>,
    /// Set while the command looks at a repository whose working copy does not count.
    ignores_working_copy: bool,
    /// Whether [`Repo::warn_of_disabled_markers`] has run.
    checked_markers: bool,
    /// True once [`Repo::warn_of_malformed_bookmarks`] has run.
    checked_bookmarks: bool,
    /// Whether [`Repo::warn_of_aliases`] has run.
    checked_aliases: bool,
    location: RepoLocation,
    /// Stands for the directory of a repository that is only a bundle.
    pub(super) placeholder: Option<Placeholder>,
    /// The first changeset of the bundle that is read as a repository.
    pub(super) bundled_from: Option<Rev>,
    repository: Option<Repository>,
    /// The repositories that queries ask.
    pub(crate) peers: Option<Arc<dyn PeerRepositories>>,
    /// Reads the working copy for queries.
    pub(crate) working_source: Option<Arc<dyn WorkingCopySource>>,
    view: Option<Arc<RepoView>>,
    /// The values that count.
    pub(crate) config: Arc<Hgrc>,
    /// The interrupt of [`Ui::stop`].
    pub(super) stop: Interrupt,
}

impl Repo {
    /// The repository at `location`, with paths relative to `cwd`.
    pub(super) fn new(cwd: PathBuf, location: RepoLocation, stop: Interrupt) -> Repo {
        Repo {
            cwd,
            hidden: false,
            hooks: Arc::default(),
            ignores_working_copy: false,
            checked_markers: false,
            checked_bookmarks: false,
            checked_aliases: false,
            location,
            placeholder: None,
            bundled_from: None,
            repository: None,
            peers: None,
            working_source: None,
            view: None,
            config: Arc::default(),
            stop,
        }
    }

    /// The repository's directory, without opening it.
    pub fn root(&self) -> Result<&Path, Abort> {
        match &self.location {
            RepoLocation::Directory(root) => Ok(root),
            RepoLocation::Bundle(bundle) => Ok(bundle.root()),
            RepoLocation::Missing(name) => Err(Abort::new(format!("repository {name} not found"))),
            RepoLocation::None => Err(Abort::no_repository(&self.cwd)),
        }
    }

    /// Works on the repository in the directory `path` from now on.
    pub fn switch_to(&mut self, path: &[u8]) {
        self.location = RepoLocation::find(Some(path), &self.cwd, None);
        self.reopen();
    }

    /// Whether it is a bundle, to which nothing can be written.
    pub fn is_bundle(&self) -> bool {
        matches!(self.location, RepoLocation::Bundle(_))
    }

    /// Where the repository is, if there is one.
    pub fn location(&self) -> &RepoLocation {
        &self.location
    }

    /// The repository, opened at the first call.
    pub fn repository(&mut self) -> Result<Repository, Abort> {
        if let Some(repository) = &self.repository {
            return Ok(repository.clone());
        }
        let repository = match self.location.clone() {
            RepoLocation::Bundle(location) => self.open_bundle(&location)?,
            _ => self.open_directory()?,
        };
        self.repository = Some(repository.clone());
        Ok(repository)
    }

    fn open_directory(&self) -> Result<Repository, Abort> {
        let hooks: Arc<dyn Hooks> = self.hooks.clone();
        let opening = OpenOptions {
            pending: environment::shows_pending(self.root()?),
            hooks: Some(hooks),
            filters: ConfiguredFilters::read(&self.config, self.root()?)?,
            shares: match self.config.get("extensions", "share") {
                Some(value) if !value.starts_with(b"!") => ShareAccess::Bookmarks,
                _ => ShareAccess::Store,
            },
        };
        let opened = Repository::open_with(disk(), self.root()?, opening);
        let repository = opened.map_err(|error| self.share_error(error))?;
        // A bad setting stops every command that opens the repository, not only those that write.
        storage_settings(&self.config)?;
        Ok(repository)
    }

    /// The error about a share, or about a setting that would have another effect on it in Mercurial.
    fn share_error(&self, error: RepoError) -> Abort {
        let RepoError::ShareMismatch { is_share_safe } = error else {
            return error.into();
        };
        let key = match is_share_safe {
            true => "safe-mismatch.source-not-safe",
            false => "safe-mismatch.source-safe",
        };
        match self.config.text("share", key) {
            Some(value) if value != "abort" => {
                Abort::new(format!("share.{key}={value} is not supported"))
            }
            _ => Abort::new(error.to_string())
                .hint("see `hg help config.format.use-share-safe` for more information"),
        }
    }

    /// The repository as it was at the first call, with the changesets that its owner sees.
    pub fn view(&mut self) -> Result<Arc<RepoView>, Abort> {
        if let Some(view) = &self.view {
            return Ok(view.clone());
        }
        let audience = match self.hidden {
            true => ViewFilter::Unfiltered,
            false => ViewFilter::Visible,
        };
        let view = self.repository()?.view_for(audience)?;
        self.view = Some(view.clone());
        Ok(view)
    }

    /// Makes the next [`Repo::view`] a new one, as after a commit.
    pub fn refresh(&mut self) {
        self.view = None;
    }

    /// Makes the next [`Repo::repository`] open it again, as after other requirements.
    pub fn reopen(&mut self) {
        self.repository = None;
        self.view = None;
    }

    /// Runs `look` on another repository, whose working copy does not count.
    pub(crate) fn with_repository<T>(
        &mut self,
        other: Repository,
        look: impl FnOnce(&mut Repo) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        self.ignores_working_copy = true;
        let own = (self.repository.replace(other), self.view.take());
        let looked = look(self);
        self.ignores_working_copy = false;
        (self.repository, self.view) = own;
        looked
    }

    /// Whether the working copy does not count.
    pub(super) fn ignores_working_copy(&self) -> bool {
        self.ignores_working_copy
    }

    /// Takes one of the repository's locks; [`LockKind::WorkingCopy`] comes before
    /// [`LockKind::Store`].
    pub fn lock(&mut self, ui: &mut Ui, what: LockKind) -> Result<Lock, Abort> {
        let repository = self.repository()?;
        if self.is_bundle() {
            return Err(Abort::new("bundlerepository is read-only"));
        }
        ui.guard.writes();
        ui.out.flush()?;
        ui.unbuffered |= !self.hooks.is_empty();
        let on_event = |event: &LockEvent<'_>| {
            // Nothing is left to do if even standard error is gone.
            let _ = ui.streams.err().write_all(format!("{event}\n").as_bytes());
        };
        let wait = LockWait {
            on_event: &on_event,
            ..lock_wait(&self.config, &self.stop)?
        };
        Ok(repository.lock(what, &wait)?)
    }

    /// Warns, once in a call, that there are obsolescence markers although they are not allowed
    /// here. Mercurial does so when it first needs the markers.
    pub(crate) fn warn_of_disabled_markers(&mut self, ui: &mut Ui) -> Result<(), Abort> {
        if std::mem::replace(&mut self.checked_markers, true) {
            return Ok(());
        }
        let count = self.repository()?.count_markers()?;
        let evolution = Evolution::read(&self.config).map_err(Abort::Setting);
        if count > 0 && !evolution?.markers {
            ui.warn(format!(
                "\"obsolete\" feature not enabled but {count} markers found!\n"
            ))?;
        }
        Ok(())
    }

    /// Warns again, of those that are left after some were removed.
    pub(crate) fn warn_of_remaining_markers(&mut self, ui: &mut Ui) -> Result<(), Abort> {
        self.checked_markers = false;
        self.warn_of_disabled_markers(ui)
    }

    /// Warns, once in a call, of lines in the file of bookmarks that are none.
    pub(crate) fn warn_of_malformed_bookmarks(&mut self, ui: &mut Ui) -> Result<(), Abort> {
        if std::mem::replace(&mut self.checked_bookmarks, true) {
            return Ok(());
        }
        for line in self.view()?.malformed_bookmarks() {
            let shown = python_repr(line);
            ui.warn(format!("malformed line in .hg/bookmarks: {shown}\n"))?;
        }
        Ok(())
    }

    /// Says, once in a call, which aliases of queries are wrong; a query that uses one ends with these words.
    fn warn_of_aliases(&mut self, ui: &mut Ui, specs: &[&[u8]]) -> Result<(), Abort> {
        let aliases = aliases(&self.config);
        let is_wrong = |spec: &&[u8]| {
            let written = parse_syntax(spec, &|_| false);
            written.is_ok_and(|written| aliases.expand(&written).is_err())
        };
        if specs.iter().any(is_wrong) || std::mem::replace(&mut self.checked_aliases, true) {
            return Ok(());
        }
        for words in aliases.warnings() {
            ui.warn(format!("warning: {words}\n"))?;
        }
        Ok(())
    }

    /// [`Repo::warn_of_disabled_markers`] where revisions are looked up: `.` and `null` are found
    /// without markers, and so is everything with `--hidden`.
    pub(crate) fn warn_of_disabled_markers_for(
        &mut self,
        ui: &mut Ui,
        specs: &[&[u8]],
    ) -> Result<(), Abort> {
        let is_plain = |spec: &&[u8]| [&b"."[..], b"null", b""].contains(spec);
        let is_name = |spec: &&[u8]| is_plain(spec) || *spec == b"all()";
        if !specs.iter().all(is_name) {
            self.warn_of_aliases(ui, specs)?;
        }
        match self.hidden || specs.iter().all(is_plain) {
            true => Ok(()),
            false => self.warn_of_disabled_markers(ui),
        }
    }
}

/// The local disk; paths are used as they are.
pub fn disk() -> Arc<dyn Storage> {
    Arc::new(DiskStorage::new(Path::new("")).with_modes_like(".hg", "store"))
}
