//! Files that smoosh's channels have chosen, and whether compactions begin: shared with `/_node/_local/_smoosh`.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;
use varve_json::{Object, Value};

/// Chosen and running compactions, by channel.
#[derive(Clone, Debug)]
pub(crate) struct SmooshQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    chosen: Mutex<ChosenFiles>,
    is_suspended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct ChosenFiles {
    /// Channel, state and priority, by a number of each file's own.
    files: BTreeMap<u64, (String, ChosenState, f64)>,
    next: u64,
}

/// How far a file has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChosenState {
    Waiting,
    Active,
}

/// A file that is chosen, until this is dropped.
#[derive(Debug)]
pub(super) struct QueuedFile {
    queue: SmooshQueue,
    number: u64,
}

impl Default for SmooshQueue {
    fn default() -> SmooshQueue {
        SmooshQueue(Arc::new(Shared {
            chosen: Mutex::default(),
            is_suspended: watch::Sender::new(false),
        }))
    }
}

impl SmooshQueue {
    /// Adds a file.
    pub(super) fn add(&self, channel: &str, priority: f64) -> QueuedFile {
        let mut chosen = self.0.chosen.lock();
        let number = chosen.next;
        chosen.next += 1;
        let file = (channel.to_owned(), ChosenState::Waiting, priority);
        chosen.files.insert(number, file);
        QueuedFile {
            queue: self.clone(),
            number,
        }
    }

    /// Whether no compaction begins, and running ones are given up.
    pub(crate) fn is_suspended(&self) -> bool {
        *self.0.is_suspended.borrow()
    }

    pub(crate) fn suspend(&self, is_suspended: bool) {
        self.0.is_suspended.send_replace(is_suspended);
    }

    /// Completes once compactions may begin.
    pub(super) async fn resumed(&self) {
        let mut state = self.0.is_suspended.subscribe();
        // It fails only if the sender is gone, which belongs to this.
        let _ = state.wait_for(|is_suspended| !is_suspended).await;
    }

    /// For each of these channels how many files are compacted and how many wait, with their lowest and highest priority.
    pub(crate) fn describe<'c>(&self, channels: impl Iterator<Item = &'c str>) -> Object {
        let chosen = self.0.chosen.lock();
        let mut described = Object::new();
        for channel in channels {
            let of_channel = chosen.files.values().filter(|(of, ..)| of == channel);
            let (waiting, active): (Vec<_>, Vec<_>) =
                of_channel.partition(|(_, state, _)| *state == ChosenState::Waiting);
            let mut queue = Object::new();
            queue.insert("size", waiting.len() as u64);
            let priorities = || waiting.iter().map(|(.., priority)| *priority);
            if let (Some(min), Some(max)) =
                (priorities().reduce(f64::min), priorities().reduce(f64::max))
            {
                queue.insert("min", number(min));
                queue.insert("max", number(max));
            }
            let mut status = Object::new();
            status.insert("active", active.len() as u64);
            // A compaction runs as soon as it is started.
            status.insert("starting", 0_u64);
            status.insert("waiting", queue);
            described.insert(channel, status);
        }
        described
    }
}

fn number(priority: f64) -> Value {
    Value::Number(varve_json::Number::Float(priority))
}

impl QueuedFile {
    /// Its compaction begins.
    pub(super) fn begin(&self) {
        if let Some((_, state, _)) = self.queue.0.chosen.lock().files.get_mut(&self.number) {
            *state = ChosenState::Active;
        }
    }
}

impl Drop for QueuedFile {
    fn drop(&mut self) {
        self.queue.0.chosen.lock().files.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_tell_what_waits_and_what_runs() {
        let queue = SmooshQueue::default();
        let describe = || {
            let described = queue.describe(["ratio_dbs", "slack_dbs"].into_iter());
            varve_json::to_string(&described.into())
        };
        let files = [2.5, 8.0, 3.0].map(|priority| queue.add("ratio_dbs", priority));
        files[1].begin();
        assert_eq!(
            describe(),
            "{\"ratio_dbs\":{\"active\":1,\"starting\":0,\"waiting\":{\"size\":2,\"min\":2.5,\"max\":3.0}},\
             \"slack_dbs\":{\"active\":0,\"starting\":0,\"waiting\":{\"size\":0}}}"
        );
        drop(files);
        assert!(describe().starts_with("{\"ratio_dbs\":{\"active\":0"));
    }

    #[tokio::test]
    async fn nothing_begins_until_it_is_resumed() {
        let queue = SmooshQueue::default();
        queue.resumed().await;
        queue.suspend(true);
        assert!(queue.is_suspended());
        let waiting = queue.clone();
        let waits = tokio::spawn(async move { waiting.resumed().await });
        queue.suspend(false);
        waits.await.unwrap();
    }
}
