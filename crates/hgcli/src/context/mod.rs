//! Context of a command: the terminal, the configuration, the repository.

mod bundles;
mod command;
mod config;
mod file_filters;
pub(crate) mod files;
mod filesets;
mod hooks;
pub(crate) mod layers;
pub(crate) mod location;
pub(crate) mod matching;
mod merge_destination;
mod other;
mod parts;
mod repo;
pub(crate) mod revision;
mod session;
mod table;
pub(crate) mod working;

pub use command::{Category, Command};
pub use config::Config;
pub use location::RepoLocation;
pub(crate) use merge_destination::found_destination;
pub(crate) use other::OtherRepository;
pub(crate) use parts::RepoParts;
pub use repo::{Repo, disk};
pub(crate) use revision::TypedRevision;
pub use session::Session;
pub use table::{CommandGroup, CommandTable, Program};

use crate::ui::{Abort, Ui};
use layers::Layers;
use std::path::PathBuf;
use std::sync::Arc;
use varve_config::hgrc::Hgrc;

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
    /// Parts in common with the other calls of the process.
    pub session: Arc<Session>,
    /// The directory that the process was started in, if `--cwd` has left it.
    pub started_in: Option<PathBuf>,
}

impl Context {
    /// A context without configuration.
    pub(crate) fn new(
        session: &Arc<Session>,
        cwd: PathBuf,
        layers: Arc<Layers>,
        location: RepoLocation,
    ) -> Context {
        let ui = Ui::new(&session.streams);
        let config = Config {
            layers,
            ..Config::default()
        };
        Context {
            repo: Repo::new(cwd, location, ui.stop.clone()),
            ui,
            config,
            commands: Arc::default(),
            program: session.program.clone(),
            session: Arc::clone(session),
            started_in: None,
        }
    }

    /// Replaces the values that count.
    pub fn set_config(&mut self, values: Hgrc) {
        set_config(&mut self.repo, &mut self.ui, &mut self.config, values);
    }

    /// Works on the repository in the directory `path` from now on, with its configuration.
    ///
    /// # Errors
    /// No such repository, or an error in a file of configuration that counts.
    pub fn switch_to(&mut self, path: &[u8]) -> Result<(), Abort> {
        self.repo.switch_to(path);
        let values = self.config.of_repository(&self.repo, &mut self.ui)?;
        self.set_config(values);
        Ok(())
    }

    /// Reads which hooks the configuration has; `with_untrusted` is the configuration with the
    /// files that do not count.
    pub(crate) fn read_hooks(&mut self, with_untrusted: Option<&Hgrc>) -> Result<(), Abort> {
        self.repo.read_hooks(&self.ui, &self.config, with_untrusted)
    }
}

/// Replaces the values that count in all parts of a call.
fn set_config(repo: &mut Repo, ui: &mut Ui, config: &mut Config, values: Hgrc) {
    let values = Arc::new(values);
    ui.config = Arc::clone(&values);
    repo.config = Arc::clone(&values);
    config.values = values;
}
