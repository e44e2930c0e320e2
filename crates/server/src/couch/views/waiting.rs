//! Clients that wait for an index, and the thread that builds it for them.
//!
//! However many wait for an index, one thread builds it. Who has waited for long enough goes, and the
//! build goes on, so that it is done when somebody asks again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use varve_docdb::Snapshot;
use varve_views::{IndexSnapshot, ViewIndex};

use crate::Failure;
use crate::couch::admin::compaction::Compactor;
use crate::couch::views::indexes::Refresh;
use crate::http::FailureKind;

/// Who waits for the indexes of one database.
#[derive(Debug, Default)]
pub struct Waiting {
    lines: Mutex<Vec<Line>>,
    news: Condvar,
}

/// Those who wait for one index.
#[derive(Debug)]
struct Line {
    index: Arc<ViewIndex>,
    clients: usize,
    /// The newest moment that somebody wants and that no build was begun for.
    wanted: Option<Snapshot>,
    /// How many builds were begun, and how many of them have ended.
    begun: u64,
    ended: u64,
    /// What came of the last one.
    outcome: Option<Result<IndexSnapshot, Failure>>,
    /// Whether there is a thread that builds.
    is_served: bool,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many clients wait for an index.
    pub fn clients(&self, index: &Arc<ViewIndex>) -> usize {
        let lines = self.lock();
        let found = lines.iter().find(|line| Arc::ptr_eq(&line.index, index));
        found.map_or(0, |line| line.clients)
    }

    /// The next moment to build; without one the thread that asks is to end.
    fn next(&self, index: &Arc<ViewIndex>) -> Option<Snapshot> {
        let mut lines = self.lock();
        let line = line_of(&mut lines, index);
        let wanted = line.wanted.take();
        match wanted {
            Some(_) => line.begun += 1,
            None => {
                line.is_served = false;
                forget(&mut lines);
            }
        }
        wanted
    }

    /// Tells whoever waits what came of a build; gives back what nobody waits for.
    fn tell(
        &self,
        index: &Arc<ViewIndex>,
        outcome: Result<IndexSnapshot, Failure>,
    ) -> Option<Result<IndexSnapshot, Failure>> {
        let mut lines = self.lock();
        let line = line_of(&mut lines, index);
        line.ended = line.begun;
        if line.clients == 0 {
            return Some(outcome);
        }
        line.outcome = Some(outcome);
        self.news.notify_all();
        None
    }

    /// What comes of a build, for which nobody is kept longer than until `end`.
    fn wait(
        &self,
        index: &Arc<ViewIndex>,
        build: u64,
        end: Option<Instant>,
    ) -> Result<IndexSnapshot, Failure> {
        let mut lines = self.lock();
        loop {
            let line = line_of(&mut lines, index);
            if line.ended >= build
                && let Some(outcome) = &line.outcome
            {
                return outcome.clone();
            }
            let Some(end) = end else {
                lines = self
                    .news
                    .wait(lines)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(timeout());
            }
            let waited = self.news.wait_timeout(lines, left);
            lines = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The line of an index, begun if there is none.
fn line_of<'l>(lines: &'l mut Vec<Line>, index: &Arc<ViewIndex>) -> &'l mut Line {
    let found = lines
        .iter()
        .position(|line| Arc::ptr_eq(&line.index, index));
    let at = found.unwrap_or_else(|| {
        lines.push(Line {
            index: Arc::clone(index),
            clients: 0,
            wanted: None,
            begun: 0,
            ended: 0,
            outcome: None,
            is_served: false,
        });
        lines.len() - 1
    });
    &mut lines[at]
}

/// Forgets lines in which nobody stands.
fn forget(lines: &mut Vec<Line>) {
    lines.retain(|line| line.clients > 0 || line.is_served);
}

fn timeout() -> Failure {
    let words = "The request could not be processed in a reasonable amount of time.";
    Failure::new(FailureKind::Timeout, "timeout", words)
}

/// A client stands in line until this is dropped.
struct Client<'w>(&'w Waiting, &'w Arc<ViewIndex>);

impl<'w> Client<'w> {
    fn enter(waiting: &'w Waiting, index: &'w Arc<ViewIndex>) -> Client<'w> {
        line_of(&mut waiting.lock(), index).clients += 1;
        Client(waiting, index)
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        let mut lines = self.0.lock();
        line_of(&mut lines, self.1).clients -= 1;
        forget(&mut lines);
    }
}

/// Lets nobody wait for a thread that has failed.
struct Serving<'w>(&'w Waiting, &'w Arc<ViewIndex>);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut lines = self.0.lock();
            let line = line_of(&mut lines, self.1);
            line.is_served = false;
            line.wanted = None;
            line.begun += 1;
            line.ended = line.begun;
            let failure = Failure::internal("the thread that builds this index failed");
            line.outcome = Some(Err(failure));
            forget(&mut lines);
            self.0.news.notify_all();
        }
    }
}

impl Refresh {
    /// The index as of the snapshot, for a client that waits no longer than `[fabric] request_timeout`.
    ///
    /// # Errors
    /// 500 `timeout`; those of [`Refresh::run`].
    pub fn for_client(
        &self,
        index: &Arc<ViewIndex>,
        snapshot: &Snapshot,
    ) -> Result<IndexSnapshot, Failure> {
        if let Some(view) = index.get_if_current(snapshot) {
            return Ok(view);
        }
        let timeout = self.app.settings().request_timeout;
        let end = timeout.map(|timeout| Instant::now() + timeout);
        let waiting = &self.database.indexes.waiting;
        let _client = Client::enter(waiting, index);
        match self.want(index, snapshot) {
            Some(build) => waiting.wait(index, build, end),
            None => self.run(index, snapshot),
        }
    }

    /// The same while nobody waits: what goes wrong is told to the operator, and to whoever asks next.
    pub fn later(&self, index: &Arc<ViewIndex>, snapshot: &Snapshot) {
        if index.get_if_current(snapshot).is_none() {
            self.want(index, snapshot);
        }
    }

    /// Has a thread build the index; the number of the build that shows the snapshot. `None` if there
    /// is no thread to be had.
    fn want(&self, index: &Arc<ViewIndex>, snapshot: &Snapshot) -> Option<u64> {
        let moment = |snapshot: &Snapshot| (snapshot.update_seq(), snapshot.purge_seq());
        let mut lines = self.database.indexes.waiting.lock();
        let line = line_of(&mut lines, index);
        if !line.is_served {
            let (refresh, index) = (self.clone(), Arc::clone(index));
            line.is_served = Compactor::begin(&self.app, "index", move |_| refresh.serve(&index));
        }
        if !line.is_served {
            forget(&mut lines);
            return None;
        }
        let wanted = line.wanted.as_ref();
        if wanted.is_none_or(|wanted| moment(wanted) < moment(snapshot)) {
            line.wanted = Some(snapshot.clone());
        }
        Some(line.begun + 1)
    }

    /// Builds what is wanted until nothing is.
    fn serve(&self, index: &Arc<ViewIndex>) {
        let waiting = &self.database.indexes.waiting;
        let _serving = Serving(waiting, index);
        while let Some(snapshot) = waiting.next(index) {
            let outcome = self.run(index, &snapshot);
            if let Some(Err(failure)) = waiting.tell(index, outcome) {
                self.report(&failure);
            }
        }
    }
}
