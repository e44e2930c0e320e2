//! Group commit.
//!
//! The first requester leads: it commits everything that waits, then hands over. All others sleep
//! until their own result is there, or until somebody has to lead. No thread exists for writing
//! alone, and an idle database has none.

use crate::DocdbError;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs that wait for the next commit.
#[derive(Debug)]
pub(crate) struct Group<J, R> {
    queue: Mutex<Queue<J, R>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Queue<J, R> {
    waiting: Vec<(J, Ticket<R>)>,
    has_leader: bool,
}

/// Where a job's result will be.
type Ticket<R> = Arc<Mutex<Option<Result<R, DocdbError>>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<J, R> Group<J, R> {
    pub(crate) fn new() -> Self {
        Group {
            queue: Mutex::new(Queue {
                waiting: Vec::new(),
                has_leader: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Returns when the job is durable, or why it is not. `commit` gets all jobs of one commit and
    /// gives their results in order; if it panics, they are abandoned.
    pub(crate) fn submit(
        &self,
        job: J,
        abandoned: DocdbError,
        commit: impl FnOnce(&[J]) -> Result<Vec<R>, DocdbError>,
    ) -> Result<R, DocdbError> {
        let ticket = Ticket::default();
        let mut queue = lock(&self.queue);
        queue.waiting.push((job, ticket.clone()));
        loop {
            if let Some(result) = lock(&ticket).take() {
                return result;
            }
            if !queue.has_leader {
                break;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queue.has_leader = true;
        let (jobs, tickets) = std::mem::take(&mut queue.waiting).into_iter().unzip();
        drop(queue);
        self.lead(jobs, tickets, &abandoned, commit);
        let result = lock(&ticket).take();
        result.unwrap_or(Err(abandoned))
    }

    fn lead(
        &self,
        jobs: Vec<J>,
        tickets: Vec<Ticket<R>>,
        abandoned: &DocdbError,
        commit: impl FnOnce(&[J]) -> Result<Vec<R>, DocdbError>,
    ) {
        let reign = Reign {
            group: self,
            tickets,
            abandoned,
        };
        match commit(&jobs) {
            Ok(results) => {
                for (ticket, result) in reign.tickets.iter().zip(results) {
                    *lock(ticket) = Some(Ok(result));
                }
            }
            Err(error) => {
                for ticket in &reign.tickets {
                    *lock(ticket) = Some(Err(error.clone()));
                }
            }
        }
        drop(reign);
    }
}

/// Leadership of one commit; its end wakes everybody, also when the commit panics.
struct Reign<'g, J, R> {
    group: &'g Group<J, R>,
    tickets: Vec<Ticket<R>>,
    abandoned: &'g DocdbError,
}

impl<J, R> Drop for Reign<'_, J, R> {
    fn drop(&mut self) {
        for ticket in &self.tickets {
            // An answer that was taken already leaves its ticket to nobody.
            lock(ticket).get_or_insert_with(|| Err(self.abandoned.clone()));
        }
        lock(&self.group.queue).has_leader = false;
        self.group.changed.notify_all();
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
