//! The threads of a server: one bounded pool per kind of work.
//!
//! ```text
//! connections (tokio)     reads      commits     pushes
//!  sockets, timers,       answers    requests    hg push
//!  cached reads           and their  that
//!                         bodies     write
//! ```
//!
//! Work in a pool may wait for the disk and for other work that holds a thread already; it never waits for a
//! client. Work that would wait for work that is still queued in the same pool could wait for ever: so a
//! result of another pool is awaited as a future, outside of all pools.
//!
//! Background work has threads of its own, see [`scheduler`](super::scheduler).
//!
//! All pools of a server together have at most [`Executor::MAX_THREADS`] threads.

mod pool;
mod task;

pub(crate) use pool::{Pool, STACK};

use pool::{Abandoned, PoolSettings};
use std::io;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// The pools of one server.
#[derive(Clone, Debug)]
pub(crate) struct Executor {
    /// Requests that only read, and the bodies of answers.
    pub(crate) reads: Pool,
    /// Requests that write to a database. Most of them wait for a commit that one of them makes.
    pub(crate) commits: Pool,
    /// Pushes to repositories, which may wait for a lock that another process holds.
    pub(crate) pushes: Pool,
}

impl Executor {
    /// The most threads of all pools together, on a machine with any number of cores.
    pub(crate) const MAX_THREADS: usize = 36;

    /// Starts one thread in each pool; the others follow when there is work for them.
    ///
    /// # Errors
    /// That of the system, if it gives no thread.
    pub(crate) fn new() -> io::Result<Executor> {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let pool = |name, max_threads, abandoned| {
            Pool::new(PoolSettings {
                name,
                max_threads,
                abandoned,
            })
        };
        Ok(Executor {
            reads: pool("reads", (2 * cores).clamp(8, 16), Abandoned::Skip)?,
            commits: pool("commits", 16, Abandoned::Run)?,
            pushes: pool("pushes", 4, Abandoned::Run)?,
        })
    }

    /// Takes no more work, forgets what is queued, and waits until all threads have ended, but not longer than
    /// `limit`.
    pub(crate) fn shut_down(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        for pool in self.pools() {
            pool.close();
        }
        for pool in self.pools() {
            pool.wait_until_ended(deadline);
        }
    }

    fn pools(&self) -> [&Pool; 3] {
        [&self.reads, &self.commits, &self.pushes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pools_together_keep_to_their_bound() {
        let executor = Executor::new().unwrap();
        let all: usize = executor.pools().iter().map(|pool| pool.max_threads()).sum();
        assert!(all <= Executor::MAX_THREADS, "{all}");
        executor.shut_down(Duration::from_secs(60));
        assert!(executor.pools().iter().all(|pool| pool.threads() == 0));
    }
}
