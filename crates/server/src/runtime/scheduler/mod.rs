//! One scheduler for all background work: compactions, index builds, clone bundles.
//!
//! A job has a kind and a key. Each kind ([`JobKind`]) has a queue, a bounded number of workers and a
//! priority. No two jobs of one kind and key run at the same time: a job whose key is queued replaces the
//! queued one. Workers are threads that exist only while their kind has jobs.
//!
//! The scheduler knows nothing of databases or repositories: the rooms above hand down closures, which look
//! at their [`Interrupt`] and let requests go first by a [`Throttle`].

mod kind;
#[cfg(test)]
mod tests;

pub(crate) use kind::{JobKind, LOW_PRIORITY};

use crate::runtime::STACK;
use crate::runtime::throttle::{RequestCounter, Throttle};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use varve_base::Interrupt;

type Work = Box<dyn FnOnce(&Interrupt) + Send>;

/// One piece of background work.
pub(crate) struct Job {
    kind: JobKind,
    key: String,
    work: Work,
}

impl Job {
    /// A job that does `work`, which ends early once its flag is raised.
    pub(crate) fn new(
        kind: JobKind,
        key: impl Into<String>,
        work: impl FnOnce(&Interrupt) + Send + 'static,
    ) -> Job {
        Job {
            kind,
            key: key.into(),
            work: Box::new(work),
        }
    }
}

/// The fate of a job that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Submission {
    /// The job runs or will run.
    Queued,
    /// The job was dropped, since one with its key runs.
    Runs,
    /// The job was dropped: the scheduler stops, or the system gives no thread.
    Refused,
}

/// Runs jobs; clones are the same scheduler.
#[derive(Clone)]
pub(crate) struct Scheduler(Arc<Inner>);

struct Inner {
    state: Mutex<SchedulerState>,
    /// Number of workers of all kinds.
    workers: watch::Sender<usize>,
    requests: RequestCounter,
}

struct SchedulerState {
    queues: [Queue; JobKind::ALL.len()],
    phase: Phase,
}

/// How far the scheduler has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    /// Only jobs run that requests wait for.
    Draining,
    Stopped,
}

/// The jobs of one kind.
struct Queue {
    jobs: VecDeque<(String, Work)>,
    running: Vec<(String, Interrupt)>,
    workers: usize,
    max_workers: usize,
}

impl Queue {
    fn runs(&self, key: &str) -> bool {
        self.running.iter().any(|(running, _)| running == key)
    }

    /// Takes the first job whose key does not run.
    fn take(&mut self) -> Option<(String, Work)> {
        let index = self.jobs.iter().position(|(key, _)| !self.runs(key))?;
        self.jobs.remove(index)
    }
}

impl SchedulerState {
    fn queue(&mut self, kind: JobKind) -> &mut Queue {
        &mut self.queues[kind as usize]
    }

    fn accepts(&self, kind: JobKind) -> bool {
        match self.phase {
            Phase::Running => true,
            Phase::Draining => kind.serves_requests(),
            Phase::Stopped => false,
        }
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = *self.0.workers.borrow();
        f.debug_struct("Scheduler")
            .field("workers", &workers)
            .finish_non_exhaustive()
    }
}

impl Scheduler {
    /// A scheduler whose throttles look at the given count of requests.
    pub(crate) fn new(requests: RequestCounter) -> Scheduler {
        let queue = |kind: JobKind| Queue {
            jobs: VecDeque::new(),
            running: Vec::new(),
            workers: 0,
            max_workers: kind.default_workers(),
        };
        Scheduler(Arc::new(Inner {
            state: Mutex::new(SchedulerState {
                queues: JobKind::ALL.map(queue),
                phase: Phase::Running,
            }),
            workers: watch::Sender::new(0),
            requests,
        }))
    }

    /// Sets the most jobs of a kind that run at the same time, at least 1.
    pub(crate) fn set_workers(&self, kind: JobKind, workers: usize) {
        self.0.state.lock().queue(kind).max_workers = workers.max(1);
    }

    /// Queues a job, or replaces the queued job with its key.
    pub(crate) fn submit(&self, job: Job) -> Submission {
        let Job { kind, key, work } = job;
        let mut state = self.0.state.lock();
        if !state.accepts(kind) {
            return Submission::Refused;
        }
        let queue = state.queue(kind);
        if let Some((_, queued)) = queue.jobs.iter_mut().find(|(queued, _)| *queued == key) {
            let replaced = std::mem::replace(queued, work);
            // A job that is dropped may submit another one, so the lock must be free.
            drop(state);
            drop(replaced);
            return Submission::Queued;
        }
        if queue.runs(&key) && !kind.runs_again() {
            return Submission::Runs;
        }
        queue.jobs.push_back((key, work));
        if queue.workers >= queue.max_workers || self.start_worker(kind, queue) {
            return Submission::Queued;
        }
        if queue.workers > 0 {
            return Submission::Queued;
        }
        let refused = queue.jobs.pop_back();
        drop(state);
        drop(refused);
        Submission::Refused
    }

    /// Submits a job, and returns its result as a future that holds no thread. The result is an error if the
    /// job was dropped or panicked.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        kind: JobKind,
        key: impl Into<String>,
        work: impl FnOnce(&Interrupt) -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, result) = oneshot::channel();
        self.submit(Job::new(kind, key, move |stop| {
            // A requester that has gone needs no result.
            let _ = sender.send(work(stop));
        }));
        result
    }

    /// Runs a job and waits for its result; `None` if the job was dropped or panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        kind: JobKind,
        key: impl Into<String>,
        work: impl FnOnce(&Interrupt) -> T + Send + 'static,
    ) -> Option<T> {
        self.start(kind, key, work).await.ok()
    }

    /// Whether a job with the key is queued or runs.
    pub(crate) fn has(&self, kind: JobKind, key: &str) -> bool {
        let mut state = self.0.state.lock();
        let queue = state.queue(kind);
        queue.runs(key) || queue.jobs.iter().any(|(queued, _)| queued == key)
    }

    /// A throttle for work that gets `share` percent of the time while many requests come.
    pub(crate) fn throttle(&self, share: u32) -> Throttle {
        Throttle::new(share, &self.0.requests)
    }

    /// Interrupts all jobs that no request waits for, drops those that are queued, and takes no more of them.
    pub(crate) fn stop_background(&self) {
        self.enter(Phase::Draining);
    }

    /// Interrupts all jobs, drops those that are queued, and takes no more.
    pub(crate) fn stop(&self) {
        self.enter(Phase::Stopped);
    }

    fn enter(&self, phase: Phase) {
        let mut dropped = Vec::new();
        let mut state = self.0.state.lock();
        state.phase = state.phase.max(phase);
        for kind in JobKind::ALL {
            if state.accepts(kind) {
                continue;
            }
            let queue = state.queue(kind);
            dropped.extend(queue.jobs.drain(..));
            queue.running.iter().for_each(|(_, stop)| stop.raise());
        }
        drop(state);
        drop(dropped);
    }

    /// Waits until no worker is left, but not longer than `limit`; returns whether none is.
    pub(crate) async fn wait_until_idle(&self, limit: Duration) -> bool {
        let mut workers = self.0.workers.subscribe();
        let idle = workers.wait_for(|workers| *workers == 0);
        tokio::time::timeout(limit, idle).await.is_ok()
    }

    /// Starts a worker, which counts from now on; returns whether the system gives a thread.
    fn start_worker(&self, kind: JobKind, queue: &mut Queue) -> bool {
        let scheduler = self.clone();
        let thread = std::thread::Builder::new().name(kind.name().to_owned());
        let thread = thread.stack_size(STACK);
        let started = thread.spawn(move || scheduler.work(kind));
        if started.is_err() {
            return false;
        }
        queue.workers += 1;
        self.0.workers.send_modify(|workers| *workers += 1);
        true
    }

    /// The life of a worker: it ends when its kind has nothing to run.
    fn work(&self, kind: JobKind) {
        lower_priority(kind.niceness());
        while let Some((key, stop, work)) = self.next(kind) {
            // A panic fails its job, not the worker; the hook has printed it.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| work(&stop)));
            let mut state = self.0.state.lock();
            state
                .queue(kind)
                .running
                .retain(|(running, _)| *running != key);
        }
    }

    fn next(&self, kind: JobKind) -> Option<(String, Interrupt, Work)> {
        let mut state = self.0.state.lock();
        let queue = state.queue(kind);
        let Some((key, work)) = queue.take() else {
            queue.workers -= 1;
            self.0.workers.send_modify(|workers| *workers -= 1);
            return None;
        };
        let stop = Interrupt::default();
        queue.running.push((key.clone(), stop.clone()));
        Some((key, stop, work))
    }
}

/// Runs work on a thread of low priority and waits for it; `None` if it panicked or there is no thread. The
/// system lets no thread raise its priority again, so the thread is one of its own.
pub(crate) fn with_low_priority<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> Option<T> {
    with_niceness(name, LOW_PRIORITY, work)
}

/// The same, of a priority that is lower by so many steps of `nice`.
pub(crate) fn with_niceness<T: Send>(
    name: &str,
    niceness: i32,
    work: impl FnOnce() -> T + Send,
) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.stack_size(STACK).spawn_scoped(scope, || {
            lower_priority(niceness);
            work()
        });
        thread.ok()?.join().ok()
    })
}

fn lower_priority(niceness: i32) {
    if niceness > 0 {
        // Where the system refuses, the work is done at the usual priority.
        let _ = rustix::process::setpriority_process(None, niceness);
    }
}
