//! Throttling of compactions and long index builds: while many requests come, they work for a while and then
//! pause for a while. Their low priority gives requests the processor, but not its caches, the disk, or the
//! step that has just begun.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A pause is due after so much work. A step that has begun is not broken off, so it may be longer.
const WORK: Duration = Duration::from_micros(500);
/// No pause is longer than this, so that the work can be stopped.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// Requests are counted for so long.
const WINDOW: Duration = Duration::from_millis(20);
/// Requests in a second below which no pause is made: a client that only watches sends as many.
const FEW: u128 = 500;

/// Number of requests that the server has begun to answer; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestCounter(Arc<AtomicU64>);

impl RequestCounter {
    /// Counts a request; returns the number of those before it.
    pub(crate) fn count(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Keeps background work to a share of the time.
#[derive(Debug)]
pub(crate) struct Throttle {
    /// In percent, 1 to 100.
    share: u32,
    requests: RequestCounter,
    pacing: Mutex<Pacing>,
}

#[derive(Debug)]
struct Pacing {
    last_pause: Instant,
    /// When the window began, and the number of requests until then.
    window: (Instant, u64),
    /// Whether many requests came in the last window.
    is_busy: bool,
}

impl Throttle {
    /// A throttle for work that gets `share` percent of the time while many requests are counted.
    pub(super) fn new(share: u32, requests: &RequestCounter) -> Self {
        let now = Instant::now();
        let pacing = Pacing {
            last_pause: now,
            window: (now, requests.total()),
            is_busy: true,
        };
        Throttle {
            share: share.clamp(1, 100),
            requests: requests.clone(),
            pacing: Mutex::new(pacing),
        }
    }

    /// To be called between steps of work; sleeps if a pause is due.
    pub(crate) fn pause(&self) {
        let mut pacing = self.pacing.lock();
        let worked = pacing.last_pause.elapsed();
        if worked < WORK {
            return;
        }
        pacing.close_window(self.requests.total());
        if pacing.is_busy {
            std::thread::sleep(pause_after(worked, self.share));
        }
        pacing.last_pause = Instant::now();
    }
}

impl Pacing {
    /// Begins a new window if the last one is over.
    fn close_window(&mut self, requests: u64) {
        let (since, before) = self.window;
        let time = since.elapsed();
        if time >= WINDOW {
            self.is_busy = are_many(requests.saturating_sub(before), time);
            self.window = (Instant::now(), requests);
        }
    }
}

fn are_many(requests: u64, time: Duration) -> bool {
    u128::from(requests) * 1_000_000 >= FEW * time.as_micros()
}

fn pause_after(worked: Duration, share: u32) -> Duration {
    (worked * (100 - share) / share).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_as_long_as_the_share_says() {
        let ms = Duration::from_millis;
        assert_eq!(pause_after(ms(10), 50), ms(10));
        assert_eq!(pause_after(ms(10), 80), Duration::from_micros(2500));
        assert_eq!(pause_after(ms(10), 100), Duration::ZERO);
        assert_eq!(pause_after(ms(10), 1), LONGEST_PAUSE);
    }

    #[test]
    fn few_requests_cause_no_pause() {
        let ms = Duration::from_millis;
        assert!(!are_many(9, ms(20)));
        assert!(are_many(10, ms(20)));
        let throttle = Throttle::new(1, &RequestCounter::default());
        let mut pacing = throttle.pacing.into_inner();
        pacing.close_window(1_000_000);
        assert!(pacing.is_busy, "it may be busy until that is known");
        pacing.window.0 -= WINDOW;
        pacing.close_window(0);
        assert!(!pacing.is_busy);
        pacing.close_window(1_000_000);
        assert!(!pacing.is_busy, "not counted for long enough");
        pacing.window.0 -= WINDOW;
        pacing.close_window(1_000_000);
        assert!(pacing.is_busy && pacing.window.1 == 1_000_000);
    }

    #[test]
    fn without_requests_there_is_no_pause() {
        let requests = RequestCounter::default();
        assert_eq!((requests.count(), requests.count()), (0, 1));
        let throttle = Throttle::new(1, &requests);
        let before = Instant::now() - Duration::from_secs(10);
        let mut pacing = throttle.pacing.lock();
        (pacing.last_pause, pacing.window.0) = (before, before);
        drop(pacing);
        // At one percent this would be a pause of 200 ms, if requests had come.
        throttle.pause();
        let pacing = throttle.pacing.lock();
        assert!(pacing.last_pause.elapsed() < Duration::from_secs(5) && !pacing.is_busy);
    }
}
