//! One bounded pool of threads, which runs closures and futures in the order in which they become ready.

use crate::runtime::executor::task::Task;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tracing::Span;
use tracing::dispatcher::{self, Dispatch};
use tracing::instrument::{Instrument, WithSubscriber};

/// Stack of every thread: nested JSON and deep trees are read by recursion within limits that this covers.
pub(crate) const STACK: usize = 8 << 20;

/// Large buffers, of about 1 MiB, that the futures of one pool may keep between their polls.
const KEPT_BUFFERS: usize = 64;

/// A pool of threads; clones are the same pool.
#[derive(Clone)]
pub(crate) struct Pool(Arc<PoolInner>);

/// The work could not be done: it panicked, or the pool is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the work was not done to its end")]
pub(crate) struct NotDone;

#[derive(Clone, Copy, Debug)]
pub(super) struct PoolSettings {
    pub(super) name: &'static str,
    pub(super) max_threads: usize,
    pub(super) abandoned: Abandoned,
}

/// Treatment of a queued call whose result no longer has a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abandoned {
    Run,
    Skip,
}

pub(super) struct PoolInner {
    settings: PoolSettings,
    state: Mutex<PoolState>,
    /// Wakes [`Pool::wait_until_ended`]: a thread has ended.
    ended: Condvar,
    /// Large buffers that futures may still keep between their polls.
    kept_buffers: Arc<Semaphore>,
}

#[derive(Default)]
struct PoolState {
    queue: VecDeque<PoolJob>,
    threads: usize,
    /// Threads that sleep, each with its condition variable. The last to fall asleep is woken first: its caches are
    /// warm, and a few threads do the work of a calm server, so that the allocator keeps buffers for a few and not for
    /// all.
    idle: Vec<Arc<Condvar>>,
    is_closed: bool,
}

/// One thing that a thread does before it looks for the next.
pub(super) enum PoolJob {
    Call(Box<dyn FnOnce() + Send>),
    Poll(Arc<Task>),
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state.lock();
        f.debug_struct("Pool")
            .field("name", &self.0.settings.name)
            .field("threads", &state.threads)
            .field("idle", &state.idle.len())
            .field("queued", &state.queue.len())
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// A pool with its first thread, so that a later shortage of threads delays work but never stops it.
    ///
    /// # Errors
    /// That of the system, if it gives no thread.
    pub(super) fn new(settings: PoolSettings) -> io::Result<Pool> {
        let inner = Arc::new(PoolInner {
            settings,
            state: Mutex::default(),
            ended: Condvar::new(),
            kept_buffers: Arc::new(Semaphore::new(KEPT_BUFFERS)),
        });
        inner.state.lock().threads = 1;
        start_thread(&inner)?;
        Ok(Pool(inner))
    }

    /// A pool of its own for tests.
    #[cfg(test)]
    pub(crate) fn for_tests(max_threads: usize) -> Pool {
        let settings = PoolSettings {
            name: "test",
            max_threads,
            abandoned: Abandoned::Skip,
        };
        Pool::new(settings).unwrap()
    }

    /// Runs `work` on a thread of the pool, with the log and the span of its requester. The future holds no thread.
    ///
    /// # Errors
    /// [`NotDone`] if it panicked, or the pool is closed.
    pub(crate) async fn call<T, W>(&self, work: W) -> Result<T, NotDone>
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let (span, log) = (Span::current(), dispatcher::get_default(Dispatch::clone));
        let skips = self.0.settings.abandoned == Abandoned::Skip;
        self.0.push(PoolJob::Call(Box::new(move || {
            if !(skips && sender.is_closed()) {
                // A requester that has gone needs no result.
                let done = dispatcher::with_default(&log, || span.in_scope(work));
                let _ = sender.send(done);
            }
        })));
        receiver.await.map_err(|_| NotDone)
    }

    /// Runs a future on the threads of the pool, with the log and the span of its requester; between its polls it holds none. Its polls may wait for the
    /// disk. There is no tokio runtime around it: it can use tokio's channels, but neither timers nor sockets.
    ///
    /// A future that panics is dropped.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let future = future.in_current_span().with_current_subscriber();
        let task = Task::new(Arc::clone(&self.0), Box::pin(future));
        self.0.push(PoolJob::Poll(task));
    }

    /// Leave for a future to keep one large buffer between its polls, if not too many others do.
    pub(crate) fn kept_buffer(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.kept_buffers).try_acquire_owned().ok()
    }

    /// The most threads that the pool ever has.
    pub(crate) fn max_threads(&self) -> usize {
        self.0.settings.max_threads
    }

    /// Threads that the pool has now.
    pub(crate) fn threads(&self) -> usize {
        self.0.state.lock().threads
    }

    /// Threads that work now.
    pub(crate) fn busy(&self) -> usize {
        let state = self.0.state.lock();
        state.threads - state.idle.len()
    }

    /// Calls and futures that wait for a thread.
    pub(crate) fn queued(&self) -> usize {
        self.0.state.lock().queue.len()
    }

    /// Takes no more work and drops the queue; threads end with their present call.
    pub(super) fn close(&self) {
        let mut state = self.0.state.lock();
        state.is_closed = true;
        let queued = std::mem::take(&mut state.queue);
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        for thread in idle {
            thread.notify_one();
        }
        // Outside of the lock: dropping work may wake other work.
        queued.into_iter().for_each(PoolJob::forget);
    }

    pub(super) fn wait_until_ended(&self, deadline: Instant) {
        let mut state = self.0.state.lock();
        while state.threads > 0 {
            if self.0.ended.wait_until(&mut state, deadline).timed_out() {
                return;
            }
        }
    }
}

impl PoolInner {
    /// Queues work, and starts a thread for it if all are busy and there may be more of them.
    pub(super) fn push(self: &Arc<Self>, work: PoolJob) {
        let mut state = self.state.lock();
        if state.is_closed {
            drop(state);
            return work.forget();
        }
        state.queue.push_back(work);
        if let Some(thread) = state.idle.pop() {
            drop(state);
            thread.notify_one();
        } else if state.threads < self.settings.max_threads {
            state.threads += 1;
            drop(state);
            // Without another thread the work waits for one of those that are there.
            let _ = start_thread(self);
        }
    }

    /// Waits for work; `None` once the pool is closed. `wakeup` is that of the calling thread.
    fn next<'a>(
        &'a self,
        mut state: MutexGuard<'a, PoolState>,
        wakeup: &Arc<Condvar>,
    ) -> Option<PoolJob> {
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(work) = state.queue.pop_front() {
                return Some(work);
            }
            state.idle.push(Arc::clone(wakeup));
            // The waking side takes it off the list; such a wait ends in no other way.
            wakeup.wait(&mut state);
        }
    }

    fn run(&self) {
        let wakeup = Arc::new(Condvar::new());
        while let Some(work) = self.next(self.state.lock(), &wakeup) {
            // A panic ends the work and not the thread; the hook has printed it.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| work.run()));
        }
    }
}

impl PoolJob {
    fn run(self) {
        match self {
            PoolJob::Call(call) => call(),
            PoolJob::Poll(task) => task.poll(),
        }
    }

    fn forget(self) {
        if let PoolJob::Poll(task) = self {
            task.forget();
        }
    }
}

/// Starts a thread that is already counted.
fn start_thread(pool: &Arc<PoolInner>) -> io::Result<()> {
    let counted = Counted(Arc::clone(pool));
    let thread = thread::Builder::new()
        .name(pool.settings.name.to_owned())
        .stack_size(STACK);
    thread.spawn(move || counted.0.run()).map(drop)
}

/// A thread that counts among the threads of its pool until this is dropped.
struct Counted(Arc<PoolInner>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.state.lock().threads -= 1;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::sync::{mpsc, watch};

    /// Fails a test rather than letting it hang.
    const DEADLINE: Duration = Duration::from_secs(60);

    async fn within<F: Future>(work: F) -> F::Output {
        tokio::time::timeout(DEADLINE, work).await.unwrap()
    }

    /// Waits for something that other threads bring about.
    async fn eventually(is_so: impl Fn() -> bool) {
        within(async {
            while !is_so() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }

    #[tokio::test]
    async fn no_more_calls_run_at_a_time_than_there_are_threads() {
        let pool = Pool::for_tests(3);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        // All three threads are in use at one time, or the first calls never end.
        let barrier = Arc::new(Barrier::new(3));
        let calls: Vec<_> = (0..60)
            .map(|number| {
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                let (pool, barrier) = (pool.clone(), Arc::clone(&barrier));
                tokio::spawn(async move {
                    let call = move || {
                        let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        barrier.wait();
                        running.fetch_sub(1, Ordering::SeqCst);
                        number
                    };
                    pool.call(call).await
                })
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            assert_eq!(within(call).await.unwrap(), Ok(number));
        }
        assert_eq!(most.load(Ordering::SeqCst), 3);
        assert_eq!(pool.threads(), 3);
    }

    #[tokio::test]
    async fn the_thread_that_slept_last_is_woken_first() {
        let pool = Pool::for_tests(3);
        let barrier = Arc::new(Barrier::new(3));
        let calls = (0..3).map(|_| {
            let (pool, barrier) = (pool.clone(), Arc::clone(&barrier));
            tokio::spawn(async move { pool.call(move || barrier.wait().is_leader()).await })
        });
        for call in calls.collect::<Vec<_>>() {
            within(call).await.unwrap().unwrap();
        }
        let mut threads = HashSet::new();
        for _ in 0..50 {
            eventually(|| pool.busy() == 0).await;
            threads.insert(within(pool.call(|| thread::current().id())).await.unwrap());
        }
        assert_eq!((threads.len(), pool.threads()), (1, 3));
    }

    #[tokio::test]
    async fn a_panic_ends_its_work_and_no_thread() {
        let pool = Pool::for_tests(1);
        let died = pool.call(|| panic!("bug")).await;
        assert_eq!(died, Err::<(), _>(NotDone));
        let (sender, mut receiver) = mpsc::channel::<()>(1);
        pool.spawn(async move {
            let _held = sender;
            panic!("bug");
        });
        assert_eq!(within(receiver.recv()).await, None, "it was dropped");
        assert_eq!(pool.call(|| 7).await, Ok(7));
        assert_eq!(pool.threads(), 1);
    }

    #[tokio::test]
    async fn futures_that_wait_hold_no_thread() {
        let pool = Pool::for_tests(2);
        let (go, going) = watch::channel(0);
        let (done, mut ended) = mpsc::unbounded_channel();
        for number in 0..500 {
            let (mut going, done) = (going.clone(), done.clone());
            pool.spawn(async move {
                for step in 1..=3 {
                    going.wait_for(|now| *now >= step).await.unwrap();
                }
                done.send(number).unwrap();
            });
        }
        eventually(|| pool.busy() == 0 && pool.queued() == 0).await;
        assert_eq!(within(pool.call(|| 1)).await, Ok(1));
        for step in 1..=3 {
            go.send(step).unwrap();
            tokio::task::yield_now().await;
        }
        let mut all = Vec::new();
        while all.len() < 500 {
            all.push(within(ended.recv()).await.unwrap());
        }
        all.sort_unstable();
        assert_eq!(all, (0..500).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_future_that_wakes_itself_lets_others_run() {
        let pool = Pool::for_tests(1);
        let (stop, stopped) = watch::channel(false);
        pool.spawn(async move {
            while !*stopped.borrow() {
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(within(pool.call(|| 1)).await, Ok(1));
        stop.send(true).unwrap();
        eventually(|| pool.busy() == 0).await;
    }

    #[tokio::test]
    async fn what_is_abandoned_before_it_began_is_not_done() {
        let pool = Pool::for_tests(1);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let first = tokio::spawn({
            let pool = pool.clone();
            async move { pool.call(move || released.recv().is_ok()).await }
        });
        eventually(|| pool.busy() == 1).await;
        let began = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&began);
        let second = tokio::spawn({
            let pool = pool.clone();
            async move {
                pool.call(move || counting.fetch_add(1, Ordering::SeqCst))
                    .await
            }
        });
        eventually(|| pool.queued() == 1).await;
        second.abort();
        assert!(within(second).await.unwrap_err().is_cancelled());
        release.send(()).unwrap();
        assert_eq!(within(first).await.unwrap(), Ok(true));
        assert_eq!(within(pool.call(|| 1)).await, Ok(1));
        assert_eq!(began.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_closed_pool_drops_what_is_queued_and_what_is_woken() {
        let pool = Pool::for_tests(1);
        let (wake, mut woken) = watch::channel(0);
        let (held, mut dropped) = mpsc::channel::<()>(1);
        pool.spawn(async move {
            let _held = held;
            let _ = woken.wait_for(|now| *now == 2).await;
        });
        eventually(|| pool.busy() == 0 && pool.queued() == 0).await;
        pool.close();
        pool.wait_until_ended(Instant::now() + DEADLINE);
        assert_eq!(pool.threads(), 0);
        assert_eq!(pool.call(|| 1).await, Err(NotDone));
        wake.send(1).unwrap();
        assert_eq!(within(dropped.recv()).await, None);
    }
}
