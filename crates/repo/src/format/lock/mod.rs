//! Mercurial's two locks: `.hg/wlock` for the working copy and `.hg/store/lock` for the history.
//! An operation that needs both takes them in this order.
//!
//! A lock is a symbolic link that names its holder ([`LockOwner`]); making one is a step that only
//! one process can take. A lock whose holder has died is broken, under a lock of its own beside it
//! (`lock.break`), so that two processes that find it do not each remove
//! the new lock of the other.

mod owner;

pub use owner::LockOwner;

use crate::format::RepoError;
use crate::format::context::RepoContext;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use varve_base::Interrupt;

/// How many locks that guard the breaking of a lock are themselves broken.
pub(crate) const BREAKS: u32 = 3;

/// Files that a lock guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// The files of the working copy, the dirstate, the active bookmark.
    WorkingCopy,
    /// The history.
    Store,
}

impl LockKind {
    pub(crate) fn path(self, context: &RepoContext) -> PathBuf {
        match self {
            LockKind::WorkingCopy => context.hg().join("wlock"),
            LockKind::Store => context.store().join("lock"),
        }
    }
}

/// As Mercurial says it, before the path.
impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockKind::WorkingCopy => "working directory of",
            LockKind::Store => "repository",
        })
    }
}

/// Progress of a wait for a lock; [`fmt::Display`] gives Mercurial's lines.
#[derive(Clone, Debug)]
pub enum LockEvent<'a> {
    /// Another process holds it.
    Waiting {
        /// Which of the locks.
        what: LockKind,
        /// The repository.
        root: &'a Path,
        /// The process that holds the lock.
        owner: &'a LockOwner,
    },
    /// The lock was taken after [`LockEvent::Waiting`].
    Acquired {
        /// How long that took.
        waited: Duration,
    },
}

impl fmt::Display for LockEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockEvent::Waiting { what, root, owner } => {
                write!(
                    f,
                    "waiting for lock on {what} {} held by {owner}",
                    root.display()
                )
            }
            LockEvent::Acquired { waited } => {
                write!(f, "got lock after {} seconds", waited.as_secs())
            }
        }
    }
}

/// How a lock is waited for.
#[derive(Clone, Copy)]
pub struct LockWait<'a> {
    /// How long; `None` for ever.
    pub timeout: Option<Duration>,
    /// Time after which [`LockEvent::Waiting`] is reported.
    pub notify_after: Duration,
    /// Called for each event.
    pub on_event: &'a dyn Fn(&LockEvent<'_>),
    /// Ends the waiting.
    pub stop: &'a Interrupt,
}

/// One of the locks; given back when dropped.
#[derive(Debug)]
pub struct Lock {
    context: Arc<RepoContext>,
    path: PathBuf,
}

pub(crate) enum Attempt {
    Taken(Lock),
    HeldBy(LockOwner),
}

impl Lock {
    pub(crate) fn try_take(
        context: &Arc<RepoContext>,
        path: &Path,
        breaks: u32,
    ) -> Result<Attempt, RepoError> {
        let storage = context.storage.as_ref();
        loop {
            match storage.create_symlink(LockOwner::this_process().as_str(), path) {
                Ok(()) => {
                    return Ok(Attempt::Taken(Lock {
                        context: Arc::clone(context),
                        path: path.to_owned(),
                    }));
                }
                Err(error) if error.is_already_there() => {}
                Err(error) => return Err(error.into()),
            }
            let Some(text) = storage.read_symlink(path)? else {
                continue; // It was given back in between.
            };
            let owner = LockOwner::of_text(text);
            if !owner.is_gone() || breaks == 0 || !break_lock(context, path, &owner, breaks - 1)? {
                return Ok(Attempt::HeldBy(owner));
            }
        }
    }
}

/// Removes a dead holder's lock; `false` if another process is about to.
fn break_lock(
    context: &Arc<RepoContext>,
    path: &Path,
    owner: &LockOwner,
    breaks: u32,
) -> Result<bool, RepoError> {
    let mut guard = path.as_os_str().to_owned();
    guard.push(".break");
    let Attempt::Taken(_guard) = Lock::try_take(context, Path::new(&guard), breaks)? else {
        return Ok(false);
    };
    // Only the lock that was seen: another may have broken it and given it to a new holder.
    let storage = context.storage.as_ref();
    if storage.read_symlink(path)?.as_deref() == Some(owner.as_str()) {
        storage.remove(path)?;
    }
    Ok(true)
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A lock that stays is broken by the next process that wants it, once this one has ended.
        let _ = self.context.storage.remove(&self.path);
    }
}
