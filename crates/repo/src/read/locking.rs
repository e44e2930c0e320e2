//! Taking the locks of a repository, with a timeout.

use crate::format::RepoError;
use crate::format::lock::{Attempt, BREAKS, Lock, LockEvent, LockKind, LockWait};
use crate::read::Repository;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use varve_base::Interrupt;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

impl Repository {
    /// The file that stands for a lock while it is held.
    pub fn lock_path(&self, what: LockKind) -> PathBuf {
        what.path(self.context())
    }

    /// Takes a lock, waiting for it.
    ///
    /// # Errors
    /// [`RepoError::LockHeld`] after the timeout; [`RepoError::Interrupted`].
    pub fn lock(&self, what: LockKind, wait: &LockWait<'_>) -> Result<Lock, RepoError> {
        let context = self.context();
        let begun = Instant::now();
        let mut told = false;
        loop {
            let owner = match Lock::try_take(context, &what.path(context), BREAKS)? {
                Attempt::Taken(lock) => {
                    if told {
                        (wait.on_event)(&LockEvent::Acquired {
                            waited: begun.elapsed(),
                        });
                    }
                    return Ok(lock);
                }
                Attempt::HeldBy(owner) => owner,
            };
            let waited = begun.elapsed();
            if wait.timeout.is_some_and(|timeout| waited >= timeout) {
                return Err(RepoError::LockHeld {
                    what,
                    path: context.root.clone(),
                    owner,
                });
            }
            if !told && waited >= wait.notify_after {
                told = true;
                let root = &context.root;
                (wait.on_event)(&LockEvent::Waiting {
                    what,
                    root,
                    owner: &owner,
                });
            }
            wait.stop.check()?;
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes a lock at once or not at all.
    ///
    /// # Errors
    /// [`RepoError::LockHeld`] if another process holds it.
    pub fn try_lock(&self, what: LockKind) -> Result<Lock, RepoError> {
        self.lock(
            what,
            &LockWait {
                timeout: Some(Duration::ZERO),
                notify_after: Duration::ZERO,
                on_event: &|_| {},
                stop: &Interrupt::default(),
            },
        )
    }
}
