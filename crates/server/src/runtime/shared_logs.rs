//! Logs in a store of objects, one for each thing that a server keeps. A server that is asked for a thing takes its log over if it
//! should write the thing, and follows it otherwise.
//!
//! A local copy is a cache in a directory of its own, made anew whenever its log is opened. A log that another process has taken
//! over from the server that should write it is left to that process for [`HOLD_OFF`], then taken back if it is asked for.

use super::ClusterView;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use varve_base::{DiskStorage, Storage};
use varve_shared::{
    Catalog, CatalogEntry, Collected, LogId, LogOptions, ObjectStore, Peeked, SharedError,
    SharedStorage, SystemClock, collect_garbage, peek,
};

/// Time for which a log is not taken back from another process.
const HOLD_OFF: Duration = Duration::from_secs(5);

/// Things of one kind in the logs of a store.
#[derive(Debug)]
pub(crate) struct SharedLogs {
    kind: LogKind,
    store: Arc<dyn ObjectStore>,
    clock: Arc<SystemClock>,
    catalog: Catalog,
    /// Local copies stand below this directory, each under a number that no other has.
    copies: PathBuf,
    next_copy: AtomicU64,
    logs: Mutex<HashMap<String, LogState>>,
    /// Says which logs this server should own.
    view: Arc<ClusterView>,
}

/// A kind of things with logs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogKind {
    /// Begin of the names of its logs, up to a slash.
    pub(crate) directory: &'static str,
    /// The log of a thing with this name.
    pub(crate) log_of: fn(&str) -> Result<LogId, SharedError>,
    /// The name of the thing that a log belongs to; `None` for logs of other kinds.
    pub(crate) name_of: fn(&str) -> Option<String>,
    /// A path that is there if the thing is.
    pub(crate) mark: &'static str,
}

/// State of a log that was opened by this process.
#[derive(Debug)]
pub(super) enum LogState {
    Open(OpenLog),
    /// Another process has taken it over from this one, or a commit was not confirmed.
    Lost(Instant),
}

/// A log that this process follows or owns, as far as it knows.
#[derive(Clone, Debug)]
pub(crate) struct OpenLog {
    pub(crate) storage: SharedStorage,
    pub(crate) copy: Arc<CopyDirectory>,
}

/// Directory of a local copy, which is removed when it is used no more. What cannot be removed goes at the next start.
#[derive(Debug)]
pub(crate) struct CopyDirectory(PathBuf);

impl CopyDirectory {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for CopyDirectory {
    fn drop(&mut self) {
        let _ = DiskStorage::new(&self.0).remove_tree(Path::new(""));
    }
}

impl SharedLogs {
    /// The logs of one kind. All that is below `copies` is removed.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(crate) fn new(
        kind: LogKind,
        store: Arc<dyn ObjectStore>,
        view: Arc<ClusterView>,
        copies: PathBuf,
    ) -> Result<SharedLogs, varve_base::StorageError> {
        let (root, disk) = (Path::new(""), DiskStorage::new(&copies).with_private(&[""]));
        disk.remove_tree(root)?;
        disk.create_directory(root)?;
        let clock = Arc::new(SystemClock::default());
        Ok(SharedLogs {
            kind,
            catalog: Catalog::new(Arc::clone(&store), Arc::clone(&clock) as _),
            store,
            clock,
            copies,
            next_copy: AtomicU64::new(0),
            logs: Mutex::default(),
            view,
        })
    }

    /// Names of all things of this kind; one request for about a thousand of them.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn names(&self) -> Result<Vec<String>, SharedError> {
        let logs = self.catalog.logs(self.kind.directory)?;
        Ok(logs
            .iter()
            .filter_map(|log| (self.kind.name_of)(log))
            .collect())
    }

    /// The catalog's entries for a thing; none if there is no such thing.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn entries(&self, name: &str) -> Result<Vec<CatalogEntry>, SharedError> {
        self.catalog.entries(&(self.kind.log_of)(name)?)
    }

    /// Takes a removed thing out of the catalog, by the entries that were there before its files were removed.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn remove_entries(&self, entries: &[CatalogEntry]) -> Result<(), SharedError> {
        self.catalog.remove(entries)
    }

    /// View of the other servers of the store.
    pub(crate) fn view(&self) -> &Arc<ClusterView> {
        &self.view
    }

    /// The log of a thing, owned by this process if it should write that and brought to its end otherwise; `None` if there is no
    /// such thing. The caller must be the only one at work for that name.
    ///
    /// # Errors
    /// [`SharedError::Fenced`] while another process has it; errors of the store.
    pub(crate) fn find(&self, name: &str) -> Result<Option<SharedStorage>, SharedError> {
        match self.view.writes(name) {
            true => self.find_owned(name),
            false => self.find_followed(name),
        }
    }

    fn has_thing(&self, storage: &SharedStorage) -> Result<bool, SharedError> {
        Ok(storage.kind(Path::new(self.kind.mark))?.is_some())
    }

    fn find_followed(&self, name: &str) -> Result<Option<SharedStorage>, SharedError> {
        let is_current = |storage: &SharedStorage| {
            // One that nothing has used since another server is to write it.
            storage.release()?;
            storage.ensure_current()
        };
        let storage = match self
            .opened(name)
            .map(|log| (is_current(&log.storage), log.storage))
        {
            Some((Ok(()), storage)) => storage,
            Some((Err(error), _)) if !error.must_reopen() => return Err(error),
            Some(_) | None if self.entries(name)?.is_empty() => {
                self.close(name);
                return Ok(None);
            }
            Some(_) | None => self.open(name)?,
        };
        let is_there = self.has_thing(&storage)?;
        if !is_there {
            self.close(name);
        }
        Ok(is_there.then_some(storage))
    }

    fn find_owned(&self, name: &str) -> Result<Option<SharedStorage>, SharedError> {
        let entries = self.entries(name)?;
        if entries.is_empty() {
            return Ok(None);
        }
        let storage = self.own(name)?;
        if self.has_thing(&storage)? {
            return Ok(Some(storage));
        }
        // Left by a process that was killed while it made or removed the thing. They were listed before this process took the log
        // over, so none belongs to a thing that is made later.
        self.catalog.remove(&entries)?;
        Ok(None)
    }

    /// A file of at most `limit` bytes, from the log alone.
    ///
    /// # Errors
    /// Errors of the store, damage.
    pub(crate) fn peek(&self, name: &str, file: (&Path, u64)) -> Result<Peeked, SharedError> {
        let (id, options) = ((self.kind.log_of)(name)?, LogOptions::default());
        peek(&self.store, &id, &options, file)
    }

    /// Removes what the log of a thing keeps for restores to times longer ago than they reach back; nothing if another server
    /// should write the thing by now.
    ///
    /// # Errors
    /// Errors of the store; damage, of which nothing is removed.
    pub(crate) fn collect_garbage(&self, name: &str) -> Result<Collected, SharedError> {
        if !self.view.writes(name) {
            return Ok(Collected::default());
        }
        let clock = Some(Arc::clone(&self.clock) as _);
        let (id, options) = ((self.kind.log_of)(name)?, LogOptions::default());
        collect_garbage(&self.store, clock, &id, &options)
    }

    /// The log for a new thing, owned by this process and in the catalog. The caller must be the only one at work for that name,
    /// and finds the thing there if there is one already.
    ///
    /// # Errors
    /// As of [`SharedLogs::find`].
    pub(crate) fn for_creation(&self, name: &str) -> Result<SharedStorage, SharedError> {
        let storage = self.own(name)?;
        if !self.has_thing(&storage)? || self.entries(name)?.is_empty() {
            self.catalog.add(&(self.kind.log_of)(name)?)?;
        }
        Ok(storage)
    }

    /// Gives a log up that must be opened again: at once if this process only follows it, and later if it should own it.
    pub(crate) fn retire(&self, name: &str) {
        self.close(name);
        if self.view.writes(name) {
            (self.logs.lock()).insert(name.to_owned(), LogState::Lost(Instant::now()));
        }
    }

    fn close(&self, name: &str) {
        self.logs.lock().remove(name);
    }

    fn was_lost_just_now(&self, name: &str) -> bool {
        let logs = self.logs.lock();
        matches!(logs.get(name), Some(LogState::Lost(since)) if since.elapsed() < HOLD_OFF)
    }

    fn own(&self, name: &str) -> Result<SharedStorage, SharedError> {
        let log = (self.kind.log_of)(name)?.to_string();
        if !self.view.writes(name) {
            return Err(SharedError::NotOwner { log });
        }
        if self.was_lost_just_now(name) {
            return Err(SharedError::Fenced { log });
        }
        let storage = match self.opened(name).map(|log| log.storage) {
            Some(storage) if !storage.is_usable() => {
                self.retire(name);
                return Err(SharedError::Fenced { log });
            }
            Some(storage) => {
                if !storage.is_owner() {
                    // Others may have owned it since it was looked at.
                    storage.ensure_current()?;
                }
                storage
            }
            None => self.open(name)?,
        };
        storage.take_over().inspect_err(|error| {
            if error.must_reopen() {
                self.retire(name);
            }
        })?;
        Ok(storage)
    }

    /// Opens a log, to be followed.
    fn open(&self, name: &str) -> Result<SharedStorage, SharedError> {
        let id = (self.kind.log_of)(name)?;
        let number = self.next_copy.fetch_add(1, Ordering::Relaxed);
        let copy = Arc::new(CopyDirectory(self.copies.join(number.to_string())));
        let local = DiskStorage::new(copy.path()).with_private(&[""]);
        let storage = SharedStorage::open(
            Arc::clone(&self.store),
            Arc::clone(&self.clock) as _,
            id,
            LogOptions::default(),
            Arc::new(local.with_names_from_root()),
        )?;
        let log = OpenLog {
            storage: storage.clone(),
            copy,
        };
        (self.logs.lock()).insert(name.to_owned(), LogState::Open(log));
        Ok(storage)
    }

    /// An open log; `None` if it is not open.
    pub(crate) fn opened(&self, name: &str) -> Option<OpenLog> {
        match self.logs.lock().get(name) {
            Some(LogState::Open(log)) => Some(log.clone()),
            Some(LogState::Lost(_)) | None => None,
        }
    }

    pub(super) fn open_logs(&self) -> Vec<(String, OpenLog)> {
        let logs = self.logs.lock();
        let open = logs.iter().filter_map(|(name, state)| match state {
            LogState::Open(log) => Some((name.clone(), log.clone())),
            LogState::Lost(_) => None,
        });
        open.collect()
    }

    /// Forgets an open log if it is as it should be for that.
    pub(super) fn take_if(&self, name: &str, is_so: impl Fn(&OpenLog) -> bool) -> Option<LogState> {
        let mut logs = self.logs.lock();
        match logs.get(name) {
            Some(LogState::Open(log)) if is_so(log) => logs.remove(name),
            _ => None,
        }
    }

    /// Names of the things that this server should write.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn own_names(&self) -> Result<Vec<String>, SharedError> {
        let mut names = self.names()?;
        names.retain(|name| self.view.writes(name));
        Ok(names)
    }
}
