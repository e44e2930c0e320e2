//! Faults that come again and again: the first one is written at once, the others are counted. A full disk that fails
//! every write of every client is one line, and one more for each minute in which it went on.
//!
//! Events take part by a field `fault`, a number that is the same for the same fault: see [`fault_id`].

use crate::runtime::log::Message;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use varve_lang::date::Date;

/// How long a fault is only counted after it was written.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);
/// More faults than these are written each time: a bound of memory.
const MOST_FAULTS: usize = 256;

/// The number of a fault, from what is the same each time that it happens.
pub(crate) fn fault_id(reason: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    reason.hash(&mut hasher);
    hasher.finish()
}

/// The faults that were written lately; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeats(Arc<Mutex<HashMap<u64, Repeated>>>);

/// Occurrences of one fault.
#[derive(Debug)]
struct Repeated {
    written: Instant,
    message: String,
    /// How often it happened since, and between which times.
    count: u64,
    first: SystemTime,
    last: SystemTime,
}

impl Repeated {
    fn new(message: String) -> Repeated {
        let now = SystemTime::now();
        Repeated {
            written: Instant::now(),
            message,
            count: 0,
            first: now,
            last: now,
        }
    }

    /// The line that stands for all repetitions, if there were any.
    fn summary(&self) -> Option<String> {
        let Repeated { count, message, .. } = self;
        let (first, last) = (time_of_day(self.first), time_of_day(self.last));
        (*count > 0).then(|| format!("{count} times more from {first} to {last}: {message}"))
    }
}

impl Repeats {
    /// Whether a fault is to be written; if not, it is counted.
    fn is_new(&self, fault: u64, message: String) -> bool {
        let mut known = self.0.lock();
        if let Some(repeated) = known.get_mut(&fault) {
            repeated.last = SystemTime::now();
            if repeated.count == 0 {
                repeated.first = repeated.last;
            }
            repeated.count += 1;
            return false;
        }
        if known.len() < MOST_FAULTS {
            known.insert(fault, Repeated::new(message));
        }
        true
    }

    /// The lines for repetitions of faults that were written at least `age` ago; these are counted anew, and those
    /// that did not come again are forgotten.
    pub(crate) fn take_summaries(&self, age: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        self.0.lock().retain(|_, repeated| {
            if repeated.written.elapsed() < age {
                return true;
            }
            let summary = repeated.summary();
            let is_kept = summary.is_some();
            lines.extend(summary);
            *repeated = Repeated::new(std::mem::take(&mut repeated.message));
            is_kept
        });
        lines
    }
}

impl<S: Subscriber> Layer<S> for Repeats {
    fn event_enabled(&self, event: &Event<'_>, _context: Context<'_, S>) -> bool {
        let mut found = Fault::default();
        event.record(&mut found);
        match found.id {
            Some(id) => self.is_new(id, found.message.0),
            None => true,
        }
    }
}

/// The fields `fault` and `message` of an event.
#[derive(Default)]
struct Fault {
    id: Option<u64>,
    message: Message,
}

impl Visit for Fault {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "fault" {
            self.id = Some(value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.message.record_debug(field, value);
    }
}

/// Hours, minutes and seconds, in UTC.
fn time_of_day(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Date { time, zone: 0 }.format("%H:%M:%S")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_written_once_and_then_counted() {
        let repeats = Repeats::default();
        let tell = |fault: &str| repeats.is_new(fault_id(fault), format!("PUT /db: {fault}"));
        assert!(tell("full") && tell("damaged"));
        for _ in 0..3 {
            assert!(!tell("full"));
        }
        assert_eq!(repeats.take_summaries(WINDOW), [""; 0]);
        let [line] = &repeats.take_summaries(Duration::ZERO)[..] else {
            panic!("only one came again");
        };
        assert!(line.starts_with("3 times more from "), "{line}");
        assert!(line.ends_with(": PUT /db: full"), "{line}");
        // The one that came again is still only counted; the other is forgotten.
        assert!(!tell("full") && tell("damaged"));
        assert_eq!(repeats.take_summaries(Duration::ZERO).len(), 1);
        assert_eq!(repeats.take_summaries(Duration::ZERO), [""; 0]);
        assert!(tell("full"));
    }

    #[test]
    fn faults_of_a_server_with_very_many_are_all_written() {
        let repeats = Repeats::default();
        for number in 0..2 * MOST_FAULTS as u64 {
            assert!(repeats.is_new(number, String::new()));
        }
        assert_eq!(repeats.0.lock().len(), MOST_FAULTS);
    }
}
