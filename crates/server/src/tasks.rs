//! What runs for longer: `/_active_tasks`.

use crate::auth;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use varve_base::{Progress, Unit};
use varve_json::{Object, Value};

/// The tasks of one server, in the order in which they began.
#[derive(Debug, Default)]
pub struct Tasks {
    running: Arc<Mutex<BTreeMap<u64, Arc<Task>>>>,
    last: AtomicU64,
}

#[derive(Debug)]
struct Task {
    fields: Object,
    /// The name of the step, if the task shows it.
    phase: Option<Mutex<String>>,
    started: u64,
    done: AtomicU64,
    total: AtomicU64,
    failures: AtomicU64,
    updated: AtomicU64,
}

/// One running task: listed until this is dropped, and fed as any other [`Progress`].
#[derive(Debug)]
pub struct RunningTask {
    task: Arc<Task>,
    id: u64,
    running: Arc<Mutex<BTreeMap<u64, Arc<Task>>>>,
}

impl Tasks {
    /// Lists a task from now on. `kind` is CouchDB's word, such as `indexer`; `fields` are further
    /// members such as `database`.
    pub fn start(&self, kind: &str, fields: &[(&str, &str)]) -> RunningTask {
        self.list_task(kind, fields, None)
    }

    /// The same for a task that shows the name of its step as `phase`.
    pub fn start_in_phases(&self, kind: &str, fields: &[(&str, &str)]) -> RunningTask {
        self.list_task(kind, fields, Some(Mutex::default()))
    }

    fn list_task(
        &self,
        kind: &str,
        fields: &[(&str, &str)],
        phase: Option<Mutex<String>>,
    ) -> RunningTask {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut members = Object::new();
        members.insert("node", crate::node::NODE_NAME);
        members.insert("pid", format!("<0.{id}.0>"));
        members.insert("type", kind);
        for (name, value) in fields {
            members.insert(*name, *value);
        }
        let now = auth::now();
        let task = Arc::new(Task {
            fields: members,
            phase,
            started: now,
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            updated: AtomicU64::new(now),
        });
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(id, Arc::clone(&task));
        drop(running);
        RunningTask {
            task,
            id,
            running: Arc::clone(&self.running),
        }
    }

    /// The list as JSON.
    pub fn list(&self) -> Value {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.values().map(|task| task.describe()).collect()
    }
}

impl Task {
    fn describe(&self) -> Value {
        let done = self.done.load(Ordering::Relaxed);
        let total = self.total.load(Ordering::Relaxed);
        let mut members = self.fields.clone();
        if let Some(phase) = &self.phase {
            let phase = phase.lock().unwrap_or_else(PoisonError::into_inner);
            members.insert("phase", phase.as_str());
        }
        members.insert("changes_done", done);
        members.insert("total_changes", total);
        let percent = (100 * done.min(total)).checked_div(total);
        members.insert("progress", percent.unwrap_or(0));
        let failures = self.failures.load(Ordering::Relaxed);
        if failures > 0 {
            members.insert("failures", failures);
        }
        members.insert("started_on", self.started);
        members.insert("updated_on", self.updated.load(Ordering::Relaxed));
        members.into()
    }
}

impl RunningTask {
    /// Counts something that could not be done, while the task goes on.
    pub fn count_failure(&self) {
        self.task.failures.fetch_add(1, Ordering::Relaxed);
    }
}

impl Progress for RunningTask {
    fn begin(&self, step: &str, _unit: Unit, total: Option<u64>) {
        if let Some(phase) = &self.task.phase {
            let mut phase = phase.lock().unwrap_or_else(PoisonError::into_inner);
            step.clone_into(&mut phase);
        }
        self.task.done.store(0, Ordering::Relaxed);
        self.task.total.store(total.unwrap_or(0), Ordering::Relaxed);
    }

    fn advance(&self, amount: u64) {
        self.task.done.fetch_add(amount, Ordering::Relaxed);
        self.task.updated.store(auth::now(), Ordering::Relaxed);
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_listed_until_it_is_dropped() {
        let tasks = Tasks::default();
        let task = tasks.start("indexer", &[("database", "a")]);
        task.begin("changes", Unit::Items, Some(8));
        task.advance(2);
        let listed = tasks.list();
        let first = &listed.as_array().unwrap()[0];
        assert_eq!(first.get("type").and_then(Value::as_str), Some("indexer"));
        assert_eq!(first.get("database").and_then(Value::as_str), Some("a"));
        assert_eq!(first.get("progress").and_then(Value::as_u64), Some(25));
        assert_eq!(first.get("failures"), None);
        task.count_failure();
        let failures = tasks.list().as_array().unwrap()[0].get("failures").cloned();
        assert_eq!(failures.and_then(|count| count.as_u64()), Some(1));
        drop(task);
        assert_eq!(tasks.list().as_array().unwrap().len(), 0);
    }
}
