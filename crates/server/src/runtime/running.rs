//! The answers that run: one for each connection, known until the next request of the connection, or its end.

use hyper::Method;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Characters of a path that are kept.
const LONGEST_PATH: usize = 200;
/// So many answers are described when the server cuts them.
const MOST_DESCRIBED: usize = 20;

type Slot = Arc<Mutex<Option<RunningAnswer>>>;

/// The answers of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningAnswers(Arc<Connections>);

#[derive(Debug, Default)]
struct Connections {
    slots: Mutex<BTreeMap<u64, Slot>>,
    last: AtomicU64,
}

/// A request from its head to the last byte of its answer.
#[derive(Clone, Debug)]
struct RunningAnswer {
    method: Method,
    path: String,
    user: Option<String>,
    begun: Instant,
}

/// The place of one connection; its answer is forgotten with it.
#[derive(Debug)]
pub(crate) struct RunningSlot {
    id: u64,
    slot: Slot,
    all: Arc<Connections>,
}

impl RunningAnswers {
    /// A place for the answers of one connection, one after the other.
    pub(crate) fn connect(&self) -> RunningSlot {
        let id = self.0.last.fetch_add(1, Ordering::Relaxed);
        let slot = Slot::default();
        self.0.slots.lock().insert(id, Arc::clone(&slot));
        RunningSlot {
            id,
            slot,
            all: Arc::clone(&self.0),
        }
    }

    /// How many answers run, and a line for each of the oldest ones.
    pub(crate) fn describe(&self) -> (usize, Vec<String>) {
        let slots: Vec<Slot> = self.0.slots.lock().values().cloned().collect();
        let running = slots.iter().filter_map(|slot| slot.lock().clone());
        let mut running: Vec<RunningAnswer> = running.collect();
        running.sort_by_key(|answer| answer.begun);
        let described = running.iter().take(MOST_DESCRIBED);
        (running.len(), described.map(ToString::to_string).collect())
    }
}

impl RunningSlot {
    /// The connection's next request has come.
    pub(crate) fn begin(&self, method: &Method, path: &str) {
        let end = path.char_indices().nth(LONGEST_PATH);
        let shown = &path[..end.map_or(path.len(), |(at, _)| at)];
        *self.slot.lock() = Some(RunningAnswer {
            method: method.clone(),
            path: shown.to_owned(),
            user: None,
            begun: Instant::now(),
        });
    }

    /// Names the user of the request.
    pub(crate) fn record_user(&self, name: Option<&str>) {
        if let Some(answer) = &mut *self.slot.lock() {
            answer.user = name.map(str::to_owned);
        }
    }
}

impl Drop for RunningSlot {
    fn drop(&mut self) {
        self.all.slots.lock().remove(&self.id);
    }
}

impl fmt::Display for RunningAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunningAnswer { method, path, .. } = self;
        write!(f, "{method} {path}")?;
        if let Some(user) = &self.user {
            write!(f, " of {user:?}")?;
        }
        let age = Duration::from_secs(self.begun.elapsed().as_secs());
        write!(f, " after {age:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_and_the_oldest_described() {
        let all = RunningAnswers::default();
        let idle = all.connect();
        assert_eq!(all.describe(), (0, Vec::new()));
        let first = all.connect();
        first.begin(&Method::GET, &"x".repeat(2 * LONGEST_PATH));
        first.record_user(Some("a\nb"));
        let others: Vec<RunningSlot> = (0..MOST_DESCRIBED).map(|_| all.connect()).collect();
        for slot in &others {
            slot.begin(&Method::PUT, "/db/doc");
        }
        let (count, lines) = all.describe();
        assert_eq!((count, lines.len()), (MOST_DESCRIBED + 1, MOST_DESCRIBED));
        let begin = format!("GET {} of \"a\\nb\" after ", "x".repeat(LONGEST_PATH));
        assert!(lines[0].starts_with(&begin), "{}", lines[0]);
        assert!(lines[1].starts_with("PUT /db/doc after "), "{}", lines[1]);
        drop((first, others, idle));
        assert_eq!(all.describe(), (0, Vec::new()));
    }
}
