//! Group commit.
//!
//! The first requester leads: it commits everything that waits, then hands over to one of those
//! that have come meanwhile. All others sleep until their own result is there, or until it is they
//! who lead: nobody is woken for nothing. No thread exists for writing alone, and an idle database
//! has none.

use crate::DocdbError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// How often a leader lets others run who may have more to commit.
const MOST_TURNS: usize = 16;

/// Jobs that wait for the next commit.
#[derive(Debug)]
pub(crate) struct Group<J, R> {
    queue: Mutex<Queue<J, R>>,
}

#[derive(Debug)]
struct Queue<J, R> {
    waiting: Vec<(J, Arc<Seat<R>>)>,
    /// Somebody commits, or has been told to.
    has_leader: bool,
}

/// Where one requester sleeps.
#[derive(Debug)]
struct Seat<R> {
    thread: Thread,
    news: Mutex<News<R>>,
}

/// What a requester is woken for.
#[derive(Debug)]
enum News<R> {
    None,
    /// It leads the next commit.
    Leads,
    Result(Result<R, DocdbError>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R> Seat<R> {
    fn of_this_thread() -> Arc<Seat<R>> {
        Arc::new(Seat {
            thread: thread::current(),
            news: Mutex::new(News::None),
        })
    }

    fn news(&self) -> News<R> {
        std::mem::replace(&mut lock(&self.news), News::None)
    }

    /// Sleeps until its result is there; `None` if this thread is to lead.
    fn wait(&self) -> Option<Result<R, DocdbError>> {
        loop {
            match self.news() {
                News::None => thread::park(),
                News::Leads => return None,
                News::Result(result) => return Some(result),
            }
        }
    }
}

impl<J, R> Group<J, R> {
    pub(crate) fn new() -> Self {
        Group {
            queue: Mutex::new(Queue {
                waiting: Vec::new(),
                has_leader: false,
            }),
        }
    }

    /// Returns when the job is durable, or why it is not. `commit` gets all jobs of one commit and
    /// gives their results in order; if it panics, they are abandoned. If it finds damage, which may
    /// be the matter of one job, it gets them one by one.
    pub(crate) fn submit(
        &self,
        job: J,
        abandoned: DocdbError,
        commit: impl Fn(&[J]) -> Result<Vec<R>, DocdbError>,
    ) -> Result<R, DocdbError> {
        let seat = Seat::of_this_thread();
        let mut queue = lock(&self.queue);
        queue.waiting.push((job, Arc::clone(&seat)));
        if queue.has_leader {
            drop(queue);
            if let Some(result) = seat.wait() {
                return result;
            }
            queue = lock(&self.queue);
        }
        queue.has_leader = true;
        drop(queue);
        let (jobs, seats) = self.gather().into_iter().unzip();
        self.lead(jobs, seats, &abandoned, commit);
        match seat.news() {
            News::Result(result) => result,
            News::None | News::Leads => Err(abandoned),
        }
    }

    /// All that waits, and what other threads that are ready to run add before they sleep: a commit
    /// costs nearly as much for one job as for ten. Where nobody else is at work this is no pause.
    fn gather(&self) -> Vec<(J, Arc<Seat<R>>)> {
        let mut known = lock(&self.queue).waiting.len();
        for _ in 0..MOST_TURNS {
            thread::yield_now();
            let now = lock(&self.queue).waiting.len();
            if now == known {
                break;
            }
            known = now;
        }
        std::mem::take(&mut lock(&self.queue).waiting)
    }

    fn lead(
        &self,
        jobs: Vec<J>,
        seats: Vec<Arc<Seat<R>>>,
        abandoned: &DocdbError,
        commit: impl Fn(&[J]) -> Result<Vec<R>, DocdbError>,
    ) {
        let mut reign = Reign {
            group: self,
            seats,
            results: Vec::new(),
            abandoned,
        };
        let one = |job: &J| {
            let done = commit(std::slice::from_ref(job))?;
            done.into_iter().next().ok_or_else(|| abandoned.clone())
        };
        reign.results = match commit(&jobs) {
            Ok(results) => results.into_iter().map(Ok).collect(),
            Err(error) if error.is_damage() && jobs.len() > 1 => jobs.iter().map(one).collect(),
            Err(error) => reign.seats.iter().map(|_| Err(error.clone())).collect(),
        };
    }
}

/// Leadership of one commit; its end wakes those whose jobs it had and the next leader, also when
/// the commit panics.
struct Reign<'g, J, R> {
    group: &'g Group<J, R>,
    seats: Vec<Arc<Seat<R>>>,
    /// In order; jobs without one are abandoned.
    results: Vec<Result<R, DocdbError>>,
    abandoned: &'g DocdbError,
}

impl<J, R> Drop for Reign<'_, J, R> {
    fn drop(&mut self) {
        let mut queue = lock(&self.group.queue);
        let next = queue.waiting.first().map(|(_, seat)| Arc::clone(seat));
        queue.has_leader = next.is_some();
        drop(queue);
        // The next commit does not wait for those that are done.
        if let Some(next) = next {
            *lock(&next.news) = News::Leads;
            next.thread.unpark();
        }
        let mut results = self.results.drain(..);
        for seat in &self.seats {
            let result = results
                .next()
                .unwrap_or_else(|| Err(self.abandoned.clone()));
            *lock(&seat.news) = News::Result(result);
            seat.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn abandoned() -> DocdbError {
        DocdbError::Abandoned { path: "x".into() }
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
                        let result = group.submit(job, abandoned(), |jobs: &[usize]| {
                            commits.fetch_add(1, Ordering::Relaxed);
                            std::thread::yield_now();
                            Ok(jobs.iter().map(|job| job * 2).collect())
                        });
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
            group.submit(1, abandoned(), |_| panic!("on purpose"))
        }));
        assert!(panicked.is_err());
        assert_eq!(
            group
                .submit(2, abandoned(), |jobs| Ok(jobs.to_vec()))
                .unwrap(),
            2
        );
    }
}
