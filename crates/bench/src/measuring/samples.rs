//! The results of several runs of the same work.

/// One number a run, in the order of the runs: seconds, unless a column says otherwise. Equal places in two rows were
/// measured in the same round, so that rows can be compared in pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Samples of these runs.
    pub fn new(runs: Vec<f64>) -> Samples {
        Samples(runs)
    }

    /// Adds the result of a run.
    pub fn push(&mut self, run: f64) {
        self.0.push(run);
    }

    /// Results in the order of the runs.
    pub fn runs(&self) -> &[f64] {
        &self.0
    }

    /// Results before the first run.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The run in the middle, or the mean of the two in the middle; 0 without runs.
    pub fn median(&self) -> f64 {
        let sorted = self.sorted();
        match (sorted.len() / 2, sorted.len() % 2) {
            (0, 0) => 0.0,
            (middle, 1) => sorted[middle],
            (middle, _) => f64::midpoint(sorted[middle - 1], sorted[middle]),
        }
    }

    /// Least and greatest; zeros without runs.
    pub fn range(&self) -> (f64, f64) {
        let sorted = self.sorted();
        let at = |value: Option<&f64>| value.copied().unwrap_or(0.0);
        (at(sorted.first()), at(sorted.last()))
    }

    /// Width of the range as a part of the median; 0 where that is 0.
    pub fn relative_range(&self) -> f64 {
        let (low, high) = self.range();
        match self.median() {
            0.0 => 0.0,
            median => (high - low) / median,
        }
    }

    /// Each run's result, changed by `change`.
    #[must_use]
    pub fn map(&self, change: impl FnMut(f64) -> f64) -> Samples {
        Samples(self.0.iter().copied().map(change).collect())
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_the_range_has_the_ends() {
        let odd = Samples::new(vec![4.0, 1.0, 8.0, 2.0, 5.0]);
        assert_eq!((odd.median(), odd.range()), (4.0, (1.0, 8.0)));
        assert_eq!(odd.relative_range(), 7.0 / 4.0);
        assert_eq!(Samples::new(vec![4.0, 1.0, 2.0, 8.0]).median(), 3.0);
        assert_eq!(odd.map(|run| run * 2.0).runs(), [8.0, 2.0, 16.0, 4.0, 10.0]);
        let none = Samples::default();
        assert_eq!((none.median(), none.range()), (0.0, (0.0, 0.0)));
        assert_eq!(none.relative_range(), 0.0);
    }
}
