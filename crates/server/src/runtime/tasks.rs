//! Long-running tasks: `/_active_tasks`.

use crate::runtime::{NODE_NAME, clock};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use varve_base::{Progress, Unit};
use varve_json::{Object, Value};

/// So many tasks that failed are listed, the last ones.
const MOST_FAILED: usize = 100;
/// Prefix of the type of a failed task: clients that wait for running tasks look for the type alone.
const FAILED: &str = "failed_";

type Listed = Arc<Mutex<BTreeMap<u64, Arc<Task>>>>;

/// The tasks of one server, in the order in which they began.
#[derive(Debug, Default)]
pub struct Tasks {
    running: Listed,
    /// Those that came to a bad end, until the same is begun again.
    failed: Listed,
    last: AtomicU64,
}

#[derive(Debug)]
struct Task {
    kind: String,
    /// Details, such as the database.
    about: Vec<(String, String)>,
    /// Reason of the failure.
    error: OnceLock<String>,
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
    running: Listed,
    failed: Listed,
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
        let about = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let now = clock::now();
        let task = Arc::new(Task {
            kind: kind.to_owned(),
            about: fields.iter().map(about).collect(),
            error: OnceLock::new(),
            phase,
            started: now,
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            updated: AtomicU64::new(now),
        });
        lock(&self.failed).retain(|_, failed| !failed.is_same(&task));
        lock(&self.running).insert(id, Arc::clone(&task));
        RunningTask {
            task,
            id,
            running: Arc::clone(&self.running),
            failed: Arc::clone(&self.failed),
        }
    }

    /// Forgets the failed tasks of a database that is no more.
    pub fn forget(&self, database: &str) {
        let is_of = |(name, value): &(String, String)| name == "database" && value == database;
        lock(&self.failed).retain(|_, failed| !failed.about.iter().any(is_of));
    }

    /// Forgets that something of this kind failed with a database.
    pub(crate) fn forget_failed(&self, kind: &str, database: &str) {
        let is_of = |(name, value): &(String, String)| name == "database" && value == database;
        let mut failed = lock(&self.failed);
        failed.retain(|_, failed| failed.kind != kind || !failed.about.iter().any(is_of));
    }

    /// The list as JSON: the running tasks, and then the failed ones.
    pub fn list(&self) -> Value {
        let lists = [&self.running, &self.failed].map(|list| lock(list).clone());
        let all = lists.iter().flatten();
        all.map(|(id, task)| task.describe(*id)).collect()
    }
}

/// A panic while holding the lock leaves the map whole: every change of it is one call.
fn lock(list: &Listed) -> MutexGuard<'_, BTreeMap<u64, Arc<Task>>> {
    list.lock()
}

impl Task {
    fn is_same(&self, other: &Task) -> bool {
        self.kind == other.kind && self.about == other.about
    }

    fn describe(&self, id: u64) -> Value {
        let done = self.done.load(Ordering::Relaxed);
        let total = self.total.load(Ordering::Relaxed);
        let error = self.error.get();
        let failed = if error.is_some() { FAILED } else { "" };
        let mut members = Object::new();
        members.insert("node", NODE_NAME);
        members.insert("pid", format!("<0.{id}.0>"));
        members.insert("type", format!("{failed}{}", self.kind));
        for (name, value) in &self.about {
            members.insert(name.as_str(), value.as_str());
        }
        if let Some(phase) = &self.phase {
            let phase = phase.lock();
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
        if let Some(error) = error {
            members.insert("error", error.as_str());
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

    /// Leaves the task in the list, with the reason, until the same is begun once more.
    pub fn fail(&self, reason: &str) {
        self.task.updated.store(clock::now(), Ordering::Relaxed);
        let _ = self.task.error.set(reason.to_owned());
        let mut failed = lock(&self.failed);
        failed.insert(self.id, Arc::clone(&self.task));
        if failed.len() > MOST_FAILED {
            failed.pop_first();
        }
    }
}

impl Progress for RunningTask {
    fn begin(&self, step: &str, _unit: Unit, total: Option<u64>) {
        if let Some(phase) = &self.task.phase {
            let mut phase = phase.lock();
            step.clone_into(&mut phase);
        }
        self.task.done.store(0, Ordering::Relaxed);
        self.task.total.store(total.unwrap_or(0), Ordering::Relaxed);
    }

    fn advance(&self, amount: u64) {
        self.task.done.fetch_add(amount, Ordering::Relaxed);
        self.task.updated.store(clock::now(), Ordering::Relaxed);
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        lock(&self.running).remove(&self.id);
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

    fn listed(tasks: &Tasks) -> Vec<String> {
        let list = tasks.list();
        let list = list.as_array().unwrap().iter().map(|task| {
            let [kind, of, error] = ["type", "database", "error"].map(|name| {
                let member = task.get(name).and_then(Value::as_str);
                member.unwrap_or("-").to_owned()
            });
            format!("{kind} {of} {error}")
        });
        list.collect()
    }

    #[test]
    fn a_task_that_failed_is_listed_until_the_same_begins_again() {
        let tasks = Tasks::default();
        let fail = |of: &str, why: &str| tasks.start("copy", &[("database", of)]).fail(why);
        fail("a", "no room");
        fail("b", "damage");
        assert_eq!(
            listed(&tasks),
            ["failed_copy a no room", "failed_copy b damage"]
        );
        let again = tasks.start("copy", &[("database", "a")]);
        assert_eq!(listed(&tasks), ["copy a -", "failed_copy b damage"]);
        drop(again);
        assert_eq!(listed(&tasks), ["failed_copy b damage"]);
        tasks.forget("b");
        assert!(listed(&tasks).is_empty());
        for number in 0..=MOST_FAILED {
            fail(&number.to_string(), "x");
        }
        let last = listed(&tasks);
        assert_eq!((last.len(), &*last[0]), (MOST_FAILED, "failed_copy 1 x"));
    }
}
