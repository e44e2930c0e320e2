//! All databases of an import: copied side by side, followed, compared.

use super::compare::compare;
use super::copy::DatabaseCopy;
use super::remote::RemoteServer;
use super::store::Store;
use super::{
    Event, EventSender, ServerImport, ServerImportResult, ServerImported, blocking, broken_off,
};
use crate::couch::names::check_database_name;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use varve_base::Interrupt;
use varve_json::Value;
use varve_replicate::ReplicateError;

/// Time between two looks at the sequences of all databases, while changes are followed.
const LOOKS: Duration = Duration::from_secs(1);
/// The same after a look that failed.
const LOOKS_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// An import under way.
#[derive(Clone, Debug)]
pub(super) struct Session {
    remote: Arc<RemoteServer>,
    store: Store,
    request: ServerImport,
    events: EventSender,
    stopping: watch::Receiver<bool>,
    left_out: Arc<AtomicU64>,
    /// Ends compactions.
    interrupt: Interrupt,
}

/// A step of the import of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Copy,
    /// Copies what came meanwhile, and the rest of the database; compares.
    Finish,
}

impl Session {
    pub(super) fn new(
        remote: RemoteServer,
        store: Store,
        request: &ServerImport,
        events: EventSender,
        stopping: watch::Receiver<bool>,
    ) -> Session {
        Session {
            remote: Arc::new(remote),
            store,
            request: request.clone(),
            events,
            stopping,
            left_out: Arc::default(),
            interrupt: Interrupt::default(),
        }
    }

    /// Copies, follows, compares.
    pub(super) async fn run(self) -> Result<ServerImportResult, ReplicateError> {
        let names = self.unless_stopped(self.chosen()).await?;
        self.unless_stopped(self.announce(&names)).await?;
        let copied = self.unless_stopped(self.all(&names, Step::Copy)).await;
        self.events.send(Event::Ended).await;
        copied?;
        let mut known = names;
        if self.request.follows {
            known = self.follow(known).await;
            // The interruption that ended it is not one of what follows.
            let last = Session {
                interrupt: Interrupt::default(),
                ..self
            };
            return last.end(&known).await;
        }
        self.unless_stopped(self.end(&known)).await
    }

    /// Does something until an interruption comes.
    async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, ReplicateError>>,
    ) -> Result<T, ReplicateError> {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            biased;
            _ = stopping.wait_for(|stops| *stops) => {
                self.interrupt.raise();
                Err(ReplicateError::Interrupted)
            }
            done = work => done,
        }
    }

    /// Databases to copy, sorted by name. Those that Varve does not take are named.
    async fn chosen(&self) -> Result<BTreeSet<String>, ReplicateError> {
        let is_all = self.request.databases.is_empty();
        let listed = match is_all {
            true => self.remote.names().await?,
            false => self.request.databases.clone(),
        };
        let mut chosen = BTreeSet::new();
        for name in listed {
            match check_database_name(&name) {
                Ok(()) => {
                    chosen.insert(name);
                }
                Err(_) => {
                    self.left_out
                        .fetch_add(u64::from(!is_all), Ordering::Relaxed);
                    let what = "not imported: Varve takes no database of this name";
                    self.report_line(format!("{name}: {what}")).await;
                }
            }
        }
        Ok(chosen)
    }

    /// Refuses databases that came from elsewhere before anything is copied, and says how much there is to do.
    async fn announce(&self, names: &BTreeSet<String>) -> Result<(), ReplicateError> {
        let counts = self.each(names, |session, name| async move {
            match session.begin(&name).await {
                Ok(Some(copy)) => copy.remaining().await,
                Ok(None) => Ok(0),
                Err(ReplicateError::Server(_)) => Ok(0),
                Err(error) => Err(error),
            }
        });
        let counts = counts.await?;
        let total = counts.into_values().fold(0, u64::saturating_add);
        self.events.send(Event::Total(total)).await;
        Ok(())
    }

    /// Opens a database; `None` if it is left alone.
    async fn begin(&self, name: &str) -> Result<Option<DatabaseCopy>, ReplicateError> {
        let with = (&self.store, self.request.retries, &self.events);
        match DatabaseCopy::begin(name, &self.remote, with).await {
            Err(ReplicateError::Foreign(_)) if self.request.skips_existing => Ok(None),
            begun => begun.map(Some),
        }
    }

    /// Does a step for each of the databases. One that the server refuses is named, and the others go on.
    async fn all(
        &self,
        names: &BTreeSet<String>,
        step: Step,
    ) -> Result<Vec<(ServerImported, u64)>, ReplicateError> {
        let done = self.each(names, move |session, name| async move {
            match session.one(&name, step).await {
                Err(ReplicateError::NoSuchDatabase(_)) => {
                    let what = "deleted at the server meanwhile; what was copied stays";
                    session.lacks(format!("{name}: {what}")).await;
                    Ok(None)
                }
                Err(ReplicateError::Server(reason)) => {
                    session.lacks(format!("{name}: not copied: {reason}")).await;
                    Ok(None)
                }
                done => done,
            }
        });
        Ok(done.await?.into_values().flatten().collect())
    }

    /// Does something for each of the databases, some of them side by side.
    async fn each<T: Send + 'static, F>(
        &self,
        names: &BTreeSet<String>,
        work: impl Fn(Session, String) -> F,
    ) -> Result<BTreeMap<String, T>, ReplicateError>
    where
        F: Future<Output = Result<T, ReplicateError>> + Send + 'static,
    {
        let (mut results, mut working) = (BTreeMap::new(), JoinSet::new());
        let mut names = names.iter();
        loop {
            while working.len() < self.request.jobs.max(1)
                && let Some(name) = names.next()
            {
                let (name, future) = (name.clone(), work(self.clone(), name.clone()));
                working.spawn(async move { (name, future.await) });
            }
            match working.join_next().await {
                None => return Ok(results),
                Some(done) => {
                    let (name, done) = done.map_err(broken_off)?;
                    results.insert(name, done?);
                }
            }
        }
    }

    async fn one(
        &self,
        name: &str,
        step: Step,
    ) -> Result<Option<(ServerImported, u64)>, ReplicateError> {
        let Some(mut copy) = self.begin(name).await? else {
            if step == Step::Finish {
                self.report_line(format!("{name}: left alone: it is there already"))
                    .await;
            }
            return Ok(None);
        };
        copy = copy.catch_up().await?;
        let is_first = !copy.checkpoint.is_whole;
        if is_first || step == Step::Finish {
            copy = copy.finish(self.interrupt.clone()).await?;
        }
        let mut compared = Default::default();
        if step == Step::Finish {
            (copy, compared) = compare(copy).await?;
        }
        self.left_out
            .fetch_add(copy.parts_left_out(), Ordering::Relaxed);
        if step == Step::Finish && self.request.follows {
            let seq = match &copy.checkpoint.since {
                Value::String(text) => text.clone(),
                other => varve_json::to_string(other),
            };
            self.report_line(format!("{name}: in step up to {seq}"))
                .await;
        }
        let (database, source_bytes) = (copy.database.clone(), copy.info.file_bytes);
        let name = name.to_owned();
        blocking(move || {
            if step == Step::Finish || is_first {
                database.seal()?;
            }
            let imported = ServerImported {
                name,
                documents: compared.documents,
                revisions: compared.revisions,
                attachments: compared.attachments,
                source_bytes,
                file_bytes: database.sizes()?.file,
                chunks: database.compression()?.chunk_stats,
            };
            Ok(Some((imported, compared.differences)))
        })
        .await
    }

    /// Copies changes of all databases, also of new ones, until an interruption comes; returns the databases that there
    /// are then.
    async fn follow(&self, names: BTreeSet<String>) -> BTreeSet<String> {
        let mut known = names;
        let mut seqs: BTreeMap<String, Value> = BTreeMap::new();
        self.report_line("following changes; Ctrl-C ends it".to_owned())
            .await;
        let mut stopping = self.stopping.clone();
        loop {
            let looked = self.unless_stopped(self.look(&mut known, &mut seqs)).await;
            let pause = match looked {
                Ok(()) => LOOKS,
                Err(ReplicateError::Interrupted) => return known,
                Err(error) => {
                    self.report_line(format!("cannot follow at the moment: {error}"))
                        .await;
                    LOOKS_AFTER_FAILURE
                }
            };
            tokio::select! {
                _ = stopping.wait_for(|stops| *stops) => return known,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Copies what has changed since the last look.
    async fn look(
        &self,
        known: &mut BTreeSet<String>,
        seqs: &mut BTreeMap<String, Value>,
    ) -> Result<(), ReplicateError> {
        if self.request.databases.is_empty() {
            for name in self.remote.names().await? {
                let is_new = check_database_name(&name).is_ok() && known.insert(name.clone());
                if is_new {
                    self.report_line(format!("{name}: new at the server")).await;
                }
            }
        }
        let names: Vec<String> = known.iter().cloned().collect();
        let found = self.remote.update_seqs(&names).await?;
        let has_changed = |name: &&String| {
            let seq = found.get(*name);
            seq.is_some() && seq != seqs.get(*name)
        };
        let changed: BTreeSet<String> = names.iter().filter(has_changed).cloned().collect();
        self.all(&changed, Step::Copy).await?;
        seqs.extend(found);
        Ok(())
    }

    /// Copies what came meanwhile, and compares.
    async fn end(&self, names: &BTreeSet<String>) -> Result<ServerImportResult, ReplicateError> {
        let done = self.all(names, Step::Finish).await?;
        let differences = done.iter().map(|(_, differences)| differences).sum();
        Ok(ServerImportResult {
            databases: done.into_iter().map(|(imported, _)| imported).collect(),
            left_out: self.left_out.load(Ordering::Relaxed),
            differences,
        })
    }

    /// Names a database that is not copied as the server has it.
    async fn lacks(&self, what: String) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
        self.events.found(what).await;
    }

    async fn report_line(&self, line: String) {
        self.events.send(Event::Line(line)).await;
    }
}
