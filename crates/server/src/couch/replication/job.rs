//! One job: what it replicates, who asked for it, and how far it is.

use super::error::ReplicationError;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use varve_json::{Object, Value};
use varve_replicate::replicator::checkpoint::Counts;
use varve_replicate::replicator::identity::ReplicationId;
use varve_replicate::replicator::{ReplicationRequest, backoff};

/// The request or document that a job was made for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JobOrigin {
    /// The user who asked for it.
    pub user: Option<String>,
    /// Database and id of the document that asks for it; none of a request to `_replicate`.
    pub document: Option<(String, String)>,
}

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobPhase {
    /// Waits for its turn, or until the time after a crash is over.
    Pending,
    Running,
    /// At its end.
    Completed,
}

/// Something that happened to a job.
#[derive(Clone, Debug)]
struct JobEvent {
    /// CouchDB's word.
    kind: &'static str,
    time: u64,
    reason: Option<String>,
}

/// How far a run has come.
#[derive(Clone, Debug, Default)]
pub(super) struct RunInfo {
    pub counts: Counts,
    /// Up to where everything is in the target.
    pub through_seq: Value,
    /// Up to where a checkpoint says so.
    pub checkpointed_seq: Value,
    /// Up to where the source was read.
    pub source_seq: Value,
    pub pending: Option<u64>,
}

impl RunInfo {
    pub fn to_json(&self) -> Object {
        let mut info = Object::new();
        info.insert("revisions_checked", self.counts.revisions_checked);
        info.insert("missing_revisions_found", self.counts.missing_found);
        info.insert("docs_read", self.counts.docs_read);
        info.insert("docs_written", self.counts.docs_written);
        info.insert(
            "changes_pending",
            self.pending.map_or(Value::Null, Value::from),
        );
        info.insert("doc_write_failures", self.counts.doc_write_failures);
        info.insert("bulk_get_docs", self.counts.bulk_get_docs);
        info.insert("bulk_get_attempts", self.counts.bulk_get_attempts);
        info.insert("checkpointed_source_seq", self.checkpointed_seq.clone());
        info.insert("source_seq", self.source_seq.clone());
        info.insert("through_seq", self.through_seq.clone());
        info
    }
}

/// How a run ended, for those who wait for it.
pub(super) type RunOutcome = Result<Object, ReplicationError>;

/// One replication.
#[derive(Debug)]
pub(super) struct Job {
    pub id: ReplicationId,
    pub request: ReplicationRequest,
    pub origin: JobOrigin,
    /// Seconds since 1970.
    pub started: u64,
    state: Mutex<JobState>,
    /// Ends a run after a last checkpoint.
    stop: watch::Sender<bool>,
    outcome: watch::Sender<Option<RunOutcome>>,
}

#[derive(Debug)]
struct JobState {
    phase: JobPhase,
    /// Crashes without a run that went well in between.
    crashes: u32,
    /// When it last began to run, or to wait.
    since: Instant,
    updated: u64,
    events: VecDeque<JobEvent>,
    info: Option<RunInfo>,
    error: Option<String>,
}

/// A job's state as lists show it.
#[derive(Clone, Debug)]
pub(super) struct JobView {
    pub phase: JobPhase,
    pub crashes: u32,
    pub updated: u64,
    pub info: Value,
    pub history: Value,
}

impl Job {
    pub fn new(id: ReplicationId, request: ReplicationRequest, origin: JobOrigin, now: u64) -> Job {
        let job = Job {
            id,
            request,
            origin,
            started: now,
            state: Mutex::new(JobState {
                phase: JobPhase::Pending,
                crashes: 0,
                since: Instant::now(),
                updated: now,
                events: VecDeque::new(),
                info: None,
                error: None,
            }),
            stop: watch::Sender::new(false),
            outcome: watch::Sender::new(None),
        };
        job.note("added", now, None, usize::MAX);
        job
    }

    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Has the run end after a last checkpoint.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub fn outcome(&self) -> watch::Receiver<Option<RunOutcome>> {
        self.outcome.subscribe()
    }

    pub fn phase(&self) -> JobPhase {
        self.state.lock().phase
    }

    /// When it last began to run, or to wait.
    pub fn since(&self) -> Instant {
        self.state.lock().since
    }

    /// How long it has still to wait before it may run.
    pub fn wait(&self, now: Instant) -> Duration {
        let state = self.state.lock();
        let until = state.since + backoff::after_crashes(state.crashes);
        until.saturating_duration_since(now)
    }

    pub fn publish(&self, info: RunInfo, now: u64) {
        let mut state = self.state.lock();
        state.info = Some(info);
        state.updated = now;
    }

    /// A run has got as far as a checkpoint, or has caught up: earlier crashes count no more.
    pub fn recover(&self) {
        let mut state = self.state.lock();
        state.crashes = 0;
        state.error = None;
    }

    fn note(&self, kind: &'static str, time: u64, reason: Option<String>, most: usize) {
        let mut state = self.state.lock();
        state.events.push_front(JobEvent { kind, time, reason });
        state.events.truncate(most);
        state.updated = time;
    }

    pub fn begin(&self, now: u64, most_events: usize) {
        self.stop.send_replace(false);
        {
            let mut state = self.state.lock();
            state.phase = JobPhase::Running;
            state.since = Instant::now();
        }
        self.note("started", now, None, most_events);
    }

    /// A run is over that was stopped for others to run.
    pub fn pause(&self, now: u64, most_events: usize) {
        {
            let mut state = self.state.lock();
            state.phase = JobPhase::Pending;
            state.since = Instant::now();
        }
        self.note("stopped", now, None, most_events);
    }

    /// A run has failed; the job waits before the next one.
    pub fn crash(&self, error: &ReplicationError, now: u64, most_events: usize) {
        {
            let mut state = self.state.lock();
            state.phase = JobPhase::Pending;
            state.crashes = state.crashes.saturating_add(1);
            state.since = Instant::now();
            state.error = Some(error.told());
        }
        self.note("crashed", now, Some(error.told()), most_events);
        self.outcome.send_replace(Some(Err(error.clone())));
    }

    /// A run has come to the end of a job that is not continuous.
    pub fn complete(&self, result: Object, now: u64) {
        {
            let mut state = self.state.lock();
            state.phase = JobPhase::Completed;
            state.updated = now;
        }
        self.outcome.send_replace(Some(Ok(result)));
    }

    pub fn view(&self) -> JobView {
        let state = self.state.lock();
        let info = match (&state.error, &state.info) {
            (Some(error), _) if state.phase == JobPhase::Pending => {
                let mut info = Object::new();
                info.insert("error", error.as_str());
                Value::from(info)
            }
            (_, Some(info)) => info.to_json().into(),
            (_, None) => Value::Null,
        };
        let events = state.events.iter().map(|event| {
            let mut one = Object::new();
            one.insert("timestamp", timestamp(event.time));
            one.insert("type", event.kind);
            if let Some(reason) = &event.reason {
                one.insert("reason", reason.as_str());
            }
            Value::from(one)
        });
        JobView {
            phase: state.phase,
            crashes: state.crashes,
            updated: state.updated,
            info,
            history: Value::from_iter(events),
        }
    }

    /// The run's figures so far.
    pub fn info(&self) -> RunInfo {
        self.state.lock().info.clone().unwrap_or_default()
    }
}

/// A time in the form of RFC 3339, in UTC.
pub(super) fn timestamp(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The same in the form of HTTP dates.
pub(super) fn http_date(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_forms_of_the_peer() {
        assert_eq!(timestamp(1_700_000_000), "2023-11-14T22:13:20Z");
        assert_eq!(http_date(1_700_000_000), "Tue, 14 Nov 2023 22:13:20 GMT");
    }
}
