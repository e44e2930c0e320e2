//! How long is waited after failures.

use std::time::Duration;

/// The first wait before a request is sent again.
const FIRST_RETRY: Duration = Duration::from_millis(250);
/// No wait before a request that is sent again is longer, also if the other side asks for it.
const LONGEST_RETRY: Duration = Duration::from_secs(300);

/// The wait after a job's first crash.
const FIRST_PENALTY: Duration = Duration::from_secs(30);
/// Crashes in a row beyond which the wait grows no more: 30 s × 2^10 are 8.5 hours.
const MOST_DOUBLED: u32 = 10;

/// How long is waited before a request is sent for the `attempt`th time again, from 0 on.
pub fn before_retry(attempt: u32, asked: Option<Duration>) -> Duration {
    let grown = FIRST_RETRY.saturating_mul(1 << attempt.min(16));
    asked.unwrap_or(grown).min(LONGEST_RETRY)
}

/// How long a job waits after so many crashes in a row.
pub fn after_crashes(crashes: u32) -> Duration {
    let doubled = crashes.saturating_sub(1).min(MOST_DOUBLED);
    match crashes {
        0 => Duration::ZERO,
        _ => FIRST_PENALTY.saturating_mul(1 << doubled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound() {
        let seconds = |crashes| after_crashes(crashes).as_secs();
        assert_eq!([0, 1, 2, 3].map(seconds), [0, 30, 60, 120]);
        assert_eq!((seconds(11), seconds(u32::MAX)), (30_720, 30_720));
        let millis = |attempt| before_retry(attempt, None).as_millis();
        assert_eq!([0, 1, 4].map(millis), [250, 500, 4000]);
        assert_eq!(before_retry(u32::MAX, None), LONGEST_RETRY);
        let asked = |seconds| before_retry(0, Some(Duration::from_secs(seconds))).as_secs();
        assert_eq!((asked(7), asked(10_000)), (7, 300));
    }
}
