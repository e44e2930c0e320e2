//! A future between its polls.

use crate::runtime::executor::pool::{PoolInner, PoolJob};
use parking_lot::Mutex;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Nothing is to be done until the task is woken.
const IDLE: u8 = 0;
/// The task is in the queue of its pool.
const QUEUED: u8 = 1;
/// A thread polls the task.
const POLLED: u8 = 2;
/// A thread polls the task, which was woken meanwhile and has to be polled once more.
const WOKEN: u8 = 3;
/// The future is dropped.
const DONE: u8 = 4;

type Spawned = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future that was spawned on a pool. It is owned by its wakers and by the queue of the pool: a future that
/// nothing can wake any more is dropped.
pub(super) struct Task {
    pool: Arc<PoolInner>,
    state: AtomicU8,
    /// Locked by the thread that polls, which the state allows only one at a time.
    future: Mutex<Option<Spawned>>,
}

impl Task {
    /// A task that its maker has to queue.
    pub(super) fn new(pool: Arc<PoolInner>, future: Spawned) -> Arc<Task> {
        Arc::new(Task {
            pool,
            state: AtomicU8::new(QUEUED),
            future: Mutex::new(Some(future)),
        })
    }

    /// Polls the future once. One that was woken meanwhile goes to the end of the queue.
    pub(super) fn poll(self: Arc<Task>) {
        self.state.store(POLLED, Ordering::Release);
        let waker = Waker::from(Arc::clone(&self));
        if self
            .poll_future(&mut Context::from_waker(&waker))
            .is_ready()
        {
            self.forget();
            return;
        }
        let idle = self
            .state
            .compare_exchange(POLLED, IDLE, Ordering::AcqRel, Ordering::Acquire);
        if idle.is_err() {
            self.state.store(QUEUED, Ordering::Release);
            let pool = Arc::clone(&self.pool);
            pool.push(PoolJob::Poll(self));
        }
    }

    fn poll_future(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut future = self.future.lock();
        let Some(future) = future.as_mut() else {
            return Poll::Ready(());
        };
        let polled = panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        polled.unwrap_or(Poll::Ready(()))
    }

    /// Drops the future, which will not be polled any more.
    pub(super) fn forget(&self) {
        self.state.store(DONE, Ordering::Release);
        // The future is dropped without the lock: that may wake this very task.
        let future = self.future.lock().take();
        drop(future);
    }
}

impl Wake for Task {
    fn wake(self: Arc<Task>) {
        let next = |state| match state {
            IDLE => Some(QUEUED),
            POLLED => Some(WOKEN),
            _ => None,
        };
        let woken = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if woken == Ok(IDLE) {
            let pool = Arc::clone(&self.pool);
            pool.push(PoolJob::Poll(self));
        }
    }
}
