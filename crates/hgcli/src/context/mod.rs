//! Context of a command: the terminal, the configuration, the repository.

mod bundles;
mod command;
mod config;
pub(crate) mod files;
mod filesets;
mod hooks;
pub(crate) mod layers;
pub(crate) mod location;
pub(crate) mod matching;
mod repo;
pub(crate) mod revision;
mod table;
pub(crate) mod working;

pub use command::{Category, Command};
pub use config::Config;
pub use location::RepoLocation;
pub use repo::{Repo, disk};
pub use table::{CommandGroup, CommandTable, Program};

use crate::hooks::HookRunner;
use crate::ui::{Abort, Ui};
use layers::Layers;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_config::hgrc::Hgrc;
use varve_repo::Repository;

/// Context of one call of one command.
pub struct Context {
    /// Output, prompts, progress.
    pub ui: Ui,
    /// All layers of configuration.
    pub config: Config,
    /// The repository and its working copy.
    pub repo: Repo,
    /// The commands that a call may name.
    pub(crate) commands: Arc<CommandTable>,
    /// Name of this program as called, `hg` or `varve`.
    pub program: String,
    /// The directory that the process was started in, if `--cwd` has left it.
    pub started_in: Option<PathBuf>,
}

impl Context {
    /// A context that writes to the standard output, without configuration.
    pub(crate) fn new(
        program: &str,
        cwd: PathBuf,
        layers: Arc<Layers>,
        location: RepoLocation,
    ) -> Context {
        let ui = Ui::default();
        let config = Config {
            layers,
            ..Config::default()
        };
        Context {
            repo: Repo::new(cwd, location, ui.stop.clone()),
            ui,
            config,
            commands: Arc::default(),
            program: program.to_owned(),
            started_in: None,
        }
    }

    /// Replaces the values that count.
    pub fn set_config(&mut self, values: Hgrc) {
        let values = Arc::new(values);
        self.ui.config = Arc::clone(&values);
        self.repo.config = Arc::clone(&values);
        self.config.values = values;
    }

    /// Reads which hooks the configuration has; `with_untrusted` is the configuration with the
    /// files that do not count.
    pub(crate) fn read_hooks(&mut self, with_untrusted: Option<&Hgrc>) -> Result<(), Abort> {
        let directory = self.repo.location().root().unwrap_or(&self.repo.cwd);
        let verbose = self.ui.verbosity.verbose;
        let hooks = HookRunner::read(&self.config.values, with_untrusted, directory, verbose)?;
        self.repo.hooks = Arc::new(hooks);
        Ok(())
    }

    /// The configuration of the repository that the call works on now, which need not be the one
    /// it was started in.
    ///
    /// # Errors
    /// An error in a file that counts.
    pub fn config_of_repository(&mut self) -> Result<Hgrc, Abort> {
        let root = self.repo.root()?.to_owned();
        let layered = self.config.layers.with(Some(&root))?;
        for untrusted in &layered.untrusted {
            self.ui.warn(untrusted.warning(&root))?;
        }
        Ok(layered.config)
    }

    /// Whether clients that pull from the repository see all changesets as public.
    pub fn is_publishing(&mut self) -> Result<bool, Abort> {
        Ok(self
            .config_of_repository()?
            .boolean("phases", "publish", true)?)
    }

    /// A context of the same call for another repository of this machine, with its configuration
    /// and its hooks.
    ///
    /// # Errors
    /// An error in a file of configuration that counts.
    pub(crate) fn for_repository(&mut self, root: &Path) -> Result<Context, Abort> {
        self.ui.out.flush()?;
        let layered = self.config.layers.with(Some(root))?;
        for untrusted in &layered.untrusted {
            self.ui.warn(untrusted.warning(root))?;
        }
        let location = RepoLocation::Directory(root.to_owned());
        let layers = Arc::clone(&self.config.layers);
        let mut there = Context::new(&self.program, self.repo.cwd.clone(), layers, location);
        there.ui.verbosity = self.ui.verbosity;
        there.ui.stop = self.ui.stop.clone();
        there.repo.stop = self.ui.stop.clone();
        there.ui.guard = self.ui.guard.clone();
        there.ui.unbuffered = true;
        there.set_config(layered.config);
        there.read_hooks(layered.with_untrusted.as_ref())?;
        Ok(there)
    }

    /// Runs `look` on another repository, whose working copy does not count.
    pub(crate) fn with_repository<T>(
        &mut self,
        other: Repository,
        look: impl FnOnce(&mut Context) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        let own = self.repo.replace(other);
        let looked = look(self);
        self.repo.restore(own);
        looked
    }
}
