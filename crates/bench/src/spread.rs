//! Median and range over several runs of the same work.

use std::time::Duration;

/// Median and range of a rate, in 10^6 bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The run in the middle.
    pub median: f64,
    /// The slowest run.
    pub low: f64,
    /// The fastest run.
    pub high: f64,
}

impl Spread {
    /// The rates at which `bytes` were worked through in each of `times`, of which there is at
    /// least one.
    pub(crate) fn of(bytes: u64, times: &[Duration]) -> Spread {
        // A clock that stood still says "faster than can be measured", not "infinitely fast".
        let rate = |time: &Duration| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9);
        let mut rates: Vec<f64> = times.iter().map(rate).collect();
        rates.sort_by(f64::total_cmp);
        let at = |index: usize| rates.get(index).copied().unwrap_or(0.0);
        Spread {
            median: at(rates.len() / 2),
            low: at(0),
            high: at(rates.len().saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_the_range_has_the_ends() {
        let times = [4, 1, 2, 8, 5].map(Duration::from_secs);
        let spread = Spread::of(40_000_000, &times);
        assert_eq!((spread.low, spread.median, spread.high), (5.0, 10.0, 40.0));
        assert!(Spread::of(1, &[Duration::ZERO]).median.is_finite());
    }
}
