//! Replication between two databases of this server: without HTTP, and without JSON where nothing looks at documents.
//!
//! ```text
//!   changes of a commit ─► leaves that the target lacks ─┬─► stored chunks, as they are ──► writer of the target
//!                                                        └─► edits that the target checks ─► validation, writer
//! ```
//! The rest (checkpoints, a new target) are requests as over HTTP, answered by the handlers of this process. Reading is
//! background work of the scheduler; a batch that waits for its turn or for the writer holds no thread.
//!
//! Databases of a shared store may move to another server while a run goes on. What this server may not do any more then fails
//! with [`ReplicationError::Moved`], and the caller sends it over HTTP: the server's own listener forwards it.

mod batch;
mod side;

pub(super) use side::LocalSide;

use super::database::{ChangesPage, ChangesQuery, PageRows, changes_request};
use super::error::ReplicationError;
use super::peer::{Peer, PeerRequest};
use crate::Failure;
use crate::couch::changes::page;
use crate::couch::target::Target;
use crate::http::FailureKind;
use crate::runtime::scheduler::JobKind;
use crate::runtime::throttle::Throttle;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;
use varve_base::Interrupt;

/// Percent of the time in which it works while many requests come.
const SHARE: u32 = 33;
/// Batches of all jobs that are in memory at the same time.
pub(super) const MOST_BATCHES: usize = 8;
/// Changes of a page at most, whatever the options say.
const LONGEST_PAGE: usize = 20_000;

/// Copies batches from one database of this server to another.
#[derive(Debug)]
pub(super) struct LocalCopy {
    source: LocalSide,
    target: LocalSide,
    throttle: Arc<Throttle>,
    /// Names the steps of this run to the scheduler, with their number.
    run: String,
    steps: AtomicU64,
    /// Permits for batches of all jobs.
    batches: Arc<Semaphore>,
}

/// A step of background work: when to end early, and when to let requests go first.
#[derive(Clone, Copy)]
struct StepControl<'p> {
    stop: &'p Interrupt,
    throttle: &'p Throttle,
}

impl StepControl<'_> {
    /// To be called between pieces of work.
    ///
    /// # Errors
    /// 503 when the server stops.
    fn pause(&self) -> Result<(), Failure> {
        self.throttle.pause();
        match self.stop.is_raised() {
            true => Err(stopped()),
            false => Ok(()),
        }
    }
}

fn stopped() -> Failure {
    Failure::overloaded("the server stops")
}

impl LocalCopy {
    pub fn new(
        (source, target): (LocalSide, LocalSide),
        run: &str,
        batches: &Arc<Semaphore>,
    ) -> LocalCopy {
        let scheduler = &source.app().server().scheduler;
        LocalCopy {
            throttle: Arc::new(scheduler.throttle(SHARE)),
            source,
            target,
            run: run.to_owned(),
            steps: AtomicU64::new(0),
            batches: Arc::clone(batches),
        }
    }

    /// The next changes of the source.
    ///
    /// # Errors
    /// [`ReplicationError::Refused`] for rights, filters and damage; [`ReplicationError::Moved`].
    pub async fn changes(
        &self,
        source: &Peer,
        query: &ChangesQuery<'_>,
    ) -> Result<ChangesPage, ReplicationError> {
        let mut since = query.since.clone();
        loop {
            let request = changes_request(&ChangesQuery {
                since: &since,
                waits: false,
                limit: query.limit.min(LONGEST_PAGE),
                ..*query
            });
            let caller = self.source.caller(source, &request).await;
            let caller = caller.map_err(|failure| self.refused(source, &request, &failure))?;
            let read = self.step(move |control| {
                let call = caller.open(&Target::Changes)?;
                // It is open, and tells of commits, for as long as this waits for one.
                let (database, commits) = (Arc::clone(&call.database), call.database.commits());
                let changes = page::read(&call, || control.pause())?;
                Ok((changes, database, commits))
            });
            let read = read.await;
            let (changes, database, mut commits) =
                read.map_err(|failure| self.refused(source, &request, &failure))?;
            let is_over = !query.waits || !changes.passed.is_empty();
            if is_over || database.is_over() || commits.changed().await.is_err() {
                return Ok(ChangesPage {
                    last_seq: changes.last_seq,
                    pending: Some(changes.pending),
                    rows: PageRows::Local(changes.snapshot, changes.passed),
                });
            }
            since = changes.last_seq;
        }
    }

    /// Does a step of the run on a thread for background work.
    async fn step<T, W>(&self, work: W) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: FnOnce(StepControl<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let number = self.steps.fetch_add(1, Ordering::Relaxed);
        let throttle = Arc::clone(&self.throttle);
        let scheduler = &self.source.app().server().scheduler;
        let key = format!("{} {number}", self.run);
        let done = scheduler.run(JobKind::Replication, key, move |stop| {
            let throttle = &throttle;
            throttle.pause();
            work(StepControl { stop, throttle })
        });
        done.await.unwrap_or_else(|| Err(stopped()))
    }

    /// A failure as it would have come over HTTP.
    fn refused(&self, peer: &Peer, request: &PeerRequest, failure: &Failure) -> ReplicationError {
        let is_stopping = self.source.app().server().is_stopping();
        match failure.kind {
            FailureKind::Overloaded if is_stopping => return ReplicationError::Stopping,
            FailureKind::NotOwner => return ReplicationError::Moved(peer.name().to_owned()),
            _ => {}
        }
        ReplicationError::Refused {
            method: request.method.to_string(),
            url: peer.url_of(request).to_string(),
            status: failure.status(),
            reason: format!("{}: {}", failure.error, failure.reason),
        }
    }
}
