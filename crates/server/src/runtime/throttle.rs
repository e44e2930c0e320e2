//! How compactions and long builds of indexes leave time to others: while requests come, they work for
//! a while and then rest for a while. Requests need not fear for the processor, as
//! these have a low priority, but for its caches, the disk, and the turn that has just begun.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After so long a rest is due. A turn that has begun is not broken off, so it is as long as others
/// wait for it.
const WORK: Duration = Duration::from_micros(500);
/// No rest is longer than this, so that it can be stopped.
const LONGEST: Duration = Duration::from_millis(200);
/// Requests are counted for so long.
const WINDOW: Duration = Duration::from_millis(20);
/// Fewer requests in a second are those of somebody who watches, and not worth a rest.
const FEW: u128 = 500;

/// Which share of the time is for work.
#[derive(Debug)]
pub(crate) struct Throttle<'r> {
    /// In percent, 1 to 100.
    share: u32,
    /// Counts the requests of everybody.
    requests: &'r AtomicU64,
    turns: Mutex<Turns>,
}

#[derive(Debug)]
struct Turns {
    /// When the last rest ended.
    rested: Instant,
    /// When counting began, and how many requests there had been.
    counted: (Instant, u64),
    /// Whether many came while they were counted the last time.
    is_busy: bool,
}

impl<'r> Throttle<'r> {
    pub(crate) fn new(share: u32, requests: &'r AtomicU64) -> Self {
        let now = Instant::now();
        let turns = Turns {
            rested: now,
            counted: (now, requests.load(Ordering::Relaxed)),
            is_busy: true,
        };
        Throttle {
            share: share.clamp(1, 100),
            requests,
            turns: Mutex::new(turns),
        }
    }

    /// To be called between pieces of work; sleeps if it is time for that.
    pub(crate) fn rest(&self) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let worked = turns.rested.elapsed();
        if worked < WORK {
            return;
        }
        turns.count(self.requests.load(Ordering::Relaxed));
        if turns.is_busy {
            std::thread::sleep(due(worked, self.share));
        }
        turns.rested = Instant::now();
    }
}

impl Turns {
    fn count(&mut self, requests: u64) {
        let (since, before) = self.counted;
        let time = since.elapsed();
        if time >= WINDOW {
            self.is_busy = are_many(requests.saturating_sub(before), time);
            self.counted = (Instant::now(), requests);
        }
    }
}

fn are_many(requests: u64, time: Duration) -> bool {
    u128::from(requests) * 1_000_000 >= FEW * time.as_micros()
}

/// How long to rest after so much work.
fn due(worked: Duration, share: u32) -> Duration {
    (worked * (100 - share) / share).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_are_as_long_as_the_share_says() {
        let ms = Duration::from_millis;
        assert_eq!(due(ms(10), 50), ms(10));
        assert_eq!(due(ms(10), 80), Duration::from_micros(2500));
        assert_eq!(due(ms(10), 100), Duration::ZERO);
        assert_eq!(due(ms(10), 1), LONGEST);
    }

    #[test]
    fn few_requests_are_those_of_somebody_who_watches() {
        let ms = Duration::from_millis;
        assert!(!are_many(9, ms(20)), "hardly anybody");
        assert!(are_many(10, ms(20)));
        let requests = AtomicU64::new(0);
        let throttle = Throttle::new(1, &requests);
        let mut turns = throttle.turns.into_inner().unwrap();
        turns.count(1_000_000);
        assert!(turns.is_busy, "it may be busy until that is known");
        turns.counted.0 -= WINDOW;
        turns.count(0);
        assert!(!turns.is_busy);
        turns.count(1_000_000);
        assert!(!turns.is_busy, "not counted for long enough");
        turns.counted.0 -= WINDOW;
        turns.count(1_000_000);
        assert!(turns.is_busy && turns.counted.1 == 1_000_000);
    }

    #[test]
    fn nobody_is_waited_for_where_nobody_asks() {
        let requests = AtomicU64::new(7);
        let throttle = Throttle::new(1, &requests);
        let before = Instant::now() - Duration::from_secs(10);
        let mut turns = throttle.turns.lock().unwrap();
        (turns.rested, turns.counted.0) = (before, before);
        drop(turns);
        // At one percent this would be a rest of 200 ms, if requests had come.
        throttle.rest();
        let turns = throttle.turns.lock().unwrap();
        assert!(turns.rested.elapsed() < Duration::from_secs(5) && !turns.is_busy);
    }
}
