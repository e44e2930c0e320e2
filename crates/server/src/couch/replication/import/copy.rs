//! Copying one database: pages of changes, cut into batches, and a checkpoint behind each page.

use super::super::database::{ChangeRow, ChangesPage};
use super::super::peer::Peer;
use super::remote::{RemoteInfo, RemoteServer, changes};
use super::store::{Checkpoint, Store, set_checkpoint};
use super::{EventSender, beside, blocking, broken_off, store};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use varve_base::Interrupt;
use varve_docdb::Database;
use varve_json::Value;
use varve_replicate::ReplicateError;
use varve_replicate::replicator::Selection;

/// Changes of a page.
pub(super) const PAGE: usize = 1000;

/// One database of the server and that of the directory.
#[derive(Debug)]
pub(super) struct DatabaseCopy {
    pub(super) name: String,
    pub(super) peer: Peer,
    pub(super) database: Database,
    pub(super) checkpoint: Checkpoint,
    /// As the server described it when the copy began.
    pub(super) info: RemoteInfo,
    pub(super) events: EventSender,
    /// Whether the server knows `_bulk_get`, as far as is known.
    pub(super) has_bulk_get: AtomicBool,
    pub(super) retries: u32,
    workers: usize,
    batch_size: usize,
    timeout: Duration,
    left_out: AtomicU64,
}

impl DatabaseCopy {
    /// Asks the server for the database, and opens that of the directory.
    ///
    /// # Errors
    /// [`ReplicateError::NoSuchDatabase`], [`ReplicateError::Foreign`]; errors of the server and of the storage.
    pub(super) async fn begin(
        name: &str,
        remote: &Arc<RemoteServer>,
        (store, retries, events): (&Store, u32, &EventSender),
    ) -> Result<DatabaseCopy, ReplicateError> {
        let peer = remote.database(name)?;
        let info = RemoteInfo::of(&info_of(&peer, name).await?);
        let (database, checkpoint) = {
            let (store, name, info) = (store.clone(), name.to_owned(), info.clone());
            let source = remote.url().to_owned();
            blocking(move || store.open(&name, &source, &info)).await?
        };
        let settings = &remote.settings;
        Ok(DatabaseCopy {
            name: name.to_owned(),
            peer,
            database,
            checkpoint,
            info,
            events: events.clone(),
            has_bulk_get: AtomicBool::new(settings.use_bulk_get),
            retries,
            workers: settings.workers as usize,
            batch_size: settings.batch_size as usize,
            timeout: settings.timeout,
            left_out: AtomicU64::new(0),
        })
    }

    pub(super) fn count_left_out(&self) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Parts that were left out so far.
    pub(super) fn parts_left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// About how many changes are to be copied.
    pub(super) async fn remaining(&self) -> Result<u64, ReplicateError> {
        if self.checkpoint.since == Value::from(0_u64) {
            return Ok(self.info.documents());
        }
        let page = self
            .page(&self.checkpoint.since, 1, &Selection::All)
            .await?;
        Ok(page.pending.unwrap_or(0) + page.rows.len() as u64)
    }

    /// A page of changes with all leaves.
    pub(super) async fn page(
        &self,
        since: &Value,
        limit: usize,
        selection: &Selection,
    ) -> Result<ChangesPage, ReplicateError> {
        let query = changes(since, limit, (selection, self.timeout));
        let page = self.peer.changes(&query).await?;
        if !page.rows.is_empty() && page.last_seq == *since {
            let name = self.peer.name();
            return Err(ReplicateError::Server(format!(
                "{name} has changes, and its last_seq stands still"
            )));
        }
        Ok(page)
    }

    /// Copies everything up to the last change that there is now; returns the database with its new checkpoint.
    ///
    /// # Errors
    /// Errors of the server and of the storage. What was copied stays, and the next attempt goes on behind it.
    pub(super) async fn catch_up(self) -> Result<DatabaseCopy, ReplicateError> {
        let mut checkpoint = self.checkpoint.clone();
        let copy = Arc::new(self);
        let mut page = copy.page(&checkpoint.since, PAGE, &Selection::All).await?;
        loop {
            let ChangesPage {
                rows,
                last_seq,
                pending,
            } = page;
            // A server that has changes and does not show them has none.
            let is_last =
                rows.is_empty() || rows.len() < PAGE && pending.is_none_or(|left| left == 0);
            let next = async {
                match is_last {
                    true => Ok(None),
                    false => copy.page(&last_seq, PAGE, &Selection::All).await.map(Some),
                }
            };
            let (done, next) = tokio::join!(batches(&copy, rows.into_rows()), next);
            done?;
            if checkpoint.since != last_seq {
                checkpoint.since = last_seq.clone();
                let (database, checkpoint) = (copy.database.clone(), checkpoint.clone());
                blocking(move || set_checkpoint(&database, &checkpoint)).await?;
            }
            match next? {
                Some(next) => page = next,
                None => break,
            }
        }
        let copy = Arc::into_inner(copy);
        let copy = copy.ok_or_else(|| ReplicateError::Server("a batch has no end".to_owned()))?;
        Ok(DatabaseCopy { checkpoint, ..copy })
    }

    /// Copies what the database has besides documents, and marks it as whole; the first time, its file is compacted.
    ///
    /// # Errors
    /// As [`DatabaseCopy::catch_up`].
    pub(super) async fn finish(mut self, stop: Interrupt) -> Result<DatabaseCopy, ReplicateError> {
        beside::copy(&self).await?;
        let was_whole = std::mem::replace(&mut self.checkpoint.is_whole, true);
        let (database, checkpoint) = (self.database.clone(), self.checkpoint.clone());
        if !was_whole {
            blocking(move || {
                store::compact(&database, &stop)?;
                set_checkpoint(&database, &checkpoint)
            })
            .await?;
        }
        Ok(self)
    }
}

/// Does the batches of a page, some of them side by side.
async fn batches(copy: &Arc<DatabaseCopy>, mut rows: Vec<ChangeRow>) -> Result<(), ReplicateError> {
    let share = rows.len().div_ceil(copy.workers).clamp(1, copy.batch_size);
    let mut working = JoinSet::new();
    while !rows.is_empty() || !working.is_empty() {
        while !rows.is_empty() && working.len() < copy.workers {
            let rest = rows.split_off(rows.len().min(share));
            working.spawn(Arc::clone(copy).batch(rows));
            rows = rest;
        }
        if let Some(done) = working.join_next().await {
            done.map_err(broken_off)??;
        }
    }
    Ok(())
}

/// The answer of the server about a database.
pub(super) async fn info_of(peer: &Peer, name: &str) -> Result<varve_json::Object, ReplicateError> {
    use super::super::error::ReplicationError;
    peer.info().await.map_err(|error| match error {
        ReplicationError::NoDatabase(_) => ReplicateError::NoSuchDatabase(name.to_owned()),
        other => other.into(),
    })
}
