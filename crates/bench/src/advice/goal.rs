//! Weighing size against time.

use crate::measuring::{Comparison, Samples, compare};
use std::fmt;
use std::str::FromStr;

/// Aim of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Size and speed alike.
    Balanced,
    /// Little space.
    Space,
    /// Fast writing and reading.
    Speed,
    /// Much reading, as of a server with many clients; little writing.
    Serving,
}

/// Names that no goal has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("balanced, space, speed or serving")]
pub struct GoalError;

impl Goal {
    /// All goals, in the order in which alternatives are looked for.
    pub const ALL: [Goal; 4] = [Goal::Balanced, Goal::Space, Goal::Speed, Goal::Serving];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Goal::Balanced => "balanced",
            Goal::Space => "space",
            Goal::Speed => "speed",
            Goal::Serving => "serving",
        }
    }

    /// Weights of the logarithms of size, reading time and writing time: of a goal with weights 4 and 1, a file half as
    /// large is worth 16 times the time.
    fn weights(self) -> [f64; 3] {
        match self {
            Goal::Balanced => [2.0, 0.75, 0.4],
            Goal::Space => [8.0, 0.25, 0.1],
            Goal::Speed => [0.3, 1.0, 1.0],
            Goal::Serving => [1.0, 2.0, 0.05],
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Goal {
    type Err = GoalError;

    fn from_str(text: &str) -> Result<Goal, GoalError> {
        let found = Goal::ALL.into_iter().find(|goal| goal.name() == text);
        found.ok_or(GoalError)
    }
}

/// Something to choose, with what it costs.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub size: f64,
    pub read: Samples,
    pub write: Samples,
}

/// Three candidates for three goals, by index: the best for `goal`, then the best of the rest for other goals.
/// Times that the runs cannot tell from those of `reference` count as equal to them.
pub(super) fn choose(candidates: &[Candidate], reference: usize, goal: Goal) -> Vec<(Goal, usize)> {
    let base = &candidates[reference];
    let costs: Vec<[f64; 3]> = candidates
        .iter()
        .map(|candidate| {
            let size = (candidate.size.max(1.0) / base.size.max(1.0)).ln();
            [
                size,
                log_ratio(&candidate.read, &base.read),
                log_ratio(&candidate.write, &base.write),
            ]
        })
        .collect();
    let others = Goal::ALL.into_iter().filter(|other| *other != goal);
    let mut chosen: Vec<(Goal, usize)> = Vec::new();
    for goal in std::iter::once(goal).chain(others) {
        let score = |index: usize| -> f64 {
            let weighted = goal.weights().into_iter().zip(costs[index]);
            weighted.map(|(weight, cost)| weight * cost).sum()
        };
        let free =
            (0..candidates.len()).filter(|index| chosen.iter().all(|(_, other)| other != index));
        let best = free.min_by(|a, b| score(*a).total_cmp(&score(*b)));
        chosen.extend(best.filter(|_| chosen.len() < 3).map(|best| (goal, best)));
    }
    chosen
}

fn log_ratio(samples: &Samples, base: &Samples) -> f64 {
    let compared = compare(samples, base).filter(|found| found.is_distinct());
    compared.map_or(0.0, |Comparison { ratio, .. }| ratio.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(size: f64, read: f64, write: f64) -> Candidate {
        let runs = |time: f64| Samples::new(vec![time, time * 1.01, time * 0.99]);
        Candidate {
            size,
            read: runs(read),
            write: runs(write),
        }
    }

    #[test]
    fn each_goal_gets_what_it_asks_for_and_the_alternatives_differ() {
        let candidates = [
            candidate(100.0, 1.0, 1.0),
            candidate(60.0, 1.3, 1.5),
            candidate(55.0, 1.4, 20.0),
            candidate(130.0, 0.4, 0.9),
        ];
        let of = |goal| choose(&candidates, 0, goal);
        assert_eq!(of(Goal::Balanced)[0], (Goal::Balanced, 1));
        assert_eq!(of(Goal::Space)[0], (Goal::Space, 2));
        assert_eq!(of(Goal::Speed)[0], (Goal::Speed, 3));
        assert_eq!(of(Goal::Serving)[0], (Goal::Serving, 3));
        let three: Vec<usize> = of(Goal::Balanced).iter().map(|(_, index)| *index).collect();
        assert_eq!(three, [1, 2, 3]);
        assert_eq!(choose(&candidates[..2], 0, Goal::Space).len(), 2);
    }

    #[test]
    fn times_within_noise_do_not_count() {
        let noisy = Candidate {
            read: Samples::new(vec![0.5, 1.6, 0.8]),
            ..candidate(101.0, 1.0, 1.0)
        };
        let candidates = [candidate(100.0, 1.0, 1.0), noisy];
        assert_eq!(choose(&candidates, 0, Goal::Speed)[0].1, 0);
    }

    #[test]
    fn names_read_back() {
        for goal in Goal::ALL {
            assert_eq!(goal.to_string().parse(), Ok(goal));
        }
        assert_eq!("fast".parse::<Goal>(), Err(GoalError));
    }
}
