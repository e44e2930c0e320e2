//! Syncs of directories that callers at the same time share.

use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The syncs under way, by directory.
#[derive(Debug, Default)]
pub(super) struct SharedSyncs(Mutex<HashMap<PathBuf, Arc<SharedSync>>>);

impl SharedSyncs {
    /// Returns once a sync of `directory` is done that began after this call. `sync` does one; callers that come while
    /// another one's sync runs wait for it and share the next.
    ///
    /// # Errors
    /// That of the sync.
    pub(super) fn run(
        &self,
        directory: &Path,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let shared = Arc::clone(self.0.lock().entry(directory.to_owned()).or_default());
        let done = shared.run(sync);
        let mut all = self.0.lock();
        drop(shared);
        let is_unused = |last: &Arc<SharedSync>| Arc::strong_count(last) == 1;
        if all.get(directory).is_some_and(is_unused) {
            all.remove(directory);
        }
        done
    }
}

#[derive(Debug, Default)]
struct SharedSync {
    state: Mutex<SyncState>,
    ended: Condvar,
}

/// Syncs are numbered from 1 on, in the order in which they begin.
#[derive(Debug, Default)]
struct SyncState {
    is_running: bool,
    /// Number of the last sync that has begun.
    begun: u64,
    /// Number of the last sync that succeeded.
    synced: u64,
    /// The last sync that failed. The system may report a failure only once, so it is one for all that waited for it.
    failed: Option<(u64, Reason)>,
    /// Callers that wait for the next sync.
    waiting: usize,
}

/// Parts of an [`io::Error`], which cannot be cloned itself.
#[derive(Clone, Copy, Debug)]
struct Reason {
    code: Option<i32>,
    kind: io::ErrorKind,
}

impl From<Reason> for io::Error {
    fn from(reason: Reason) -> io::Error {
        match reason.code {
            Some(code) => io::Error::from_raw_os_error(code),
            None => reason.kind.into(),
        }
    }
}

impl SharedSync {
    fn run(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut state = self.state.lock();
        let wanted = state.begun + 1;
        state.waiting += 1;
        while state.is_running {
            self.ended.wait(&mut state);
        }
        state.waiting -= 1;
        if let Some((_, reason)) = state.failed.filter(|(number, _)| *number >= wanted) {
            return Err(reason.into());
        }
        if state.synced >= wanted {
            return Ok(());
        }
        state.is_running = true;
        state.begun += 1;
        let number = state.begun;
        drop(state);
        let done = sync();
        let mut state = self.state.lock();
        state.is_running = false;
        match &done {
            Ok(()) => state.synced = number,
            Err(error) => {
                let (code, kind) = (error.raw_os_error(), error.kind());
                state.failed = Some((number, Reason { code, kind }));
            }
        }
        drop(state);
        self.ended.notify_all();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;

    /// One caller syncs while `others` arrive; returns how many syncs there were, and what the others were told.
    fn share(others: usize, second: fn() -> io::Result<()>) -> (usize, Vec<io::Result<()>>) {
        let (syncs, count) = (SharedSyncs::default(), AtomicUsize::new(0));
        let path = Path::new("directory");
        let (begun, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let told = thread::scope(|scope| {
            let (syncs, count) = (&syncs, &count);
            let first = scope.spawn(move || {
                syncs.run(path, || {
                    count.fetch_add(1, Ordering::SeqCst);
                    begun.send(()).unwrap();
                    released.recv().unwrap();
                    Ok(())
                })
            });
            has_begun.recv().unwrap();
            let waiting: Vec<_> = (0..others)
                .map(|_| {
                    scope.spawn(move || {
                        syncs.run(path, || {
                            count.fetch_add(1, Ordering::SeqCst);
                            second()
                        })
                    })
                })
                .collect();
            let arrived = || syncs.0.lock()[path].state.lock().waiting;
            while arrived() < others {
                thread::yield_now();
            }
            release.send(()).unwrap();
            first.join().unwrap().unwrap();
            waiting.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(syncs.0.lock().is_empty(), "nothing is kept");
        (count.into_inner(), told)
    }

    #[test]
    fn callers_share_the_next_sync_and_never_the_one_that_has_begun() {
        let (count, told) = share(12, || Ok(()));
        assert_eq!(count, 2);
        assert!(told.iter().all(Result::is_ok));
    }

    #[test]
    fn a_failed_sync_is_reported_to_all_that_shared_it() {
        let (count, told) = share(7, || Err(io::Error::from_raw_os_error(28)));
        assert_eq!(count, 2);
        let codes: Vec<_> = told.into_iter().map(|one| one.unwrap_err()).collect();
        let is_full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
        assert!(codes.iter().all(is_full), "{codes:?}");
    }

    #[test]
    fn a_caller_that_comes_after_a_failure_tries_again() {
        let syncs = SharedSync::default();
        let failed = syncs.run(|| Err(io::ErrorKind::Other.into()));
        assert!(failed.is_err());
        syncs.run(|| Ok(())).unwrap();
        assert_eq!(syncs.state.lock().begun, 2);
    }
}
