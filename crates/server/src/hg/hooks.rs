//! Hooks of a repository that receives a push: lines for the shell, whose output goes to the
//! client.

use crate::hg::hgrc::RepositoryConfig;
use parking_lot::{Mutex, MutexGuard};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use varve_config::hgrc::HgrcError;
use varve_exchange::apply::PushOutput;
use varve_repo::hooks::{
    ConfiguredHooks, HookArgs, HookCommand, Hooks, PushVars, RollbackStage, followers,
};

/// Bytes of one hook's output that go to the client.
const HEARD: u64 = 1 << 20;

/// The hooks of one push.
#[derive(Debug)]
pub(super) struct PushHooks {
    set: ConfiguredHooks,
    config: RepositoryConfig,
    /// The repository, where hooks run.
    directory: PathBuf,
    output: Arc<PushOutput>,
    /// Hooks to be run when all locks are released.
    later: Mutex<Vec<(&'static str, HookArgs)>>,
    /// Variables that the pushing client passes to them.
    given: Mutex<PushVars>,
}

impl PushHooks {
    pub(super) fn new(
        config: &RepositoryConfig,
        directory: PathBuf,
        output: &Arc<PushOutput>,
    ) -> Result<PushHooks, HgrcError> {
        Ok(PushHooks {
            set: config.hooks()?,
            config: config.clone(),
            directory,
            output: Arc::clone(output),
            later: Mutex::default(),
            given: Mutex::default(),
        })
    }

    /// Calls all that was to wait.
    pub(super) fn after_locks(&self) {
        loop {
            let waiting = std::mem::take(&mut *self.queue());
            if waiting.is_empty() {
                return;
            }
            for (kind, args) in waiting {
                for script in self.set.of(kind) {
                    if let Err(words) = self.run(kind, script, &args, false) {
                        self.output
                            .write(kind, format!("warning: {words}\n").as_bytes());
                    }
                }
            }
        }
    }

    fn given_now(&self) -> PushVars {
        self.given.lock().clone()
    }

    fn queue(&self) -> MutexGuard<'_, Vec<(&'static str, HookArgs)>> {
        self.later.lock()
    }

    fn run(
        &self,
        kind: &str,
        script: &HookCommand,
        args: &HookArgs,
        pending: bool,
    ) -> Result<(), String> {
        if !self.config.trusts(script) {
            let name = String::from_utf8_lossy(&script.name);
            return Err(format!("untrusted hook {name} not executed"));
        }
        script.check()?;
        let mut process = script.process((args, &self.given_now()), &self.directory, pending);
        process.stdin(Stdio::null());
        let heard = || -> io::Result<_> {
            let (mut reader, writer) = io::pipe()?;
            process.stdout(writer.try_clone()?).stderr(writer);
            let mut child = process.spawn()?;
            // It holds the ends that are written to.
            drop(process);
            let mut said = Vec::new();
            reader.by_ref().take(HEARD).read_to_end(&mut said)?;
            io::copy(&mut reader, &mut io::sink())?;
            self.output.write(kind, &said);
            child.wait()
        };
        script.judge(heard())
    }
}

impl Hooks for PushHooks {
    fn has_hook(&self, kind: &str) -> bool {
        self.set.of(kind).next().is_some()
    }

    fn run_now(&self, kind: &'static str, args: &HookArgs, pending: bool) -> Result<(), String> {
        for follower in followers(kind) {
            self.set.of(follower).try_for_each(HookCommand::check)?;
        }
        for script in self.set.of(kind) {
            self.run(kind, script, args, pending)?;
        }
        Ok(())
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
        let words: &[u8] = match stage {
            // Said of the whole, whichever part it was that failed.
            RollbackStage::Started => b"transaction abort!\n",
            RollbackStage::Done => b"rollback completed\n",
            RollbackStage::Failed => b"rollback failed - please run hg recover\n",
        };
        self.output.write_about_push(words);
    }
}
