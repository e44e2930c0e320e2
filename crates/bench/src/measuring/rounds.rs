//! Rounds: each does every task once, so that a disturbance meets all of them alike.

use super::Samples;
use crate::BenchError;
use std::time::Instant;
use varve_base::{Interrupt, Progress, Unit};

/// Work that is measured: one run returns its quantities, always equally many.
pub type Task<'t> = Box<dyn FnMut() -> Result<Vec<f64>, BenchError> + 't>;

/// How tasks are run.
#[derive(Clone, Copy)]
pub struct Rounds<'a> {
    /// Rounds that count; at least 3. One more goes before them as warm-up.
    pub runs: usize,
    /// Receives one item for each run.
    pub progress: &'a dyn Progress,
    /// Ends the measurement early; what was measured is kept.
    pub interrupt: &'a Interrupt,
}

impl std::fmt::Debug for Rounds<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rounds({})", self.runs)
    }
}

/// Results of all tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interleaved {
    /// For each task and quantity its runs.
    pub samples: Vec<Vec<Samples>>,
    /// The interrupt came before the last run.
    pub is_cut_short: bool,
}

impl Interleaved {
    /// Runs of one quantity of one task; none if it was never run.
    pub fn of(&self, task: usize, quantity: usize) -> Samples {
        let found = self.samples.get(task).and_then(|all| all.get(quantity));
        found.cloned().unwrap_or_default()
    }
}

impl Rounds<'_> {
    /// Runs all tasks in turns. The order of a round begins one task further than the round before, and every second
    /// one goes backwards: no task always follows the same other.
    ///
    /// # Errors
    /// [`BenchError::TooFewRuns`]; the error of a task, unless the interrupt is raised.
    pub fn interleave(
        &self,
        step: &str,
        tasks: &mut [Task<'_>],
    ) -> Result<Interleaved, BenchError> {
        if self.runs < 3 {
            return Err(BenchError::TooFewRuns { runs: self.runs });
        }
        let total = tasks.len() * (self.runs + 1);
        self.progress.begin(step, Unit::Items, Some(total as u64));
        let mut done = Interleaved {
            samples: vec![Vec::new(); tasks.len()],
            is_cut_short: false,
        };
        let outcome = (0..=self.runs).try_for_each(|round| self.round(round, tasks, &mut done));
        self.progress.end();
        match outcome {
            Err(_) if self.interrupt.is_raised() => done.is_cut_short = true,
            other => other?,
        }
        Ok(done)
    }

    fn round(
        &self,
        round: usize,
        tasks: &mut [Task<'_>],
        done: &mut Interleaved,
    ) -> Result<(), BenchError> {
        let count = tasks.len();
        for place in 0..count {
            let place = if round.is_multiple_of(2) {
                place
            } else {
                count - 1 - place
            };
            let index = (place + round) % count;
            self.interrupt.check()?;
            let quantities = tasks[index]()?;
            self.progress.advance(1);
            if round == 0 {
                done.samples[index] = vec![Samples::default(); quantities.len()];
                continue;
            }
            for (samples, quantity) in done.samples[index].iter_mut().zip(quantities) {
                samples.push(quantity);
            }
        }
        Ok(())
    }
}

/// Seconds that `work` takes.
///
/// # Errors
/// That of `work`.
pub fn timed(work: impl FnOnce() -> Result<(), BenchError>) -> Result<f64, BenchError> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Processor time of all threads of this process so far, in seconds.
pub fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use varve_base::Silent;

    fn rounds<'a>(runs: usize, interrupt: &'a Interrupt) -> Rounds<'a> {
        Rounds {
            runs,
            progress: &Silent,
            interrupt,
        }
    }

    #[test]
    fn each_round_does_every_task_once_in_another_order_and_the_first_does_not_count() {
        let interrupt = Interrupt::default();
        let order = RefCell::new(Vec::new());
        let mut tasks: Vec<Task<'_>> = Vec::new();
        for name in 0..3 {
            let order = &order;
            tasks.push(Box::new(move || {
                order.borrow_mut().push(name);
                Ok(vec![order.borrow().len() as f64, f64::from(name)])
            }));
        }
        let done = rounds(3, &interrupt).interleave("t", &mut tasks).unwrap();
        drop(tasks);
        let order = order.into_inner();
        let rounds: Vec<&[i32]> = order.chunks(3).collect();
        assert_eq!(rounds.len(), 4);
        for round in &rounds {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        let orders: std::collections::BTreeSet<_> = rounds.iter().collect();
        assert_eq!(orders.len(), 4, "an order came again: {rounds:?}");
        for task in 0..3 {
            let places = done.of(task, 0);
            assert_eq!(places.runs().len(), 3);
            assert!(
                places.runs().iter().all(|place| *place > 3.0),
                "warm-up counts"
            );
            assert_eq!(done.of(task, 1).runs(), [task as f64; 3]);
        }
        assert!(!done.is_cut_short);
    }

    #[test]
    fn an_interrupt_keeps_what_was_measured_and_another_error_does_not() {
        let interrupt = Interrupt::default();
        let mut runs = 0;
        let mut tasks: Vec<Task<'_>> = vec![Box::new(|| {
            runs += 1;
            if runs == 4 {
                interrupt.raise();
            }
            interrupt.check()?;
            Ok(vec![1.0])
        })];
        let done = rounds(5, &interrupt).interleave("t", &mut tasks).unwrap();
        assert!(done.is_cut_short);
        assert_eq!(done.of(0, 0).runs().len(), 2);
        assert!(done.of(1, 0).is_empty());
        let calm = Interrupt::default();
        let mut failing: Vec<Task<'_>> = vec![Box::new(|| Err(BenchError::Nothing))];
        assert!(rounds(3, &calm).interleave("t", &mut failing).is_err());
        let few = rounds(2, &calm).interleave("t", &mut failing);
        assert!(matches!(few, Err(BenchError::TooFewRuns { runs: 2 })));
    }
}
