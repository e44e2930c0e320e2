//! Group commit.
//!
//! The first requester becomes the leader: it commits the whole queue, then wakes the next leader. A
//! requester that may sleep parks its thread until its own result is there or it becomes the leader;
//! no thread is woken for anything else. A requester that must not sleep leaves a callback; then a
//! writer thread leads, which lingers for a moment after the last commit and then ends, so that an
//! idle database has no thread.

use crate::DocdbError;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::Duration;

/// How often a leader yields to threads that may have more to commit.
const MAX_YIELDS: usize = 16;
/// How long a writer waits for the next job before it ends.
pub(crate) const WRITER_LINGER: Duration = Duration::from_millis(50);

/// Jobs that wait for the next commit.
#[derive(Debug)]
pub(crate) struct Group<J, R> {
    queue: Mutex<Queue<J, R>>,
}

#[derive(Debug)]
struct Queue<J, R> {
    waiting: Vec<(J, Waiter<R>)>,
    /// A thread commits, or was woken to.
    has_leader: bool,
    /// A parked writer with nothing to do.
    idle: Option<Thread>,
}

/// Called with a result; it must be short, since the next commit waits for it.
pub(crate) type Callback<R> = Box<dyn FnOnce(Result<R, DocdbError>) + Send>;

/// A requester that waits for its result.
enum Waiter<R> {
    Parked(Arc<Parked<R>>),
    Callback(Callback<R>),
}

impl<R> std::fmt::Debug for Waiter<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Waiter::Parked(_) => "Sleeps",
            Waiter::Callback(_) => "IsCalled",
        })
    }
}

/// A parked thread.
#[derive(Debug)]
struct Parked<R> {
    thread: Thread,
    take_wakeup: Mutex<Wakeup<R>>,
}

/// Why a parked thread is woken.
#[derive(Debug)]
enum Wakeup<R> {
    None,
    /// The waiter is the leader of the next commit.
    Lead,
    Result(Result<R, DocdbError>),
}

impl<R> Parked<R> {
    fn for_this_thread() -> Arc<Parked<R>> {
        Arc::new(Parked {
            thread: thread::current(),
            take_wakeup: Mutex::new(Wakeup::None),
        })
    }

    fn take_wakeup(&self) -> Wakeup<R> {
        std::mem::replace(&mut self.take_wakeup.lock(), Wakeup::None)
    }

    fn wake(&self, take_wakeup: Wakeup<R>) {
        *self.take_wakeup.lock() = take_wakeup;
        self.thread.unpark();
    }

    /// Sleeps until its result is there; `None` if this thread is to lead.
    fn wait(&self) -> Option<Result<R, DocdbError>> {
        loop {
            match self.take_wakeup() {
                Wakeup::None => thread::park(),
                Wakeup::Lead => return None,
                Wakeup::Result(result) => return Some(result),
            }
        }
    }
}

/// Gets all jobs of one commit and gives their results in order.
type Commit<'c, J, R> = dyn Fn(&[J]) -> Result<Vec<R>, DocdbError> + 'c;

/// How jobs are committed.
pub(crate) struct Committer<'c, J, R> {
    /// If it panics, its jobs are abandoned. If it finds damage, which may be the matter of one job,
    /// it gets them one by one.
    pub(crate) commit: &'c Commit<'c, J, R>,
    /// Has a thread call [`Group::commit_all`].
    pub(crate) spawn_writer: &'c dyn Fn() -> bool,
    pub(crate) abandoned: DocdbError,
}

impl<J, R> Group<J, R> {
    pub(crate) fn new() -> Self {
        Group {
            queue: Mutex::new(Queue {
                waiting: Vec::new(),
                has_leader: false,
                idle: None,
            }),
        }
    }

    /// Returns when the job is durable, or why it is not.
    pub(crate) fn submit(&self, job: J, by: &Committer<'_, J, R>) -> Result<R, DocdbError> {
        let parked = Parked::for_this_thread();
        let mut queue = self.queue.lock();
        queue
            .waiting
            .push((job, Waiter::Parked(Arc::clone(&parked))));
        if queue.has_leader {
            drop(queue);
            if let Some(result) = parked.wait() {
                return result;
            }
            queue = self.queue.lock();
        }
        queue.has_leader = true;
        drop(queue);
        self.lead(by, false);
        match parked.take_wakeup() {
            Wakeup::Result(result) => result,
            Wakeup::None | Wakeup::Lead => Err(by.abandoned.clone()),
        }
    }

    /// Returns at once; `call` is called when the job is durable, or with why it is not.
    pub(crate) fn submit_with_callback(&self, job: J, call: Callback<R>, by: &Committer<'_, J, R>) {
        let mut queue = self.queue.lock();
        queue.waiting.push((job, Waiter::Callback(call)));
        if !queue.has_leader {
            queue.has_leader = true;
            self.wake_writer(queue, by);
        }
    }

    /// Makes a writer the leader; without a thread for it the whole queue is abandoned.
    fn wake_writer(&self, mut queue: MutexGuard<'_, Queue<J, R>>, by: &Committer<'_, J, R>) {
        let idle = queue.idle.take();
        drop(queue);
        if let Some(writer) = idle {
            return writer.unpark();
        }
        if !(by.spawn_writer)() {
            let mut queue = self.queue.lock();
            queue.has_leader = false;
            let waiters = std::mem::take(&mut queue.waiting);
            drop(queue);
            for (_, waiter) in waiters {
                waiter.complete(Err(by.abandoned.clone()));
            }
        }
    }

    /// Leads as a writer until the queue is empty. A later request may unpark its thread to call
    /// this again.
    pub(crate) fn commit_all(&self, by: &Committer<'_, J, R>) {
        loop {
            self.lead(by, true);
            let mut queue = self.queue.lock();
            if queue.waiting.is_empty() {
                queue.has_leader = false;
                queue.idle = Some(thread::current());
                return;
            }
        }
    }

    /// Whether this writer was woken for more; if not, it never will be.
    pub(crate) fn is_woken_again(&self) -> bool {
        let own = thread::current().id();
        let mut queue = self.queue.lock();
        queue.idle.take_if(|idle| idle.id() == own).is_none()
    }

    /// Takes the queue, with jobs that threads ready to run add before they sleep: a commit costs nearly as much for
    /// one job as for ten. Where no other thread runs, this is no pause.
    fn gather(&self) -> Vec<(J, Waiter<R>)> {
        let mut known = self.queue.lock().waiting.len();
        for _ in 0..MAX_YIELDS {
            thread::yield_now();
            let now = self.queue.lock().waiting.len();
            if now == known {
                break;
            }
            known = now;
        }
        std::mem::take(&mut self.queue.lock().waiting)
    }

    fn lead(&self, by: &Committer<'_, J, R>, is_writer: bool) {
        let (jobs, waiters): (Vec<_>, Vec<_>) = self.gather().into_iter().unzip();
        let mut leader = LeaderGuard {
            group: self,
            waiters,
            results: Vec::new(),
            by,
            is_writer,
        };
        let one = |job: &J| {
            let done = (by.commit)(std::slice::from_ref(job))?;
            done.into_iter().next().ok_or_else(|| by.abandoned.clone())
        };
        leader.results = match (by.commit)(&jobs) {
            Ok(results) => results.into_iter().map(Ok).collect(),
            Err(error) if error.is_damage() && jobs.len() > 1 => jobs.iter().map(one).collect(),
            Err(error) => leader.waiters.iter().map(|_| Err(error.clone())).collect(),
        };
    }
}

impl<R> Waiter<R> {
    fn complete(self, result: Result<R, DocdbError>) {
        match self {
            Waiter::Parked(parked) => parked.wake(Wakeup::Result(result)),
            Waiter::Callback(call) => call(result),
        }
    }
}

/// Leadership of one commit; dropping it gives the waiters their results and wakes the next leader,
/// also when the commit panics.
struct LeaderGuard<'g, J, R> {
    group: &'g Group<J, R>,
    waiters: Vec<Waiter<R>>,
    /// In order; jobs without one are abandoned.
    results: Vec<Result<R, DocdbError>>,
    by: &'g Committer<'g, J, R>,
    /// A writer leads the next commit, too.
    is_writer: bool,
}

impl<J, R> LeaderGuard<'_, J, R> {
    /// Wakes the next leader, before the waiters of this commit get their results.
    fn hand_over(&self) {
        let mut queue = self.group.queue.lock();
        let next = queue.waiting.iter().find_map(|(_, waiter)| match waiter {
            Waiter::Parked(parked) => Some(Arc::clone(parked)),
            Waiter::Callback(_) => None,
        });
        match next {
            Some(parked) => {
                drop(queue);
                parked.wake(Wakeup::Lead);
            }
            None if queue.waiting.is_empty() => queue.has_leader = false,
            None => self.group.wake_writer(queue, self.by),
        }
    }
}

impl<J, R> Drop for LeaderGuard<'_, J, R> {
    fn drop(&mut self) {
        if !self.is_writer || thread::panicking() {
            self.hand_over();
        }
        let mut results = self.results.drain(..);
        for waiter in self.waiters.drain(..) {
            let result = results.next();
            waiter.complete(result.unwrap_or_else(|| Err(self.by.abandoned.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn by<'c, J, R>(commit: &'c Commit<'c, J, R>) -> Committer<'c, J, R> {
        Committer {
            commit,
            spawn_writer: &|| false,
            abandoned: DocdbError::Abandoned { path: "x".into() },
        }
    }

    #[test]
    fn every_job_gets_its_own_result_and_commits_are_shared() {
        let group = Group::new();
        let (commits, barrier) = (AtomicUsize::new(0), std::sync::Barrier::new(8));
        std::thread::scope(|scope| {
            for thread in 0..8usize {
                let (group, commits, barrier) = (&group, &commits, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    for round in 0..50 {
                        let job = thread * 1000 + round;
                        let commit = |jobs: &[usize]| {
                            commits.fetch_add(1, Ordering::Relaxed);
                            std::thread::yield_now();
                            Ok(jobs.iter().map(|job| job * 2).collect())
                        };
                        let result = group.submit(job, &by(&commit));
                        assert_eq!(result.unwrap(), job * 2);
                    }
                });
            }
        });
        assert!((1..=400).contains(&commits.load(Ordering::Relaxed)));
    }

    #[test]
    fn a_panic_abandons_its_jobs_and_the_next_one_leads() {
        let group: Group<u8, u8> = Group::new();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            group.submit(1, &by(&|_| panic!("on purpose")))
        }));
        assert!(panicked.is_err());
        let result = group.submit(2, &by(&|jobs| Ok(jobs.to_vec())));
        assert_eq!(result.unwrap(), 2);
    }

    /// A group that commits numbers by doubling them, and panics at 13.
    #[derive(Clone, Default)]
    struct Doubling(Arc<Shared>);

    #[derive(Default)]
    struct Shared {
        group: Group<u64, u64>,
        commits: AtomicUsize,
        writers: AtomicUsize,
    }

    impl<J, R> Default for Group<J, R> {
        fn default() -> Self {
            Group::new()
        }
    }

    impl Doubling {
        fn with<T>(&self, work: impl FnOnce(&Committer<'_, u64, u64>) -> T) -> T {
            work(&Committer {
                spawn_writer: &|| {
                    let writing = self.clone();
                    self.0.writers.fetch_add(1, Ordering::Relaxed);
                    thread::spawn(move || writing.write());
                    true
                },
                ..by(&|jobs: &[u64]| {
                    self.0.commits.fetch_add(1, Ordering::Relaxed);
                    thread::yield_now();
                    assert!(!jobs.contains(&13), "on purpose");
                    Ok(jobs.iter().map(|job| job * 2).collect())
                })
            })
        }

        fn write(&self) {
            loop {
                self.with(|by| self.0.group.commit_all(by));
                thread::park_timeout(WRITER_LINGER);
                if !self.0.group.is_woken_again() {
                    return;
                }
            }
        }

        fn later(&self, job: u64, done: &std::sync::mpsc::Sender<(u64, Option<u64>)>) {
            let done = done.clone();
            let call = Box::new(move |result: Result<u64, _>| {
                done.send((job, result.ok())).unwrap();
            });
            self.with(|by| self.0.group.submit_with_callback(job, call, by));
        }
    }

    #[test]
    fn those_who_sleep_and_those_who_are_called_share_commits() {
        let group = Doubling::default();
        let (done, results) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            for thread in 0..4 {
                let (group, done) = (&group, &done);
                scope.spawn(move || {
                    for round in 0..200 {
                        let job = 1000 * (thread + 1) + round;
                        group.later(job, done);
                        let slept = group.with(|by| group.0.group.submit(job, by));
                        assert_eq!(slept.unwrap(), job * 2);
                    }
                });
            }
        });
        drop(done);
        let mut results: Vec<_> = results.iter().collect();
        results.sort_unstable();
        let all = (1..=4).flat_map(|thread| (0..200).map(move |round| 1000 * thread + round));
        let expected: Vec<_> = all.map(|job| (job, Some(job * 2))).collect();
        assert_eq!(results, expected);
        assert!((1..=1600).contains(&group.0.commits.load(Ordering::Relaxed)));
    }

    #[test]
    fn a_writer_ends_and_another_begins_also_after_a_panic() {
        let group = Doubling::default();
        let (done, results) = std::sync::mpsc::channel();
        let take = |job| {
            group.later(job, &done);
            results.recv().unwrap()
        };
        assert_eq!(take(1), (1, Some(2)));
        assert_eq!(take(13), (13, None));
        assert_eq!(take(2), (2, Some(4)));
        let is_over = || {
            let queue = group.0.group.queue.lock();
            !queue.has_leader && queue.idle.is_none()
        };
        while !is_over() {
            thread::sleep(WRITER_LINGER / 10);
        }
        assert_eq!(take(3), (3, Some(6)));
        let writers = group.0.writers.load(Ordering::Relaxed);
        assert!(writers >= 3, "one panicked, one ended: {writers}");
    }

    #[test]
    fn without_a_thread_the_job_is_refused_and_the_next_one_is_done() {
        let group: Group<u8, u8> = Group::new();
        let (done, results) = std::sync::mpsc::channel();
        let call = Box::new(move |result: Result<u8, _>| done.send(result.is_err()).unwrap());
        group.submit_with_callback(1, call, &by(&|jobs| Ok(jobs.to_vec())));
        assert!(results.recv().unwrap());
        let result = group.submit(2, &by(&|jobs| Ok(jobs.to_vec())));
        assert_eq!(result.unwrap(), 2);
    }
}
