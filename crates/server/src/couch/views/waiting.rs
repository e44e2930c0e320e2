//! Clients that wait for an index, and the worker that builds it for them.
//!
//! One worker builds an index, however many clients wait for it. A client whose time is over gets its
//! answer, and the build goes on, so that a later request finds it done.

use std::sync::Arc;

use tokio::time::timeout;
use varve_base::Interrupt;
use varve_docdb::Snapshot;
use varve_views::{IndexSnapshot, ViewIndex};

use crate::couch::views::indexes::Refresh;
use crate::http::{FailureKind, blocking};
use crate::runtime::scheduler::{Job, JobKind, Submission};
use crate::runtime::single_flight::{SingleFlight, Target};
use crate::{Answer, Failure};

/// Builds of the indexes of one database that clients wait for or have asked for.
#[derive(Debug, Default)]
pub struct IndexWaits(SingleFlight<OpenIndex, Snapshot, Result<IndexSnapshot, Failure>>);

/// An open index. Two that were opened one after the other are never equal, even of the same file.
#[derive(Clone, Debug)]
struct OpenIndex(Arc<ViewIndex>);

impl PartialEq for OpenIndex {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Target for Snapshot {
    type Position = (u64, u64);

    fn position(&self) -> (u64, u64) {
        (self.update_seq(), self.purge_seq())
    }
}

impl IndexWaits {
    /// Number of clients that wait for an index.
    pub fn clients(&self, index: &Arc<ViewIndex>) -> usize {
        self.0.waiters(&OpenIndex(Arc::clone(index)))
    }
}

type MakeAnswer<T> = Box<dyn FnOnce(IndexSnapshot) -> Result<T, Failure> + Send>;

/// An answer, or another outcome, that is made of an index once that is up to date.
pub struct IndexWait<T = Answer> {
    refresh: Refresh,
    index: Arc<ViewIndex>,
    snapshot: Snapshot,
    make_answer: MakeAnswer<T>,
}

/// A value made from an index: available, or after a wait for its build.
pub enum Ready<T> {
    /// The index was up to date, or was not waited for.
    Now(T),
    /// The index has to be built first.
    Wait(Box<IndexWait<T>>),
}

impl<T: Send + 'static> IndexWait<T> {
    /// `make_answer` gets the index as of the snapshot, on a thread that may wait for the disk.
    pub fn new(
        refresh: Refresh,
        index: Arc<ViewIndex>,
        snapshot: Snapshot,
        make_answer: impl FnOnce(IndexSnapshot) -> Result<T, Failure> + Send + 'static,
    ) -> IndexWait<T> {
        IndexWait {
            refresh,
            index,
            snapshot,
            make_answer: Box::new(make_answer),
        }
    }

    /// Waits for the index, which holds no thread.
    ///
    /// # Errors
    /// Those of [`Refresh::for_client`] and of making the answer.
    pub async fn outcome(self) -> Result<T, Failure> {
        let built = self.refresh.for_client(&self.index, &self.snapshot).await;
        let built = built.map_err(|failure| self.told(failure))?;
        // Clients with other rights wait for the same build.
        let view = built.as_seen_by(self.snapshot.viewer());
        let reads = &self.refresh.app.server().executor.reads;
        let make_answer = self.make_answer;
        blocking(reads, move || make_answer(view)).await
    }
}

impl<T> IndexWait<T> {
    /// The failure as the client gets it: without the document that it is about, which the client may not see.
    fn told(&self, failure: Failure) -> Failure {
        let may_name = [
            FailureKind::Internal,
            FailureKind::FunctionFailed,
            FailureKind::IndexDamaged,
        ];
        if !self.snapshot.is_restricted() || !may_name.contains(&failure.kind) {
            return failure;
        }
        self.refresh.report(&failure);
        Failure {
            reason: "the index cannot be brought up to date; the log of the server says why"
                .to_owned(),
            ..failure
        }
    }
}

fn out_of_time() -> Failure {
    let words = "The request could not be processed in a reasonable amount of time.";
    Failure::new(FailureKind::Timeout, "timeout", words)
}

/// Builds an index until no target is left. If it ends before that, its waiters fail.
struct IndexBuilder {
    refresh: Refresh,
    index: OpenIndex,
    is_done: bool,
}

impl IndexBuilder {
    fn run(mut self) {
        let waits = &self.refresh.database.indexes.waits.0;
        while let Some(snapshot) = waits.next(&self.index) {
            let outcome = self
                .refresh
                .run(&self.index.0, &snapshot, Interrupt::default());
            if matches!(&outcome, Err(failure) if failure.kind == FailureKind::IndexAbandoned) {
                // No design document needs the index: a build for a later target would have no end either.
                waits.abandon(&self.index, outcome);
                break;
            }
            if let Some(Err(failure)) = waits.finish(&self.index, outcome) {
                self.refresh.report(&failure);
            }
        }
        self.is_done = true;
    }
}

impl Drop for IndexBuilder {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let failure = match std::thread::panicking() {
            true => Failure::internal("the thread that builds this index failed"),
            false => self.refresh.interrupted(),
        };
        let waits = &self.refresh.database.indexes.waits.0;
        waits.abandon(&self.index, Err(failure));
    }
}

impl Refresh {
    /// The index as of the snapshot, for a client that waits no longer than `[fabric] request_timeout`.
    ///
    /// # Errors
    /// 500 `timeout`; those of [`Refresh::run`].
    pub async fn for_client(
        &self,
        index: &Arc<ViewIndex>,
        snapshot: &Snapshot,
    ) -> Result<IndexSnapshot, Failure> {
        let waits = &self.database.indexes.waits.0;
        let key = OpenIndex(Arc::clone(index));
        let Some(waiter) = waits.join(&key, snapshot.clone(), || self.start_builder(index)) else {
            // Without a thread for builds, the client's request does the work.
            let (refresh, index, snapshot) = (self.clone(), Arc::clone(index), snapshot.clone());
            let build = move || refresh.run(&index, &snapshot, Interrupt::default());
            return blocking(&self.app.server().executor.reads, build).await;
        };
        let outcome = match self.app.settings().request_timeout {
            Some(limit) => timeout(limit, waiter.outcome()).await,
            None => Ok(waiter.outcome().await),
        };
        let outcome = outcome.map_err(|_elapsed| out_of_time())?;
        outcome.unwrap_or_else(|| Err(self.interrupted()))
    }

    /// Has the index built without a client that waits: a failure goes to the log.
    pub fn in_background(&self, index: &Arc<ViewIndex>, snapshot: &Snapshot) {
        if index.get_if_current(snapshot).is_none() {
            let waits = &self.database.indexes.waits.0;
            let key = OpenIndex(Arc::clone(index));
            waits.request(&key, snapshot.clone(), || self.start_builder(index));
        }
    }

    /// Starts a worker for the index; returns whether there is one.
    fn start_builder(&self, index: &Arc<ViewIndex>) -> bool {
        let builder = IndexBuilder {
            refresh: self.clone(),
            index: OpenIndex(Arc::clone(index)),
            is_done: false,
        };
        // Unlike its signature, the address of an open index is never that of another one.
        let key = format!("{:p}", Arc::as_ptr(index));
        let job = Job::new(JobKind::IndexBuild, key, move |_| builder.run());
        self.app.server().scheduler.submit(job) == Submission::Queued
    }
}
