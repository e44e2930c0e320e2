//! The hooks of the call's repository.

use crate::context::{Config, Repo};
use crate::hooks::of_changes::{of_parents, of_short_parents};
use crate::hooks::refused;
use crate::hooks::{HookRunner, HookVerbosity};
use crate::ui::{Abort, Ui};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use varve_config::hgrc::Hgrc;
use varve_repo::Node;
use varve_repo::hooks::{HookArgs, Hooks};

impl Repo {
    /// Reads which hooks the configuration has; `with_untrusted` is the configuration with the
    /// files that do not count.
    pub(super) fn read_hooks(
        &mut self,
        ui: &Ui,
        config: &Config,
        with_untrusted: Option<&Hgrc>,
    ) -> Result<(), Abort> {
        let directory = self.location().root().unwrap_or(&self.cwd);
        let output = (&ui.streams, verbosity(ui));
        let places = (directory, self.cwd.as_path());
        let hooks = HookRunner::read(&config.values, with_untrusted, places, output)?;
        self.hooks = Arc::new(hooks);
        Ok(())
    }

    /// The hooks of the repository that the command works on, be it another than that around the current directory.
    pub(crate) fn hooks_of_location(&self, ui: &Ui, config: &Config) -> Result<HookRunner, Abort> {
        self.hooks_of(self.root()?, ui, config)
    }

    /// The hooks of the repository at `directory`.
    pub(crate) fn hooks_of(
        &self,
        directory: &Path,
        ui: &Ui,
        config: &Config,
    ) -> Result<HookRunner, Abort> {
        let layered = config.layers.with(Some(directory))?;
        let with_untrusted = layered.with_untrusted.as_ref();
        let output = (&ui.streams, verbosity(ui));
        let config = Arc::new(layered.config);
        HookRunner::read(&config, with_untrusted, (directory, &self.cwd), output)
    }

    /// Forgets the hooks of the repository that the call stands in: they are none of one that it makes.
    pub(crate) fn forget_repository_hooks(
        &mut self,
        ui: &Ui,
        config: &Config,
    ) -> Result<(), Abort> {
        let outside = config.layers.with(None)?.config;
        let directory = self.location().root().unwrap_or(&self.cwd);
        let output = (&ui.streams, verbosity(ui));
        self.hooks = Arc::new(HookRunner::read(
            &Arc::new(outside),
            None,
            (directory, &self.cwd),
            output,
        )?);
        Ok(())
    }

    /// Refuses to run a command without the hooks that belong to it.
    pub(crate) fn refuse_hooks(&self, command: &str, kinds: &[&'static str]) -> Result<(), Abort> {
        match self.hooks.first_of(kinds) {
            Some(script) => {
                let name = String::from_utf8_lossy(&script.name);
                Err(Abort::new(format!(
                    "{command} does not run the hook {name}"
                )))
            }
            None => Ok(()),
        }
    }

    /// Runs all further hooks in `directory`, whose repository this call has made.
    pub(crate) fn move_hooks(&mut self, directory: &Path) {
        self.hooks = Arc::new(self.hooks.in_directory(directory));
    }

    /// Runs the hooks of a kind before a step, which any of them may refuse.
    pub(crate) fn run_hooks(
        &self,
        ui: &mut Ui,
        kind: &'static str,
        args: &HookArgs,
    ) -> Result<(), Abort> {
        ui.out.flush()?;
        self.hooks.run_now(kind, args, false).map_err(refused)
    }

    /// Runs the hooks of a kind after a step.
    pub(crate) fn notify_hooks(
        &self,
        ui: &mut Ui,
        kind: &'static str,
        args: &HookArgs,
    ) -> Result<(), Abort> {
        ui.out.flush()?;
        self.hooks.notify(kind, args);
        Ok(())
    }

    /// Runs the hooks that wait for the release of the locks.
    pub(crate) fn run_queued_hooks(&self, ui: &mut Ui) -> Result<(), Abort> {
        ui.out.flush()?;
        self.hooks.run_queued();
        Ok(())
    }

    /// Runs `precommit`, before a changeset of these parents.
    pub(crate) fn before_commit(&self, ui: &mut Ui, parents: &[Node; 2]) -> Result<(), Abort> {
        self.run_hooks(ui, "precommit", &of_parents(parents))
    }

    /// Queues `commit` for a new changeset.
    pub(crate) fn after_commit(&self, node: &Node, parents: &[Node; 2]) {
        let mut args = of_parents(parents);
        args.insert("node", node.to_hex().to_vec());
        self.hooks.run_later("commit", args);
    }

    /// Runs `preupdate`, before the working copy gets these parents.
    pub(crate) fn before_update(&self, ui: &mut Ui, parents: &[Node; 2]) -> Result<(), Abort> {
        self.run_hooks(ui, "preupdate", &of_short_parents(parents))
    }

    /// Runs `update` with the new parents of the working copy and the number of unresolved files.
    pub(crate) fn after_update(
        &self,
        ui: &mut Ui,
        parents: &[Node; 2],
        unresolved: usize,
    ) -> Result<(), Abort> {
        let mut args = of_short_parents(parents);
        args.insert("error", unresolved.to_string().into_bytes());
        self.notify_hooks(ui, "update", &args)
    }

    /// Whether the configuration has any hook.
    pub(crate) fn has_hooks(&self) -> bool {
        !self.hooks.is_empty()
    }

    /// Whether any hook runs before the working copy changes.
    pub(crate) fn asks_before_update(&self) -> bool {
        self.hooks.has_hook("preupdate")
    }
}

fn verbosity(ui: &Ui) -> HookVerbosity {
    HookVerbosity {
        calls: ui.verbosity.verbose,
        steps: ui.verbosity.debug,
    }
}
