//! Another repository of this machine, opened in the same call.

use crate::context::layers::Layers;
use crate::context::{Config, Repo, RepoLocation, set_config};
use crate::ui::{Abort, Ui};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A repository besides that of the call, with its own configuration, hooks and output.
pub(crate) struct OtherRepository {
    pub(crate) repo: Repo,
    pub(crate) ui: Ui,
    pub(crate) config: Config,
}

impl OtherRepository {
    /// The repository in `root`; verbosity, interrupt and signals are those of the call.
    ///
    /// # Errors
    /// An error in a file of configuration that counts.
    pub(crate) fn open(
        near: &Repo,
        ui: &mut Ui,
        config: &Config,
        root: &Path,
    ) -> Result<OtherRepository, Abort> {
        ui.out.flush()?;
        let layered = config.layers.with(Some(root))?;
        for untrusted in &layered.untrusted {
            ui.warn(untrusted.warning(root))?;
        }
        let location = RepoLocation::Directory(root.to_owned());
        let mut other = OtherRepository {
            repo: Repo::new(near.cwd.clone(), location, ui.stop.clone()),
            ui: ui.beside(),
            config: Config {
                layers: Arc::<Layers>::clone(&config.layers),
                ..Config::default()
            },
        };
        set_config(
            &mut other.repo,
            &mut other.ui,
            &mut other.config,
            layered.config,
        );
        let with_untrusted = layered.with_untrusted.as_ref();
        other
            .repo
            .read_hooks(&other.ui, &other.config, with_untrusted)?;
        Ok(other)
    }
}
