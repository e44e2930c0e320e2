//! How a compaction leaves time to others: while requests come, it works for a while and then rests
//! for a while. Requests need not fear for the processor, as it has a low priority, but for its
//! caches, the disk, and the turn that has just begun.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After so long a rest is due.
const WORK: Duration = Duration::from_millis(4);
/// No rest is longer than this, so that it can be stopped.
const LONGEST: Duration = Duration::from_millis(200);
/// Fewer requests in a second are those of somebody who watches, and not worth a rest.
const FEW: u64 = 500;

/// Which share of the time is for work.
#[derive(Debug)]
pub(super) struct Pace<'r> {
    /// In percent, 1 to 100.
    share: u32,
    /// Counts the requests of everybody.
    requests: &'r AtomicU64,
    /// When the last rest ended, and how many requests there had been.
    rested: Mutex<(Instant, u64)>,
}

impl<'r> Pace<'r> {
    pub(super) fn new(share: u32, requests: &'r AtomicU64) -> Self {
        Pace {
            share: share.clamp(1, 100),
            requests,
            rested: Mutex::new((Instant::now(), requests.load(Ordering::Relaxed))),
        }
    }

    /// To be called between pieces of work; sleeps if it is time for that.
    pub(super) fn rest(&self) {
        let mut rested = self.rested.lock().unwrap_or_else(PoisonError::into_inner);
        let (worked, before) = (rested.0.elapsed(), rested.1);
        if worked < WORK {
            return;
        }
        let came = self.requests.load(Ordering::Relaxed).saturating_sub(before);
        std::thread::sleep(due(worked, came, self.share));
        *rested = (Instant::now(), self.requests.load(Ordering::Relaxed));
    }
}

/// How long to rest after so much work, while so many requests came.
fn due(worked: Duration, came: u64, share: u32) -> Duration {
    match u128::from(came) * 1000 < u128::from(FEW) * worked.as_millis() {
        true => Duration::ZERO,
        false => (worked * (100 - share) / share).min(LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_are_as_long_as_the_share_says() {
        let ms = Duration::from_millis;
        assert_eq!(due(ms(10), 400, 50), ms(10));
        assert_eq!(due(ms(10), 400, 80), Duration::from_micros(2500));
        assert_eq!(due(ms(10), 400, 100), Duration::ZERO);
        assert_eq!(due(ms(10), 400, 1), LONGEST);
        assert_eq!(due(ms(10), 4, 50), Duration::ZERO, "hardly anybody");
        assert_eq!(due(ms(10), 5, 50), ms(10));
    }

    #[test]
    fn nobody_is_waited_for_where_nobody_asks() {
        let requests = AtomicU64::new(7);
        let pace = Pace::new(1, &requests);
        pace.rested.lock().unwrap().0 -= Duration::from_secs(10);
        // At one percent this would be a rest of 200 ms, if requests had come.
        pace.rest();
        let rested = pace.rested.lock().unwrap();
        assert!(rested.0.elapsed() < Duration::from_secs(5) && rested.1 == 7);
    }
}
