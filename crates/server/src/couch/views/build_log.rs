//! Reports the output and the failures of map functions during an index build to the operator, but not once for each of
//! a million documents.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

use varve_views::BuildLog;

use crate::{CouchContext, RunningTask};

/// So many lines are logged at once for a database.
const LINES: u32 = 20;
/// After this, one line more.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Bytes of a line's text.
const LENGTH: usize = 1000;

/// How many lines a database may still have.
#[derive(Debug)]
pub struct RateLimiter(Mutex<Left>);

#[derive(Debug)]
struct Left {
    lines: u32,
    counted: Instant,
    withheld: u64,
    /// When the number of withheld lines was last logged.
    summed_up: Option<Instant>,
}

impl Default for RateLimiter {
    fn default() -> Self {
        RateLimiter(Mutex::new(Left {
            lines: LINES,
            counted: Instant::now(),
            withheld: 0,
            summed_up: None,
        }))
    }
}

impl RateLimiter {
    /// Takes a line, if there is one.
    fn take(&self, now: Instant) -> bool {
        let mut left = self.0.lock();
        let passed = now.saturating_duration_since(left.counted);
        let more = passed.as_secs() / LINE_EVERY.as_secs();
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            left.lines = left.lines.saturating_add(more).min(LINES);
            left.counted = now;
        }
        let taken = left.lines.checked_sub(1);
        match taken {
            Some(lines) => left.lines = lines,
            None => left.withheld += 1,
        }
        taken.is_some()
    }

    /// How many lines were not told since this was last asked; that is a line too.
    fn withheld(&self, now: Instant) -> u64 {
        let mut left = self.0.lock();
        let since = left
            .summed_up
            .map(|when| now.saturating_duration_since(when));
        if left.withheld == 0 || since.is_some_and(|since| since < LINE_EVERY) {
            return 0;
        }
        left.summed_up = Some(now);
        std::mem::take(&mut left.withheld)
    }
}

/// The log of one build. When it is dropped, it says how much was left out, unless that was just said.
pub struct BuildLogger<'a> {
    pub app: &'a CouchContext,
    /// The build, which counts failures.
    pub task: &'a RunningTask,
    pub limiter: &'a RateLimiter,
    /// Name of the database.
    pub database: &'a str,
    /// Id of the design document.
    pub design: &'a str,
}

impl BuildLogger<'_> {
    fn log(&self, words: impl FnOnce() -> String) {
        if self.limiter.take(Instant::now()) {
            let mut words = words();
            words.truncate(words.floor_char_boundary(LENGTH));
            self.report(&words);
        }
    }

    fn report(&self, words: &str) {
        let (design, database) = (self.design, self.database);
        self.app.log().scope(|| {
            tracing::warn!(
                database,
                design,
                "the index of {design} in {database}: {words}"
            )
        });
    }
}

impl BuildLog for BuildLogger<'_> {
    fn message(&self, document: &str, text: &str) {
        self.log(|| format!("log of document {document:?}: {text}"));
    }

    fn failure(&self, document: &str, view: Option<&str>, reason: &str) {
        self.task.count_failure();
        self.log(|| match view {
            Some(view) => format!("document {document:?} has no rows in view {view}: {reason}"),
            None => format!("document {document:?} has no rows: {reason}"),
        });
    }
}

impl Drop for BuildLogger<'_> {
    fn drop(&mut self) {
        let withheld = self.limiter.withheld(Instant::now());
        if withheld > 0 {
            self.report(&format!("{withheld} more messages of its functions"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_until_they_are_used_up_and_again_after_a_while() {
        let limiter = RateLimiter::default();
        let begin = Instant::now();
        let told = |at: Instant| (0..1000).filter(|_| limiter.take(at)).count();
        assert_eq!(told(begin), LINES as usize);
        assert_eq!(limiter.withheld(begin), 1000 - u64::from(LINES));
        assert_eq!((told(begin), limiter.withheld(begin)), (0, 0));
        assert_eq!(limiter.withheld(begin + LINE_EVERY), 1000);
        assert_eq!(limiter.withheld(begin + 9 * LINE_EVERY), 0);
        assert_eq!(told(begin + 2 * LINE_EVERY), 2);
        assert_eq!(told(begin + 2 * LINE_EVERY), 0);
        assert_eq!(told(begin + 1000 * LINE_EVERY), LINES as usize);
    }
}
