//! Telling two rows apart by a paired test.
//!
//! Runs of the same round met the same disturbances, so the ratio of their times is steadier than the times. Student's
//! paired t-test of the logarithms tells whether the mean ratio differs from 1, two-sided at 95 %.

use super::Samples;

/// Critical values of Student's t, two-sided at 95 %, for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook of
/// Statistical Methods, 1.3.6.7.2).
const CRITICAL: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The same for more degrees of freedom, on the safe side.
const CRITICAL_BEYOND: f64 = 2.042;

/// Mean ratio of two rows with the bounds of its confidence interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Geometric mean of first to second.
    pub ratio: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Comparison {
    /// True if the interval leaves out 1.
    pub fn is_distinct(self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// Compares the runs in pairs; `None` below two pairs. Runs beyond the shorter row are left out.
pub fn compare(first: &Samples, second: &Samples) -> Option<Comparison> {
    // A clock that stood still is not infinitely fast.
    let log = |run: &f64| run.max(1e-12).ln();
    let pairs = first.runs().iter().zip(second.runs());
    let ratios: Vec<f64> = pairs.map(|(a, b)| log(a) - log(b)).collect();
    let count = ratios.len();
    let freedom = count.checked_sub(1).filter(|freedom| *freedom > 0)?;
    let mean = ratios.iter().sum::<f64>() / count as f64;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    let error = (squares / freedom as f64 / count as f64).sqrt();
    let critical = CRITICAL.get(freedom - 1).copied();
    let reach = critical.unwrap_or(CRITICAL_BEYOND) * error;
    Some(Comparison {
        ratio: mean.exp(),
        low: (mean - reach).exp(),
        high: (mean + reach).exp(),
    })
}

/// Groups of rows, by index, that the runs cannot tell apart: sorted by median, each is indistinct from the next.
/// Only groups of two and more.
pub fn indistinct(rows: &[&Samples]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.retain(|row| !rows[*row].is_empty());
    order.sort_by(|a, b| rows[*a].median().total_cmp(&rows[*b].median()));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for row in order {
        let last = groups.last_mut();
        let joined = last.filter(|group| {
            let before = group.last().map(|before| rows[*before]);
            let compared = before.and_then(|before| compare(before, rows[row]));
            !compared.is_some_and(Comparison::is_distinct)
        });
        match joined {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(runs: &[f64]) -> Samples {
        Samples::new(runs.to_vec())
    }

    #[test]
    fn a_steady_ratio_is_seen_through_noise_that_both_rows_share() {
        let noise = [1.0, 3.0, 1.4, 2.2, 1.1];
        let first = samples(&noise);
        let second = samples(&noise).map(|run| run * 1.1);
        let shaken = Samples::new(vec![1.12, 3.27, 1.55, 2.4, 1.22]);
        let same = Samples::new(vec![1.05, 2.9, 1.38, 2.3, 1.09]);
        for slower in [&second, &shaken] {
            let found = compare(slower, &first).unwrap();
            assert!(found.is_distinct() && found.low > 1.05, "{found:?}");
            assert!((found.ratio - 1.1).abs() < 0.01, "{found:?}");
        }
        assert!(!compare(&same, &first).unwrap().is_distinct());
        assert!(!compare(&first, &first).unwrap().is_distinct());
    }

    #[test]
    fn one_pair_tells_nothing_and_the_critical_value_is_that_of_the_number_of_pairs() {
        assert_eq!(compare(&samples(&[1.0]), &samples(&[2.0])), None);
        // Logarithms 1, 2 and 3: mean 2, standard error 0.5774, t = 3.46, below 4.303.
        let e = std::f64::consts::E;
        let three = samples(&[e, e.powi(2), e.powi(3)]);
        let found = compare(&three, &samples(&[1.0; 3])).unwrap();
        assert!(!found.is_distinct(), "{found:?}");
        assert!((found.high.ln() - (2.0 + 4.303 / 3f64.sqrt())).abs() < 1e-6);
        let six = samples(&[e, e.powi(2), e.powi(3), e, e.powi(2), e.powi(3)]);
        assert!(compare(&six, &samples(&[1.0; 6])).unwrap().is_distinct());
    }

    #[test]
    fn rows_that_run_alike_are_one_group() {
        let rows = [
            samples(&[2.0, 2.1, 1.9]),
            samples(&[1.0, 1.01, 0.99]),
            samples(&[2.02, 2.05, 1.95]),
            Samples::default(),
        ];
        let rows: Vec<&Samples> = rows.iter().collect();
        assert_eq!(indistinct(&rows), [vec![0, 2]]);
    }
}
