//! How long the requests of the last ten seconds took.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Seconds that are remembered, each in a slot of its own: CouchDB's default.
const SLOTS: usize = 10;
/// Bins for each doubling of the duration, so a bin is at most an eighth wider than the one before.
const STEPS: usize = 8;
/// The logarithm of [`STEPS`] to base 2.
const STEP_BITS: u32 = 3;
/// Microseconds of the longest duration that has a bin of its own; 71 minutes.
const LONGEST: u64 = u32::MAX as u64;
const BINS: usize = STEPS * (32 - STEP_BITS as usize + 1);

/// Counts of durations by second and bin.
#[derive(Debug)]
pub(crate) struct RecentDurations {
    begun: Instant,
    slots: Mutex<Box<[Slot; SLOTS]>>,
}

/// The durations of one second.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Seconds from the beginning; a later second takes the slot over.
    second: u64,
    counts: [u32; BINS],
    /// Microseconds.
    min: u64,
    /// Microseconds.
    max: u64,
}

const EMPTY: Slot = Slot {
    second: 0,
    counts: [0; BINS],
    min: u64::MAX,
    max: 0,
};

impl Default for RecentDurations {
    fn default() -> RecentDurations {
        RecentDurations {
            begun: Instant::now(),
            slots: Mutex::new(Box::new([EMPTY; SLOTS])),
        }
    }
}

impl RecentDurations {
    /// Counts a request.
    pub(crate) fn record(&self, duration: Duration) {
        self.record_in(self.begun.elapsed().as_secs(), duration);
    }

    /// The durations of the last seconds, the present one among them.
    pub(crate) fn distribution(&self) -> Distribution {
        self.distribution_in(self.begun.elapsed().as_secs())
    }

    fn record_in(&self, second: u64, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let mut slots = self.slots.lock();
        let number = usize::try_from(second % SLOTS as u64).unwrap_or(0);
        let slot = &mut slots[number];
        if slot.second != second {
            *slot = Slot { second, ..EMPTY };
        }
        let count = &mut slot.counts[bin_of(micros)];
        *count = count.saturating_add(1);
        slot.min = slot.min.min(micros);
        slot.max = slot.max.max(micros);
    }

    fn distribution_in(&self, second: u64) -> Distribution {
        let slots = self.slots.lock();
        let recent = slots
            .iter()
            .filter(|slot| slot.second + SLOTS as u64 > second);
        let mut counts = [0_u64; BINS];
        let (mut min, mut max) = (u64::MAX, 0);
        for slot in recent {
            for (sum, count) in counts.iter_mut().zip(slot.counts) {
                *sum += u64::from(count);
            }
            (min, max) = (min.min(slot.min), max.max(slot.max));
        }
        drop(slots);
        let (min, max) = (milliseconds(min.min(max) as f64), milliseconds(max as f64));
        let filled = counts
            .into_iter()
            .enumerate()
            .filter(|(_, count)| *count > 0);
        let bins = filled.map(|(number, count)| Bin {
            value: milliseconds(middle_of(number)).clamp(min, max),
            count,
        });
        let mut bins: Vec<Bin> = bins.collect();
        if bins.is_empty() {
            bins.push(Bin::default());
        }
        Distribution { min, max, bins }
    }
}

/// The bin of a duration in microseconds: one for each below [`STEPS`], then [`STEPS`] for each doubling.
fn bin_of(micros: u64) -> usize {
    let micros = micros.min(LONGEST);
    let doublings = micros
        .checked_ilog2()
        .unwrap_or(0)
        .saturating_sub(STEP_BITS);
    let steps = usize::try_from(micros >> doublings).unwrap_or(0);
    doublings as usize * STEPS + steps
}

/// Microseconds in the middle of a bin.
fn middle_of(bin: usize) -> f64 {
    let doublings = (bin / STEPS).saturating_sub(1);
    let (first, width) = (bin - doublings * STEPS, (doublings as f64).exp2());
    match doublings {
        0 => first as f64,
        _ => (first as f64 + 0.5) * width,
    }
}

fn milliseconds(micros: f64) -> f64 {
    micros / 1000.0
}

/// Durations that are counted as equal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bin {
    /// Milliseconds.
    pub(crate) value: f64,
    pub(crate) count: u64,
}

/// A distribution of durations in milliseconds. All but the ends are exact to the width of a bin.
#[derive(Debug)]
pub(crate) struct Distribution {
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Those that are not empty, the shortest first; a single empty one if all are.
    pub(crate) bins: Vec<Bin>,
}

impl Distribution {
    /// Number of durations.
    pub(crate) fn count(&self) -> u64 {
        self.bins.iter().map(|bin| bin.count).sum()
    }

    /// The duration that a part of all do not exceed.
    pub(crate) fn at(&self, part: f64) -> f64 {
        let rank = (self.count() as f64 * part).ceil();
        let mut below = 0;
        let reaches = |bin: &&Bin| {
            below += bin.count;
            below as f64 >= rank
        };
        self.bins
            .iter()
            .find(reaches)
            .map_or(self.max, |bin| bin.value)
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean_of(|value| value)
    }

    pub(crate) fn geometric_mean(&self) -> f64 {
        match self.min > 0.0 {
            true => self.mean_of(f64::ln).exp(),
            false => 0.0,
        }
    }

    pub(crate) fn harmonic_mean(&self) -> f64 {
        match self.min > 0.0 {
            true => self.mean_of(f64::recip).recip(),
            false => 0.0,
        }
    }

    pub(crate) fn variance(&self) -> f64 {
        self.moment(2)
    }

    /// The third standardized moment.
    pub(crate) fn skewness(&self) -> f64 {
        self.standardized(3)
    }

    /// The fourth standardized moment, less that of the normal distribution.
    pub(crate) fn kurtosis(&self) -> f64 {
        match self.variance() > 0.0 {
            true => self.standardized(4) - 3.0,
            false => 0.0,
        }
    }

    fn standardized(&self, power: i32) -> f64 {
        let deviation = self.variance().sqrt();
        match deviation > 0.0 {
            true => self.moment(power) / deviation.powi(power),
            false => 0.0,
        }
    }

    fn moment(&self, power: i32) -> f64 {
        let mean = self.mean();
        self.mean_of(|value| (value - mean).powi(power))
    }

    fn mean_of(&self, of: impl Fn(f64) -> f64) -> f64 {
        let weighed = self.bins.iter().map(|bin| of(bin.value) * bin.count as f64);
        weighed.sum::<f64>() / self.count().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_within_an_eighth_of_its_bin() {
        let mut last = 0;
        let durations = (0..=32).flat_map(|bits| [(1_u64 << bits) - 1, 1 << bits, 3 << bits]);
        let mut durations: Vec<u64> = durations.filter(|micros| *micros <= LONGEST).collect();
        durations.sort_unstable();
        for micros in durations {
            let bin = bin_of(micros);
            assert!(
                bin >= last && bin < BINS,
                "{micros} is in {bin} after {last}"
            );
            let off = (middle_of(bin) - micros as f64).abs();
            assert!(off <= micros as f64 / 8.0, "{micros} is off by {off}");
            last = bin;
        }
        assert_eq!(bin_of(u64::MAX), BINS - 1);
    }

    #[test]
    fn figures_are_those_of_the_last_seconds() {
        let recent = RecentDurations::default();
        let none = recent.distribution_in(0);
        assert_eq!((none.count(), none.min, none.max), (0, 0.0, 0.0));
        assert_eq!(
            (none.mean(), none.at(0.5), none.kurtosis()),
            (0.0, 0.0, 0.0)
        );
        assert_eq!(none.bins, [Bin::default()]);
        recent.record_in(0, Duration::from_secs(5));
        for _ in 0..99 {
            recent.record_in(3, Duration::from_micros(4));
        }
        recent.record_in(9, Duration::from_millis(512));
        let all = recent.distribution_in(9);
        assert_eq!((all.count(), all.min, all.max), (101, 0.004, 5000.0));
        // The first second has passed out of the window.
        let later = recent.distribution_in(10);
        assert_eq!((later.count(), later.min, later.max), (100, 0.004, 512.0));
        assert_eq!((later.at(0.5), later.at(0.99)), (0.004, 0.004));
        let top = later.at(0.999);
        assert!((450.0..=512.0).contains(&top), "{top}");
        assert!((4.5..5.2).contains(&later.mean()), "{}", later.mean());
        assert!(later.skewness() > 9.0 && later.kurtosis() > 90.0);
        assert!(later.harmonic_mean() < later.geometric_mean());
        // A slot is used again.
        recent.record_in(13, Duration::ZERO);
        let again = recent.distribution_in(13);
        assert_eq!((again.count(), again.min), (2, 0.0));
        assert_eq!(again.geometric_mean(), 0.0);
    }
}
