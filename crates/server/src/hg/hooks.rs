//! Hooks of a repository that somebody pushes to: lines for the shell, whose output goes to the
//! client.

use crate::hg::hgrc::RepositoryConfig;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use varve_config::hgrc::HgrcError;
use varve_exchange::server::unbundle::PushWords;
use varve_repo::hooks::{Facts, Given, HookSet, Hooks, Script, Undoing, followers};

/// Bytes of what one hook says that go to the client.
const HEARD: u64 = 1 << 20;

/// The hooks of one push.
#[derive(Debug)]
pub(super) struct PushHooks {
    set: HookSet,
    config: RepositoryConfig,
    /// The repository, where hooks run.
    folder: PathBuf,
    words: Arc<PushWords>,
    /// What is told when all locks are gone.
    later: Mutex<Vec<(&'static str, Facts)>>,
    /// What who pushes wants them to know.
    given: Mutex<Given>,
}

impl PushHooks {
    pub(super) fn new(
        config: &RepositoryConfig,
        folder: PathBuf,
        words: &Arc<PushWords>,
    ) -> Result<PushHooks, HgrcError> {
        Ok(PushHooks {
            set: config.hooks()?,
            config: config.clone(),
            folder,
            words: Arc::clone(words),
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
            for (kind, facts) in waiting {
                for script in self.set.of(kind) {
                    if let Err(words) = self.run(kind, script, &facts, false) {
                        self.words
                            .say(kind, format!("warning: {words}\n").as_bytes());
                    }
                }
            }
        }
    }

    fn given_now(&self) -> Given {
        let given = self.given.lock();
        given.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn queue(&self) -> MutexGuard<'_, Vec<(&'static str, Facts)>> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, kind: &str, script: &Script, facts: &Facts, pending: bool) -> Result<(), String> {
        if !self.config.trusts(script) {
            let name = String::from_utf8_lossy(&script.name);
            return Err(format!("untrusted hook {name} not executed"));
        }
        script.check()?;
        let mut process = script.process((facts, &self.given_now()), &self.folder, pending);
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
            self.words.say(kind, &said);
            child.wait()
        };
        script.judge(heard())
    }
}

impl Hooks for PushHooks {
    fn listens(&self, kind: &str) -> bool {
        self.set.of(kind).next().is_some()
    }

    fn ask(&self, kind: &'static str, facts: &Facts, pending: bool) -> Result<(), String> {
        for follower in followers(kind) {
            self.set.of(follower).try_for_each(Script::check)?;
        }
        for script in self.set.of(kind) {
            self.run(kind, script, facts, pending)?;
        }
        Ok(())
    }

    fn later(&self, kind: &'static str, facts: Facts) {
        if self.listens(kind) {
            self.queue().push((kind, facts));
        }
    }

    fn given(&self, given: Given) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = given;
    }

    fn undoing(&self, how: Undoing) {
        let words: &[u8] = match how {
            // Said of the whole, whichever part it was that failed.
            Undoing::Begins => b"transaction abort!\n",
            Undoing::Done => b"rollback completed\n",
            Undoing::Failed => b"rollback failed - please run hg recover\n",
        };
        self.words.say_of_all(words);
    }
}
