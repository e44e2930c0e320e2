//! Hooks of the configuration: lines for the shell that are run before and after commands,
//! commits, updates, tags and transactions.
//!
//! What is asked may refuse; what is only told may not, and its failure is a warning.

mod of_changes;
mod of_command;
mod python;

pub use of_command::{Called, around};
pub use python::list as list_of_words;

use crate::context::Session;
use crate::ui::Abort;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use varve_config::hgrc::Hgrc;
use varve_repo::hooks::{
    ConfiguredHooks, HookArgs, HookCommand, Hooks, PushVars, RollbackStage, followers,
};

/// The hooks of one call of the program.
#[derive(Debug, Default)]
pub struct SessionHooks {
    set: ConfiguredHooks,
    /// Where they run.
    folder: PathBuf,
    /// What may be run, if strangers have configured some of the hooks.
    trusted: Option<Arc<Hgrc>>,
    verbose: bool,
    /// What is told when all locks are gone.
    later: Mutex<Vec<(&'static str, HookArgs)>>,
    /// What who pushes wants them to know.
    given: Mutex<PushVars>,
}

impl SessionHooks {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    fn is_trusted(&self, script: &HookCommand) -> bool {
        let Some(trusted) = &self.trusted else {
            return true;
        };
        let mut items = trusted.section("hooks").iter();
        items.any(|item| (&item.key, &item.value) == (&script.name, &script.command))
    }

    fn given_now(&self) -> PushVars {
        let given = self.given.lock();
        given.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn queue(&self) -> MutexGuard<'_, Vec<(&'static str, HookArgs)>> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls all that is to be called after the locks.
    pub fn call_waiting(&self) {
        loop {
            let waiting = std::mem::take(&mut *self.queue());
            if waiting.is_empty() {
                return;
            }
            for (kind, facts) in waiting {
                self.tell(kind, &facts);
            }
        }
    }

    /// Refuses hooks that are functions of Python, which would have to be imported.
    fn check(&self, kind: &str) -> Result<(), String> {
        self.set.of(kind).try_for_each(HookCommand::check)
    }

    /// Runs the hooks of a kind until one fails; the words of that.
    fn run(&self, kind: &str, facts: &HookArgs, pending: bool) -> Result<(), String> {
        self.check(kind)?;
        for script in self.set.of(kind) {
            self.run_one(script, facts, pending)?;
        }
        Ok(())
    }

    fn run_one(&self, script: &HookCommand, facts: &HookArgs, pending: bool) -> Result<(), String> {
        let name = String::from_utf8_lossy(&script.name);
        if !self.is_trusted(script) {
            return Err(format!("untrusted hook {name} not executed"));
        }
        if self.verbose {
            let line = [
                b"running hook ",
                &script.name[..],
                b": ",
                &script.command,
                b"\n",
            ];
            // Nothing is left to do if the standard output is gone.
            let _ = std::io::stdout().write_all(&line.concat());
        }
        let mut process = script.process((facts, &self.given_now()), &self.folder, pending);
        if crate::ui::environment::variable("HG").is_none()
            && let Ok(program) = std::env::current_exe()
        {
            process.env("HG", program);
        }
        script.judge(process.status())
    }

    /// Runs all hooks of a kind; what fails is a warning.
    fn tell(&self, kind: &str, facts: &HookArgs) {
        for script in self.set.of(kind) {
            let told = match script.is_python() {
                true => self.check(kind),
                false => self.run_one(script, facts, false),
            };
            if let Err(words) = told {
                // Nothing is left to do if even standard error is gone.
                let _ = std::io::stderr().write_all(format!("warning: {words}\n").as_bytes());
            }
        }
    }
}

impl Hooks for SessionHooks {
    fn has_hook(&self, kind: &str) -> bool {
        self.set.of(kind).next().is_some()
    }

    fn run_now(&self, kind: &'static str, facts: &HookArgs, pending: bool) -> Result<(), String> {
        for follower in followers(kind) {
            self.check(follower)?;
        }
        self.run(kind, facts, pending)
    }

    fn run_later(&self, kind: &'static str, facts: HookArgs) {
        if self.has_hook(kind) {
            self.queue().push((kind, facts));
        }
    }

    fn set_push_vars(&self, vars: PushVars) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = vars;
    }

    fn on_rollback(&self, stage: RollbackStage) {
        let words = match stage {
            RollbackStage::Started => "transaction abort!\n",
            RollbackStage::Done => "rollback completed\n",
            RollbackStage::Failed => "rollback failed - please run hg recover\n",
        };
        // In one piece, because a client at the other end of ssh shows piece by piece. Nothing is
        // left to do if even standard error is gone.
        let _ = std::io::stderr().write_all(words.as_bytes());
    }
}

/// The words of a hook that refuses, with a hint for one that is not run at all.
pub fn refused(words: String) -> Abort {
    let is_untrusted = words.starts_with("untrusted hook");
    match (Abort::new(words), is_untrusted) {
        (abort, true) => abort.hint("see 'hg help config.trusted'"),
        (abort, false) => abort,
    }
}

impl Session {
    /// Reads which hooks there are; `with_strangers` is the configuration with what does not count.
    pub fn read_hooks(&mut self, with_strangers: Option<&Hgrc>) -> Result<(), Abort> {
        let set = ConfiguredHooks::read(with_strangers.unwrap_or(&self.config));
        self.hooks = Arc::new(SessionHooks {
            set: set.map_err(Abort::Setting)?,
            trusted: with_strangers.map(|_| self.config.clone()),
            folder: self.place().root().unwrap_or(&self.cwd).to_owned(),
            verbose: self.verbosity.verbose,
            later: Mutex::default(),
            given: Mutex::default(),
        });
        Ok(())
    }

    /// Refuses to do something without the hooks that belong to it.
    pub fn refuse_hooks(&self, command: &str, kinds: &[&str]) -> Result<(), Abort> {
        let mut scripts = kinds.iter().flat_map(|kind| self.hooks.set.of(kind));
        match scripts.next() {
            Some(script) => {
                let name = String::from_utf8_lossy(&script.name);
                Err(Abort::new(format!(
                    "{command} does not run the hook {name}"
                )))
            }
            None => Ok(()),
        }
    }

    /// Lets all further hooks run in the repository in `folder`, which this call has made.
    pub fn move_hooks(&mut self, folder: &Path) {
        self.hooks = Arc::new(SessionHooks {
            set: self.hooks.set.clone(),
            folder: folder.to_owned(),
            trusted: self.hooks.trusted.clone(),
            verbose: self.hooks.verbose,
            later: Mutex::default(),
            given: Mutex::default(),
        });
    }

    /// Calls the hooks of a kind, any of which may refuse what is about to be done.
    pub fn ask_hooks(&mut self, kind: &'static str, facts: &HookArgs) -> Result<(), Abort> {
        self.out.flush()?;
        self.hooks.run_now(kind, facts, false).map_err(refused)
    }

    /// Calls the hooks of a kind about what has been done.
    pub fn tell_hooks(&mut self, kind: &'static str, facts: &HookArgs) -> Result<(), Abort> {
        self.out.flush()?;
        self.hooks.tell(kind, facts);
        Ok(())
    }

    /// Calls all that is to be called after the locks.
    pub fn after_locks(&mut self) -> Result<(), Abort> {
        self.out.flush()?;
        self.hooks.call_waiting();
        Ok(())
    }
}
