//! Hooks of the configuration: lines for the shell that are run before and after commands,
//! commits, updates, tags and transactions.
//!
//! A hook that runs before a step may refuse it; the failure of one that runs after it is a warning.

mod access_control;
pub(crate) mod of_changes;

use crate::ui::{Abort, FailureKind, Streams};
use parking_lot::{Mutex, MutexGuard};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_config::hgrc::Hgrc;
use varve_repo::hooks::{
    ConfiguredHooks, HookArgs, HookCommand, HookRefusal, Hooks, PushVars, RefusalCause,
    RollbackStage,
};

/// Which lines about hooks are printed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HookVerbosity {
    /// Each hook that is called.
    pub(crate) calls: bool,
    /// The steps of access control.
    pub(crate) steps: bool,
}

/// Runs the hooks of one call of the program.
#[derive(Debug, Default)]
pub struct HookRunner {
    set: ConfiguredHooks,
    /// The working directory of their processes.
    directory: PathBuf,
    /// The trusted configuration.
    config: Arc<Hgrc>,
    /// Set if untrusted files define some of the hooks.
    has_untrusted: bool,
    verbosity: HookVerbosity,
    /// The current directory of the call.
    cwd: PathBuf,
    streams: Streams,
    /// Hooks to run when all locks are released.
    later: Mutex<Vec<(&'static str, HookArgs)>>,
    /// Variables that the client of a push sent.
    given: Mutex<PushVars>,
}

impl HookRunner {
    /// The hooks of `config`, run in `directory`; `with_untrusted` is the configuration with the
    /// files that do not count, whose hooks are refused.
    pub(crate) fn read(
        config: &Arc<Hgrc>,
        with_untrusted: Option<&Hgrc>,
        (directory, cwd): (&Path, &Path),
        (streams, verbosity): (&Streams, HookVerbosity),
    ) -> Result<HookRunner, Abort> {
        let set = ConfiguredHooks::read(with_untrusted.unwrap_or(config));
        Ok(HookRunner {
            set: set.map_err(Abort::Setting)?,
            config: Arc::clone(config),
            has_untrusted: with_untrusted.is_some(),
            directory: directory.to_owned(),
            cwd: cwd.to_owned(),
            verbosity,
            streams: streams.clone(),
            later: Mutex::default(),
            given: Mutex::default(),
        })
    }

    /// The same hooks in another directory, for a repository that this call has made.
    pub(crate) fn in_directory(&self, directory: &Path) -> HookRunner {
        HookRunner {
            set: self.set.clone(),
            directory: directory.to_owned(),
            config: Arc::clone(&self.config),
            has_untrusted: self.has_untrusted,
            cwd: self.cwd.clone(),
            verbosity: self.verbosity,
            streams: self.streams.clone(),
            later: Mutex::default(),
            given: Mutex::default(),
        }
    }

    /// The first hook of one of `kinds`.
    pub(crate) fn first_of(&self, kinds: &[&'static str]) -> Option<&HookCommand> {
        kinds.iter().find_map(|kind| self.set.of(kind).next())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    fn is_trusted(&self, script: &HookCommand) -> bool {
        let mut items = self.config.section("hooks").iter();
        !self.has_untrusted
            || items.any(|item| (&item.key, &item.value) == (&script.name, &script.command))
    }

    fn given_now(&self) -> PushVars {
        self.given.lock().clone()
    }

    fn queue(&self) -> MutexGuard<'_, Vec<(&'static str, HookArgs)>> {
        self.later.lock()
    }

    /// Runs the hooks that wait for the release of the locks.
    pub fn run_queued(&self) {
        loop {
            let waiting = std::mem::take(&mut *self.queue());
            if waiting.is_empty() {
                return;
            }
            for (kind, args) in waiting {
                self.notify(kind, &args);
            }
        }
    }

    /// Refuses hooks that are functions of Python, which would have to be imported.
    pub(crate) fn check(&self, kind: &str) -> Result<(), HookRefusal> {
        self.set.of(kind).try_for_each(HookCommand::check)
    }

    /// Runs the hooks of a kind until one refuses.
    pub(crate) fn run(
        &self,
        kind: &str,
        args: &HookArgs,
        pending: bool,
    ) -> Result<(), HookRefusal> {
        self.check(kind)?;
        for script in self.set.of(kind) {
            self.run_one(script, args, pending)?;
        }
        Ok(())
    }

    fn run_one(
        &self,
        script: &HookCommand,
        args: &HookArgs,
        pending: bool,
    ) -> Result<(), HookRefusal> {
        if !self.is_trusted(script) {
            return Err(HookRefusal::untrusted(script));
        }
        if script.controls_access() {
            return self.control_access(script, args);
        }
        if self.verbosity.calls {
            let line = [
                b"running hook ",
                &script.name[..],
                b": ",
                &script.command,
                b"\n",
            ];
            // Nothing is left to do if the standard output is gone.
            let _ = self.streams.out().write_all(&line.concat());
        }
        let mut process = script.process((args, &self.given_now()), &self.directory, pending);
        crate::ui::environment::name_this_program(&mut process);
        script.judge(self.streams.run(&mut process))
    }
}

impl Hooks for HookRunner {
    fn has_hook(&self, kind: &str) -> bool {
        self.set.of(kind).next().is_some()
    }

    fn run_now(
        &self,
        kind: &'static str,
        args: &HookArgs,
        pending: bool,
    ) -> Result<(), HookRefusal> {
        self.set.check_followers(kind)?;
        self.run(kind, args, pending)
    }

    fn notify(&self, kind: &str, args: &HookArgs) {
        for script in self.set.of(kind) {
            let done = script
                .check()
                .and_then(|()| self.run_one(script, args, false));
            if let Err(refusal) = done {
                // Nothing is left to do if even standard error is gone.
                let _ = self.streams.err().write_all(refusal.warning().as_bytes());
            }
        }
    }

    fn run_later(&self, kind: &'static str, args: HookArgs) {
        if self.has_hook(kind) {
            self.queue().push((kind, args));
        }
    }

    fn set_push_vars(&self, vars: PushVars) {
        *self.given.lock() = vars;
    }

    fn on_rollback(&self, stage: RollbackStage) {
        let words = match stage {
            RollbackStage::Started => "transaction abort!\n",
            RollbackStage::Done => "rollback completed\n",
            RollbackStage::Failed => "rollback failed - please run hg recover\n",
        };
        // In one piece, because a client at the other end of ssh shows piece by piece. Nothing is
        // left to do if even standard error is gone.
        let _ = self.streams.err().write_all(words.as_bytes());
    }
}

/// The error of a hook that refuses, with a hint for one that is not run at all.
pub(crate) fn refused(refusal: HookRefusal) -> Abort {
    let abort = |kind| Abort::of_kind(kind, refusal.words);
    match refusal.cause {
        RefusalCause::Program => abort(FailureKind::Hook),
        RefusalCause::Untrusted => abort(FailureKind::Hook).hint("see 'hg help config.trusted'"),
        RefusalCause::AccessControl => abort(FailureKind::Other),
    }
}
