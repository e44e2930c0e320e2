//! The threads of a server: one bounded pool per kind of work.
//!
//! ```text
//! connections (tokio)   reads       commits    pushes    bundles
//!  sockets, timers,     answers     requests   hg push   changesets
//!  cached reads         and their   that                 of clones
//!                       bodies      write                and pulls
//! ```
//!
//! A job of a pool may wait for the disk and for other work that holds a thread already; it never waits for a
//! client. One that would wait for work that is still queued in the same pool could wait for ever: so a
//! result of another pool is awaited as a future, outside of all pools.
//!
//! Background work has threads of its own, see [`scheduler`](super::scheduler).
//!
//! All pools of a server, and its connections, together have at most [`Executor::MAX_THREADS`] threads.

mod pool;
mod task;

pub(crate) use pool::{NotDone, Pool, STACK};

use pool::{Abandoned, PoolSettings};
use std::io;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// More threads for connections gain nothing: they wait for nothing.
const MAX_CONNECTION_THREADS: usize = 12;

/// The pools of one server.
#[derive(Clone, Debug)]
pub(crate) struct Executor {
    /// Requests that only read, and the bodies of answers.
    pub(crate) reads: Pool,
    /// Requests that write to a database. Most of them wait for a commit that one of them makes.
    pub(crate) commits: Pool,
    /// Requests that write whose functions take long; others do not wait for them.
    pub(crate) functions: Pool,
    /// Pushes to repositories, which may wait for a lock that another process holds.
    pub(crate) pushes: Pool,
    /// Bundles of repositories, each made in one pass.
    pub(crate) bundles: Pool,
}

impl Executor {
    /// The most threads of all pools and of connections together, on a machine with any number of cores.
    pub(crate) const MAX_THREADS: usize = 48;

    /// Threads that read from and write to sockets, and answer from memory.
    pub(crate) fn connection_threads() -> usize {
        cores().min(MAX_CONNECTION_THREADS)
    }

    /// Starts one thread in each pool; the others follow when there is work for them.
    ///
    /// # Errors
    /// That of the system, if it gives no thread.
    pub(crate) fn new() -> io::Result<Executor> {
        let pool = |name, max_threads, abandoned| {
            Pool::new(PoolSettings {
                name,
                max_threads,
                abandoned,
            })
        };
        let sizes = PoolSizes::of(cores());
        Ok(Executor {
            reads: pool("reads", sizes.reads, Abandoned::Skip)?,
            commits: pool("commits", sizes.commits, Abandoned::Run)?,
            functions: pool("functions", sizes.functions, Abandoned::Skip)?,
            pushes: pool("pushes", sizes.pushes, Abandoned::Run)?,
            bundles: pool("bundles", sizes.bundles, Abandoned::Run)?,
        })
    }

    /// Calls and futures that wait for a thread of their pool.
    pub(crate) fn queued(&self) -> usize {
        let pools = [
            &self.reads,
            &self.commits,
            &self.functions,
            &self.pushes,
            &self.bundles,
        ];
        pools.into_iter().map(Pool::queued).sum()
    }

    /// Takes no more work, drops the queue, and waits until all threads have ended, but not longer than `limit`.
    pub(crate) fn shut_down(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        for pool in self.pools() {
            pool.close();
        }
        for pool in self.pools() {
            pool.wait_until_ended(deadline);
        }
    }

    fn pools(&self) -> [&Pool; 5] {
        [
            &self.reads,
            &self.commits,
            &self.functions,
            &self.pushes,
            &self.bundles,
        ]
    }
}

fn cores() -> usize {
    available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Threads of each pool.
#[derive(Clone, Copy, Debug)]
struct PoolSizes {
    reads: usize,
    commits: usize,
    functions: usize,
    pushes: usize,
    bundles: usize,
}

impl PoolSizes {
    fn of(cores: usize) -> PoolSizes {
        let sizes = PoolSizes {
            reads: (2 * cores).clamp(8, 14),
            commits: 0,
            functions: 2,
            pushes: 4,
            bundles: cores.clamp(2, 4),
        };
        let others = sizes.sum() + cores.min(MAX_CONNECTION_THREADS);
        PoolSizes {
            // Most of these only wait for a commit that they share: the more there are, the more share it.
            commits: Executor::MAX_THREADS.saturating_sub(others),
            ..sizes
        }
    }

    fn sum(&self) -> usize {
        self.reads + self.commits + self.functions + self.pushes + self.bundles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_keep_to_their_bound_on_every_machine() {
        for cores in 1..=256 {
            let sizes = PoolSizes::of(cores);
            assert!(sizes.commits >= 12, "{cores}: {sizes:?}");
            let all = sizes.sum() + cores.min(MAX_CONNECTION_THREADS);
            assert!(all <= Executor::MAX_THREADS, "{cores}: {sizes:?}");
        }
    }

    #[test]
    fn a_shut_down_executor_has_no_threads() {
        let executor = Executor::new().unwrap();
        executor.shut_down(Duration::from_secs(60));
        assert!(executor.pools().iter().all(|pool| pool.threads() == 0));
    }
}
