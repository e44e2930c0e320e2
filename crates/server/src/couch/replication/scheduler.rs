//! Which jobs run.
//!
//! At most `max_jobs` run at a time, those that have waited for the longest time first. While jobs wait, each round of
//! the scheduler stops up to `max_churn` continuous jobs that have run for the longest time; a job that is not continuous
//! runs to its end. A job that crashed waits twice as long as after the crash before.

use super::documents::WaitingDocuments;
use super::error::ReplicationError;
use super::job::{Job, JobOrigin, JobPhase, RunOutcome};
use super::local::MOST_BATCHES;
use super::peer::Clients;
use super::run::{RunEnd, run};
use crate::CouchContext;
use crate::runtime::clock::now;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::Instant;
use varve_config::Replicator;
use varve_json::Object;
use varve_replicate::replicator::ReplicationRequest;
use varve_replicate::replicator::identity::ReplicationId;

/// Until a job that was told to stop has to have ended.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// All jobs of a server.
#[derive(Debug)]
pub(crate) struct ReplicationJobs {
    /// By identity. Jobs that differ only behind the `+` share checkpoints, which each of them reads anew after a conflict.
    jobs: Mutex<BTreeMap<String, Arc<Job>>>,
    /// Jobs with a run that has not ended, by the run's task; never more than `max_jobs` had when the last one was added.
    running: Mutex<HashMap<task::Id, Arc<Job>>>,
    /// Documents whose jobs have no identity yet.
    pub(super) waiting: WaitingDocuments,
    clients: Clients,
    /// Permits for batches between databases of this server.
    batches: Arc<Semaphore>,
    /// Something has changed that the scheduler should look at.
    changed: Notify,
    /// Jobs of documents that have come to their end.
    ended: mpsc::UnboundedSender<EndedJob>,
    /// Taken by the task that writes it into documents.
    ended_jobs: Mutex<Option<mpsc::UnboundedReceiver<EndedJob>>>,
}

/// A job of a document at its end.
#[derive(Debug)]
pub(super) struct EndedJob {
    pub database: String,
    pub document: String,
    pub id: ReplicationId,
    pub stats: Object,
}

impl Default for ReplicationJobs {
    fn default() -> ReplicationJobs {
        let (ended, ended_jobs) = mpsc::unbounded_channel();
        ReplicationJobs {
            jobs: Mutex::default(),
            running: Mutex::default(),
            waiting: WaitingDocuments::default(),
            clients: Clients::default(),
            batches: Arc::new(Semaphore::new(MOST_BATCHES)),
            changed: Notify::new(),
            ended,
            ended_jobs: Mutex::new(Some(ended_jobs)),
        }
    }
}

impl ReplicationJobs {
    pub(super) fn clients(&self) -> &Clients {
        &self.clients
    }

    pub(super) fn batches(&self) -> &Arc<Semaphore> {
        &self.batches
    }

    /// Jobs of documents that come to their end; once.
    pub(super) fn take_ended(&self) -> Option<mpsc::UnboundedReceiver<EndedJob>> {
        self.ended_jobs.lock().take()
    }

    /// Adds a job, or finds the one that is there already.
    ///
    /// # Errors
    /// [`ReplicationError::AlreadyStarted`] if that one belongs to another document.
    pub(super) fn add(
        &self,
        id: ReplicationId,
        request: ReplicationRequest,
        origin: JobOrigin,
    ) -> Result<Arc<Job>, ReplicationError> {
        let mut jobs = self.jobs.lock();
        let key = id.to_string();
        if let Some(known) = jobs.get(&key) {
            return match known.origin.document == origin.document {
                true => Ok(Arc::clone(known)),
                false => Err(already_started(known, &origin)),
            };
        }
        let job = Arc::new(Job::new(id, request, origin, now()));
        jobs.insert(key, Arc::clone(&job));
        self.changed.notify_one();
        Ok(job)
    }

    /// Ends a job and forgets it.
    pub(super) fn remove(&self, job: &Arc<Job>) {
        self.forget(job);
        job.stop();
        self.changed.notify_one();
    }

    /// The jobs of documents, by database and id.
    pub(super) fn by_document(&self) -> HashMap<(String, String), Arc<Job>> {
        let jobs = self.jobs.lock();
        let of_documents = jobs.values().filter_map(|job| {
            let document = job.origin.document.clone()?;
            Some((document, Arc::clone(job)))
        });
        of_documents.collect()
    }

    /// The job of a document.
    pub(super) fn of_document(&self, database: &str, id: &str) -> Option<Arc<Job>> {
        let is_it = |job: &&Arc<Job>| {
            let document = job.origin.document.as_ref();
            document.is_some_and(|(name, document)| name == database && document == id)
        };
        self.jobs.lock().values().find(is_it).cloned()
    }

    /// All jobs, in the order of their identities.
    pub(super) fn all(&self) -> Vec<Arc<Job>> {
        self.jobs.lock().values().cloned().collect()
    }

    /// How many jobs there are, and how many of them run and wait.
    pub(in crate::couch) fn counts(&self) -> [u64; 3] {
        let all = self.all();
        let of = |phase| all.iter().filter(|job| job.phase() == phase).count() as u64;
        [
            all.len() as u64,
            of(JobPhase::Running),
            of(JobPhase::Pending),
        ]
    }

    /// The jobs that run at this moment, in the order of their identities.
    pub(super) fn running(&self) -> Vec<Arc<Job>> {
        let running = self.running.lock();
        // A run that has ended stays in the map until the scheduler looks at it.
        let at_work = running
            .values()
            .filter(|job| job.phase() == JobPhase::Running);
        let mut jobs: Vec<_> = at_work.cloned().collect();
        drop(running);
        // One that was cancelled may still be about to write its last checkpoint.
        jobs.retain(|job| self.is_known(job));
        jobs.sort_by_cached_key(|job| job.id.to_string());
        jobs
    }

    /// The job of an identity; the first one whose identity begins so, if nothing stands behind a `+`.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Job>> {
        // In a path that was not escaped, a `+` was read as a space, of which no identity has any.
        let id = id.replace(' ', "+");
        let jobs = self.jobs.lock();
        let begins_so = || jobs.values().find(|job| job.id.base == id);
        jobs.get(&id).or_else(begins_so).cloned()
    }

    fn is_known(&self, job: &Arc<Job>) -> bool {
        let jobs = self.jobs.lock();
        let known = jobs.get(&job.id.to_string());
        known.is_some_and(|known| Arc::ptr_eq(known, job))
    }

    /// Returns whether the job was there still, and not another one in its place.
    fn forget(&self, job: &Arc<Job>) -> bool {
        let mut jobs = self.jobs.lock();
        let key = job.id.to_string();
        let is_there = jobs.get(&key).is_some_and(|known| Arc::ptr_eq(known, job));
        if is_there {
            jobs.remove(&key);
        }
        is_there
    }
}

fn already_started(known: &Job, origin: &JobOrigin) -> ReplicationError {
    let by = match &known.origin.document {
        Some((database, id)) => format!("triggered by document `{id}` from db `{database}`"),
        None => "by a request to _replicate".to_owned(),
    };
    let asked = match &origin.document {
        Some((_, id)) => format!("specified by document `{id}`"),
        None => "of this request".to_owned(),
    };
    ReplicationError::AlreadyStarted(format!(
        "Replication `{}` {asked} already started, {by}",
        known.id
    ))
}

/// Waits for the next outcome of a job.
pub(super) async fn next_outcome(
    mut outcome: watch::Receiver<Option<RunOutcome>>,
) -> Option<RunOutcome> {
    let outcome = outcome.wait_for(Option::is_some).await.ok()?;
    outcome.clone()
}

/// Runs jobs until the server stops.
pub(in crate::couch) async fn run_jobs(app: Arc<CouchContext>) {
    let mut stopping = app.stopping();
    let mut running = Runs::default();
    let mut next_round = Instant::now() + app.settings().replicator.interval;
    loop {
        let settings = Arc::new(app.settings().replicator.clone());
        let jobs = app.replications.all();
        running.start(&app, &jobs, &settings);
        if Instant::now() >= next_round {
            rotate(&jobs, &settings);
            next_round = Instant::now() + settings.interval;
        }
        let wake = next_wake(&jobs).min(next_round);
        tokio::select! {
            _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
            () = app.replications.changed.notified() => {}
            () = tokio::time::sleep_until(wake) => {}
            Some(ended) = running.tasks.join_next_with_id() => running.end(&app.replications, ended, &settings),
        }
        // A round stops many jobs, and each look at all of them costs.
        while let Some(ended) = running.tasks.try_join_next_with_id() {
            running.end(&app.replications, ended, &settings);
        }
    }
    app.replications.all().iter().for_each(|job| job.stop());
    let all = async { while running.tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(STOP_LIMIT, all).await;
}

/// When the next waiting job may run.
fn next_wake(jobs: &[Arc<Job>]) -> Instant {
    let now = Instant::now();
    let waiting = jobs.iter().filter(|job| job.phase() == JobPhase::Pending);
    let waits = waiting
        .map(|job| job.wait(now))
        .filter(|wait| !wait.is_zero());
    now + waits.min().unwrap_or(Duration::from_secs(3600))
}

/// Stops jobs that have run for the longest time, while others wait.
fn rotate(jobs: &[Arc<Job>], settings: &Replicator) {
    let now = Instant::now();
    let is_ready = |job: &&Arc<Job>| job.phase() == JobPhase::Pending && job.wait(now).is_zero();
    let waiting = jobs.iter().filter(is_ready).count();
    let is_long =
        |job: &&Arc<Job>| job.phase() == JobPhase::Running && job.request.options.continuous;
    let mut oldest: Vec<_> = jobs.iter().filter(is_long).collect();
    oldest.sort_by_key(|job| job.since());
    let count = waiting.min(settings.max_churn);
    oldest.iter().take(count).for_each(|job| job.stop());
}

/// The tasks of jobs that run.
#[derive(Default)]
struct Runs {
    tasks: JoinSet<()>,
}

impl Runs {
    /// Starts jobs that wait, those first that have waited for the longest time.
    fn start(&mut self, app: &Arc<CouchContext>, jobs: &[Arc<Job>], settings: &Arc<Replicator>) {
        let now = Instant::now();
        let mut running = app.replications.running.lock();
        let room = settings.max_jobs.saturating_sub(running.len());
        if room == 0 {
            return;
        }
        let busy: HashSet<&ReplicationId> = running.values().map(|job| &job.id).collect();
        let mut ready: Vec<_> = jobs
            .iter()
            .filter(|job| job.phase() == JobPhase::Pending && job.wait(now).is_zero())
            .filter(|job| !busy.contains(&job.id))
            .map(|job| (job.since(), job))
            .collect();
        if ready.len() > room {
            ready.select_nth_unstable_by_key(room, |(since, _)| *since);
            ready.truncate(room);
        }
        ready.sort_by_key(|(since, _)| *since);
        for (_, job) in ready {
            job.begin(crate::runtime::clock::now(), settings.max_history);
            let work = run_once(Arc::clone(app), Arc::clone(job), Arc::clone(settings));
            let handle = self.tasks.spawn(work);
            running.insert(handle.id(), Arc::clone(job));
        }
    }

    /// A run is over. One that panicked has crashed.
    fn end(
        &self,
        all: &ReplicationJobs,
        ended: Result<(task::Id, ()), JoinError>,
        settings: &Replicator,
    ) {
        let (id, failure) = match ended {
            Ok((id, ())) => (id, None),
            Err(error) => (error.id(), Some(error)),
        };
        let job = all.running.lock().remove(&id);
        if let Some(job) = job
            && let Some(failure) = failure
        {
            let error = ReplicationError::Broken(failure.to_string());
            job.crash(&error, now(), settings.max_history);
        }
    }
}

/// Runs a job once, and records how that ended.
async fn run_once(app: Arc<CouchContext>, job: Arc<Job>, settings: Arc<Replicator>) {
    let (source, target) = (job.request.source.shown(), job.request.target.shown());
    let id = job.id.to_string();
    let ended = run(&app, &job, &settings).await;
    let time = now();
    match ended {
        Ok(RunEnd::Completed(result)) => {
            job.complete(result, time);
            // The end of a job that another one has replaced is no end of the document's.
            if app.replications.forget(&job)
                && let Some((database, document)) = &job.origin.document
            {
                let ended = EndedJob {
                    database: database.clone(),
                    document: document.clone(),
                    id: job.id.clone(),
                    stats: job.info().to_json(),
                };
                // Without a receiver the server stops.
                let _ = app.replications.ended.send(ended);
            }
        }
        Ok(RunEnd::Stopped) => job.pause(time, settings.max_history),
        Err(error) => {
            if app.replications.is_known(&job) {
                app.log().scope(|| {
                    tracing::warn!("replication {id} from {source} to {target} failed: {error}");
                });
            }
            job.crash(&error, time, settings.max_history);
            // The client of `_replicate` is told, and nothing else asks for it.
            if job.origin.document.is_none() && !job.request.options.continuous {
                app.replications.forget(&job);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_replicate::replicator::Parsed;

    fn request(more: &str) -> ReplicationRequest {
        let text = format!(r#"{{"source":"http://a/x","target":"http://b/y"{more}}}"#);
        let members = varve_json::parse_object(text.as_bytes()).unwrap();
        match ReplicationRequest::parse(&members, &Replicator::default(), None) {
            Ok(Parsed::Start(request)) => *request,
            other => panic!("{other:?}"),
        }
    }

    fn add(jobs: &ReplicationJobs, more: &str) -> Arc<Job> {
        let request = request(more);
        let id = ReplicationId::new(&request, "uuid", None, None);
        jobs.add(id, request, JobOrigin::default()).unwrap()
    }

    #[test]
    fn jobs_that_differ_behind_the_plus_are_two() {
        let jobs = ReplicationJobs::default();
        let (once, live) = (add(&jobs, ""), add(&jobs, r#","continuous":true"#));
        assert_eq!(once.id.base, live.id.base);
        assert!(Arc::ptr_eq(&add(&jobs, ""), &once));
        let found = jobs.get(&live.id.to_string()).unwrap();
        assert!(Arc::ptr_eq(&found, &live));
        jobs.remove(&once);
        let found = jobs.get(&live.id.base).unwrap();
        assert!(Arc::ptr_eq(&found, &live));
        assert!(jobs.get("other").is_none());
    }

    #[test]
    fn the_end_of_a_job_that_was_replaced_is_no_end() {
        let jobs = ReplicationJobs::default();
        let first = add(&jobs, "");
        jobs.remove(&first);
        let second = add(&jobs, "");
        assert!(!jobs.forget(&first) && !jobs.is_known(&first));
        assert!(jobs.is_known(&second) && jobs.forget(&second));
        assert!(!jobs.forget(&second));
    }

    #[test]
    fn a_run_that_panics_is_a_crash() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let jobs = ReplicationJobs::default();
        let job = add(&jobs, "");
        job.begin(0, 9);
        runtime.block_on(async {
            let mut runs = Runs::default();
            let handle = runs.tasks.spawn(async { panic!("on purpose") });
            jobs.running.lock().insert(handle.id(), Arc::clone(&job));
            assert_eq!(jobs.running().len(), 1);
            let ended = runs.tasks.join_next_with_id().await.unwrap();
            runs.end(&jobs, ended, &Replicator::default());
            assert!(jobs.running.lock().is_empty());
        });
        let view = job.view();
        assert_eq!((view.phase, view.crashes), (JobPhase::Pending, 1));
        let info = varve_json::to_string(&view.info);
        assert!(info.contains("the run broke off"), "{info}");
    }

    #[test]
    fn waits_grow_until_a_run_gets_somewhere() {
        let job = add(&ReplicationJobs::default(), "");
        let error = ReplicationError::TooLong(String::new());
        let crash = || {
            job.crash(&error, 0, 9);
            job.wait(job.since()).as_secs()
        };
        assert_eq!((crash(), crash()), (30, 60));
        // A run that has only begun.
        job.publish(Default::default(), 0);
        assert_eq!(crash(), 120);
        job.recover();
        assert_eq!(crash(), 30);
    }
}
