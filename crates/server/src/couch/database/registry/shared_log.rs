//! Databases in logs of a shared store: how new a state reads see, and what becomes of a database that another process writes,
//! removes or takes over.

use super::{Databases, OpenDatabase};
use crate::Failure;
use crate::http::Freshness;
use crate::runtime::metrics::ClusterFigures;
use crate::runtime::{ClusterView, SharedLogs};
use parking_lot::Mutex;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use varve_shared::SharedStorage;

/// Time after the last read of an old state for which a log is followed.
const FOLLOWED_FOR: Duration = Duration::from_secs(30);

/// The log of an open database.
#[derive(Debug)]
pub(super) struct DatabaseLog {
    storage: SharedStorage,
    /// Time of the last read of an old state since the log is followed for those.
    last_stale_read: Mutex<Option<Instant>>,
    /// When the copy was last seen to have all commits.
    last_current: Mutex<Instant>,
}

impl DatabaseLog {
    pub(super) fn new(storage: SharedStorage) -> DatabaseLog {
        DatabaseLog {
            storage,
            last_stale_read: Mutex::default(),
            last_current: Mutex::new(Instant::now()),
        }
    }

    fn is_followed(&self) -> bool {
        let last = *self.last_stale_read.lock();
        last.is_some_and(|last| last.elapsed() < FOLLOWED_FOR)
    }

    fn note_stale_read(&self) {
        *self.last_stale_read.lock() = Some(Instant::now());
    }
}

impl OpenDatabase {
    /// True if its state is new enough for a read without asking the store. The state of the server that writes it is the
    /// newest, unless another process has taken the log over.
    pub(super) fn is_fresh(&self, freshness: Freshness) -> bool {
        let Some(log) = &self.log else {
            return true;
        };
        let is_fresh = freshness == Freshness::Stale
            && !self.is_over()
            && (!self.documents.is_following() || log.is_followed());
        if is_fresh {
            log.note_stale_read();
        }
        is_fresh
    }

    fn is_awaited(&self) -> bool {
        self.commits.receiver_count() > 0
    }

    /// Ends its feeds and builds: the database is opened again when it is asked for.
    fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
        self.indexes.end();
        self.filter_indexes.end();
        // Wakes those that wait for a commit.
        self.commits.send_modify(|_| {});
    }
}

impl Databases {
    /// True if this server should write a database.
    pub(crate) fn writes(&self, name: &str) -> bool {
        self.store.writes(name)
    }

    /// View of the other servers of a shared store; `None` without one.
    pub(crate) fn cluster(&self) -> Option<&Arc<ClusterView>> {
        self.store.cluster()
    }

    /// Figures of this server among those of its store; `None` without a shared store.
    pub(crate) fn cluster_figures(&self) -> Option<ClusterFigures> {
        let view = self.store.cluster()?;
        let followed = self.followed();
        let lags = followed.iter().filter_map(|it| it.log.as_ref());
        let lag = lags.map(|log| log.last_current.lock().elapsed()).max();
        Some(ClusterFigures {
            nodes: view.watch().borrow().live().len(),
            written_databases: self.written_here().len(),
            lag: lag.unwrap_or_default(),
            counts: view.counts(),
        })
    }

    /// Open databases that this server writes.
    pub(crate) fn written_here(&self) -> Vec<Arc<OpenDatabase>> {
        let open = self.open.values().into_iter();
        open.filter(|it| !it.documents.is_following()).collect()
    }

    /// The logs of a shared store that have databases; `None` without one.
    pub(crate) fn logs(&self) -> Option<&Arc<SharedLogs>> {
        self.store.logs()
    }

    /// Removes the local copy of a database that nothing uses. Returns true if it is gone.
    pub(crate) fn drop_copy(&self, name: &str) -> bool {
        self.open.close_idle(name);
        self.logs().is_some_and(|logs| logs.drop_copy(name))
    }

    pub(super) fn count_read(&self, was_checked: bool) {
        if let Some(view) = self.store.cluster() {
            view.count_read(was_checked);
        }
    }

    /// Shows the newest commit of a database that is in a log, unless the read may see an older one.
    pub(super) fn bring_up_to_date(
        &self,
        database: &Arc<OpenDatabase>,
        freshness: Freshness,
    ) -> Result<(), Failure> {
        let Some(log) = database.log.as_ref() else {
            return Ok(());
        };
        let is_fresh = database.is_fresh(freshness);
        self.count_read(!is_fresh);
        if is_fresh {
            return Ok(());
        }
        let asked_at = Instant::now();
        if let Err(error) = log.storage.ensure_current() {
            if error.must_reopen() {
                self.retire(database, &error);
            }
            return Err(error.into());
        }
        database.documents.follow()?;
        *log.last_current.lock() = asked_at;
        if freshness == Freshness::Stale {
            log.note_stale_read();
        }
        Ok(())
    }

    /// Makes this server the writer of a database that it has followed, or a follower of one that it has written, if another
    /// server should write it from now on.
    pub(super) fn change_writer(&self, database: &Arc<OpenDatabase>) -> Result<(), Failure> {
        match (
            database.documents.is_following(),
            self.store.writes(&database.name),
        ) {
            (true, true) => self.begin_writing(database),
            (false, false) => {
                self.end_writing(database);
                Ok(())
            }
            (true, false) | (false, true) => Ok(()),
        }
    }

    fn begin_writing(&self, database: &OpenDatabase) -> Result<(), Failure> {
        let (name, documents) = (&*database.name, &database.documents);
        self.open.exclusively(name, || {
            // This takes the log over. A file that is gone is seen by the next look at the log.
            if documents.is_following() && self.store.find(name)?.is_some() {
                documents.begin_writing()?;
                self.log_recovery(name, documents);
                self.tell_finding(name, documents)?;
                database.to_compact.mark();
                database.to_index.mark();
            }
            Ok(())
        })
    }

    /// Commits what is under way and lets another server write; the database goes on with its feeds and indexes. While a
    /// compaction is under way this server stays the writer, until the other one takes the log over.
    fn end_writing(&self, database: &Arc<OpenDatabase>) {
        let Some(log) = &database.log else {
            return;
        };
        let ended = self.open.exclusively(&database.name, || {
            (database.documents).end_writing(|| log.storage.release().map_err(Failure::from))
        });
        match ended {
            Ok(true) => {
                database.is_handed_over.store(true, Ordering::Release);
                database.to_store.mark();
            }
            Ok(false) => {}
            Err(failure) => self.retire(database, &failure),
        }
    }

    /// Databases that this server has written, and another one should write from now on.
    pub(crate) fn misplaced(&self) -> Vec<Arc<OpenDatabase>> {
        let is_misplaced = |database: &Arc<OpenDatabase>| {
            !database.documents.is_following() && !self.store.writes(&database.name)
        };
        let open = self.open.values().into_iter();
        open.filter(is_misplaced).collect()
    }

    /// Lets another server write a database that is [`Databases::misplaced`].
    pub(crate) fn hand_over(&self, database: &Arc<OpenDatabase>) {
        if !self.store.writes(&database.name) {
            self.end_writing(database);
        }
    }

    /// Gives up a database whose log must be opened again, as another process has it or a call failed.
    fn retire(&self, database: &Arc<OpenDatabase>, error: &dyn Display) {
        self.forget_if_same(database, || {
            let name = &*database.name;
            self.log
                .scope(|| tracing::warn!(database = name, "{name} is closed: {error}"));
            self.store.retire(name);
            database.retire();
        });
    }

    /// True if the server that writes the database has removed it; the next one of this name is opened anew.
    pub(super) fn forget_if_removed(&self, database: &Arc<OpenDatabase>) -> bool {
        let documents = &database.documents;
        let is_removed = documents.is_following() && documents.is_deleted();
        if is_removed {
            self.forget_if_same(database, || {
                database.indexes.end();
                database.filter_indexes.end();
            });
        }
        is_removed
    }

    fn forget_if_same(&self, database: &Arc<OpenDatabase>, end: impl FnOnce()) {
        let name = &*database.name;
        self.open.exclusively(name, || {
            let open = self.open.peek(name);
            // Another request may have been here before.
            if open.is_some_and(|open| Arc::ptr_eq(&open, database)) {
                self.open.forget(name);
                end();
                // A build that has not ended yet must not write into the file of the next one.
                let _ = self.remove_indexes(name);
            }
        });
    }

    /// Databases whose logs another process writes, and which feeds or reads of old states wait for.
    pub(crate) fn followed(&self) -> Vec<Arc<OpenDatabase>> {
        let is_due = |database: &Arc<OpenDatabase>| {
            let log = database.log.as_ref();
            let is_read = log.is_some_and(DatabaseLog::is_followed);
            database.documents.is_following() && (is_read || database.is_awaited())
        };
        self.open.values().into_iter().filter(is_due).collect()
    }

    /// Shows the newest commit of a database that another process writes. A store that does not answer is asked again later.
    pub(crate) fn follow(&self, database: &Arc<OpenDatabase>) {
        let _ = self.bring_up_to_date(database, Freshness::Current);
        self.forget_if_removed(database);
    }

    /// Gives up databases that another process has taken over while only feeds wait for them.
    pub(crate) fn retire_lost(&self) {
        let is_due = |database: &&Arc<OpenDatabase>| {
            database.is_awaited() && !database.documents.is_following()
        };
        for database in self.open.values().iter().filter(is_due) {
            // A store that does not answer is asked again.
            let _ = self.bring_up_to_date(database, Freshness::Current);
        }
    }
}

#[cfg(test)]
mod tests;
