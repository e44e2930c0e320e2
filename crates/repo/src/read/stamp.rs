//! A stamp that changes with every commit, by which a state is read without a lock.

use crate::format::RepoError;
use crate::format::context::RepoContext;
use std::time::{Duration, SystemTime};

/// Times and lengths that change with every commit. Two equal stamps with nothing but reading between them mean
/// that one state was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    store: Option<SystemTime>,
    hg: Option<SystemTime>,
    changelog: Option<u64>,
    obsolete: Option<u64>,
    /// Whether a transaction is under way, or was left behind.
    pub journal: bool,
}

/// A directory that changed more recently may change again without another modification time.
const SETTLED: Duration = Duration::from_millis(50);

/// How often a consistent state is looked for, and the pause between two looks.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(20);

impl RepoContext {
    pub fn stamp(&self) -> Result<Stamp, RepoError> {
        let store = self.store();
        Ok(Stamp {
            store: self.storage.modified(&store)?,
            hg: self.storage.modified(&self.hg())?,
            changelog: self.storage.file_len(&store.join("00changelog.i"))?,
            obsolete: self.storage.file_len(&store.join("obsstore"))?,
            journal: self.storage.kind(&store.join("journal"))?.is_some(),
        })
    }

    /// Reads without a lock: the result of `read` counts only if the stamp is the same before and
    /// after, and if `read` did not ask for another try with `None`.
    pub fn read_consistent<T>(
        &self,
        read: impl Fn(&Stamp) -> Result<Option<T>, RepoError>,
    ) -> Result<T, RepoError> {
        for tried in 0..TRIES {
            if tried > 0 {
                std::thread::sleep(PAUSE);
            }
            let before = self.stamp()?;
            let outcome = read(&before);
            if self.stamp()? != before {
                continue;
            }
            if let Some(found) = outcome? {
                return Ok(found);
            }
        }
        Err(RepoError::Busy {
            path: self.root.clone(),
            tries: TRIES,
        })
    }
}

impl Stamp {
    pub fn is_settled(&self) -> bool {
        let now = SystemTime::now();
        let old = |time: Option<SystemTime>| {
            time.and_then(|time| now.duration_since(time).ok())
                .is_some_and(|age| age > SETTLED)
        };
        !self.journal && old(self.store) && old(self.hg)
    }
}
