//! Which threads go first where there is more work than processors.

use std::fs;
use std::time::{Duration, Instant};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// How much less long work gets, in the steps of `nice`: about a tenth of the share of a thread beside it.
const STEPS: i32 = 10;

/// Lets others go first: the calling thread, and those it starts, get less of the processors while
/// other work wants them. There is no way back, so this is for threads that end with their work.
pub fn lower_priority() {
    // Where that is not allowed, the work is done all the same.
    let _ = rustix::process::nice(STEPS);
}

/// A thread that runs only while a processor has no other work. A thread that wakes takes its processor at once,
/// where one of [`lower_priority`] may keep it for a few milliseconds more.
///
/// On a machine that is always busy such a thread would never come to its end, so it is to ask now and then whether it
/// [starves](IdleTime::is_starved), and then to leave its work to another thread.
#[derive(Debug)]
pub struct IdleTime {
    window_began: Instant,
    at_begin: RunTimes,
}

/// Starving is judged over so much time.
const WINDOW: Duration = Duration::from_secs(20);
/// A thread starves if it waits for so many times as long as it runs.
const WORST_WAIT: u64 = 9;

impl IdleTime {
    /// From now on the calling thread, and those it starts, run in idle time. There is no way back. `None`, with
    /// [`lower_priority`] in its place, where the system has no such thing or does not tell how long threads wait.
    pub fn begin() -> Option<IdleTime> {
        let idle = RunTimes::of_this_thread().filter(|_| run_when_idle());
        if idle.is_none() {
            lower_priority();
        }
        let window_began = Instant::now();
        idle.map(|at_begin| IdleTime {
            window_began,
            at_begin,
        })
    }

    /// Whether the thread waited, in the last 20 seconds or so, far longer for a processor than it had one.
    pub fn is_starved(&mut self) -> bool {
        if self.window_began.elapsed() < WINDOW {
            return false;
        }
        let Some(now) = RunTimes::of_this_thread() else {
            return false;
        };
        let is_starved = now.is_starved_since(&self.at_begin);
        (self.window_began, self.at_begin) = (Instant::now(), now);
        is_starved
    }
}

#[cfg(target_os = "linux")]
fn run_when_idle() -> bool {
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn run_when_idle() -> bool {
    false
}

/// How long a thread ran and waited for a processor since it began, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RunTimes {
    ran: u64,
    waited: u64,
}

impl RunTimes {
    /// From `/proc/thread-self/schedstat`, which only Linux has: ran, waited, number of slices.
    fn of_this_thread() -> Option<RunTimes> {
        RunTimes::parse(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
    }

    fn parse(text: &str) -> Option<RunTimes> {
        let mut words = text.split_ascii_whitespace();
        let mut next = || words.next()?.parse().ok();
        Some(RunTimes {
            ran: next()?,
            waited: next()?,
        })
    }

    fn is_starved_since(&self, before: &RunTimes) -> bool {
        let ran = self.ran.saturating_sub(before.ran);
        let waited = self.waited.saturating_sub(before.waited);
        waited / WORST_WAIT > ran
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_that_asks_for_it_has_a_lower_priority() {
        let steps = || rustix::process::nice(0).unwrap();
        let before = steps();
        let within = std::thread::spawn(move || {
            lower_priority();
            let started = std::thread::spawn(steps).join().unwrap();
            (steps(), started)
        });
        let after = (before + STEPS).min(19);
        assert_eq!(within.join().unwrap(), (after, after));
        assert_eq!(steps(), before);
    }

    #[test]
    fn a_thread_starves_if_it_waits_far_longer_than_it_runs() {
        let times = |ran, waited| RunTimes { ran, waited };
        assert_eq!(RunTimes::parse("17 5 3\n"), Some(times(17, 5)));
        assert_eq!(RunTimes::parse("17"), None);
        assert_eq!(RunTimes::parse("x 5 3"), None);
        let before = times(1_000, 2_000);
        assert!(times(1_010, 2_100).is_starved_since(&before));
        assert!(!times(1_010, 2_090).is_starved_since(&before));
        // A thread that wants nothing does not starve.
        assert!(!before.is_starved_since(&before));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_the_thread_that_asks_for_it_runs_in_idle_time() {
        use thread_priority::thread_schedule_policy;
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        let before = thread_schedule_policy().unwrap();
        let within = std::thread::spawn(|| {
            lower_priority();
            let mut time = IdleTime::begin().unwrap();
            assert!(!time.is_starved());
            thread_schedule_policy().unwrap()
        });
        assert_eq!(within.join().unwrap(), idle);
        assert_eq!(thread_schedule_policy().unwrap(), before);
    }
}
