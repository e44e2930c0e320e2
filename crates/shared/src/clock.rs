//! Time as the protocol sees it; simulations have their own.

use std::fmt::Debug;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Clocks of one process.
pub trait Clock: Send + Sync + Debug {
    /// Time since some moment; never goes back, and may stand still while the machine sleeps.
    fn monotonic(&self) -> Duration;

    /// Time since 1970; may jump in both directions.
    fn wall(&self) -> Duration;

    /// Waits.
    fn sleep(&self, duration: Duration);
}

/// The clocks of the system.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock(Instant::now())
    }
}

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall(&self) -> Duration {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.unwrap_or_default()
    }

    fn sleep(&self, duration: Duration) {
        thread::sleep(duration);
    }
}

/// A clock that goes on only while its process sleeps.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct ManualClock(parking_lot::Mutex<Duration>);

#[cfg(test)]
impl Clock for ManualClock {
    fn monotonic(&self) -> Duration {
        *self.0.lock()
    }

    fn wall(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, duration: Duration) {
        *self.0.lock() += duration;
    }
}

/// A moment on both clocks, from which elapsed time is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    monotonic: Duration,
    wall: Duration,
}

impl Moment {
    pub(crate) fn now(clock: &dyn Clock) -> Moment {
        Moment {
            monotonic: clock.monotonic(),
            wall: clock.wall(),
        }
    }

    /// The larger of what both clocks say. The wall clock goes on while a machine sleeps; a jump of it can only make the
    /// answer too large.
    pub(crate) fn elapsed(self, clock: &dyn Clock) -> Duration {
        let monotonic = clock.monotonic().saturating_sub(self.monotonic);
        monotonic.max(clock.wall().saturating_sub(self.wall))
    }
}
