//! Repositories as databases: `hg/NAME` for each repository `NAME`, brought in step behind requests.
//!
//! A push through this server is followed at once. Changes by other programs are found by looking: every
//! `[history] poll_secs` the times and lengths of a few files of each repository are compared with those of the last
//! look. Notices of the system (`inotify`) would need a watch for each directory below `repos`, of which a system has a
//! limited number, come late or never from network file systems, and may be lost when many come, so that a look would be
//! needed all the same. A look takes at most a twentieth of the time.

mod contents;
mod pages;

pub(crate) use contents::{claims, route};

use crate::couch::database::files::file_of;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::history::RepositoryRights;
use crate::couch::names::check_database_name;
use crate::hg::{HistorySource, HistoryStamp, RepoRegistry};
use crate::http::{FailureKind, blocking};
use crate::runtime::repeats::fault_id;
use crate::runtime::scheduler::{Job, JobKind};
use crate::{CouchContext, Failure, UserContext};
use pages::PageDatabases;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::time::sleep_until;
use varve_base::Interrupt;
use varve_docdb::NewDatabase;
use varve_history::{
    DESIGN, HistoryError, database_name, is_of_repository, repository_name, synchronize,
};

/// The type of the entry in the list of tasks.
const TASK: &str = "history";
/// A repository that changed less long ago may change again without another time.
const SETTLED: Duration = Duration::from_secs(2);
/// A database that could not follow is tried again after this, as after a change of its repository.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// Looks take at most one part in so many of the time.
const SHARE_OF_LOOKS: u32 = 20;

/// The databases of a served directory's repositories.
#[derive(Debug)]
pub(crate) struct HistoryDatabases {
    couch: Arc<CouchContext>,
    hg: Arc<RepoRegistry>,
    known: Mutex<HashMap<String, KnownRepository>>,
}

/// State of a repository that its database follows.
#[derive(Clone, Debug, Default)]
struct KnownRepository {
    /// Of the repository when its database was last brought in step; `None` if it may have changed since.
    stamp: Option<HistoryStamp>,
    /// The settings want it as a database, and it is one.
    has_database: bool,
    /// The reason why its database could not follow, as it was logged.
    failure: Option<String>,
    /// When that was.
    failed: Option<Instant>,
}

/// Rights to the databases of repositories, by the configurations of these.
#[derive(Debug)]
struct Rights(Arc<RepoRegistry>);

impl RepositoryRights for Rights {
    fn may_read(&self, database: &str, user: &UserContext) -> Result<bool, Failure> {
        match repository_name(database) {
            Some(repository) => self.0.may_read(&repository, user),
            None => Ok(false),
        }
    }
}

impl HistoryDatabases {
    /// Has the repositories decide who reads their databases. Nothing is read before [`HistoryDatabases::run`].
    pub(crate) fn new(couch: Arc<CouchContext>, hg: Arc<RepoRegistry>) -> Arc<HistoryDatabases> {
        let rights = Arc::new(Rights(Arc::clone(&hg)));
        // There is one such object for each server.
        let _ = couch.repository_rights.set(rights);
        let databases = Arc::new(HistoryDatabases {
            couch,
            hg: Arc::clone(&hg),
            known: Mutex::default(),
        });
        hg.set_databases(Arc::new(PageDatabases(Arc::downgrade(&databases))));
        databases
    }

    /// Follows the repositories until the server stops.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut settings = self.couch.watch_settings();
        let mut used = self.couch.settings().history.clone();
        let mut next_look = Instant::now();
        let mut walk = Walk::default();
        while !self.couch.server().is_stopping() {
            tokio::select! {
                () = self.couch.server().stopped() => return,
                () = self.hg.pushed().wait() => {
                    for name in self.hg.pushed().take() {
                        self.submit(name);
                    }
                }
                () = sleep_until(next_look.into()) => {
                    let began = Instant::now();
                    walk = Arc::clone(&self).look(walk).await;
                    let pause = (began.elapsed() * SHARE_OF_LOOKS).max(used.poll);
                    next_look = Instant::now() + pause;
                }
                changed = settings.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let now = self.couch.settings().history.clone();
                    if now != used {
                        used = now;
                        self.known.lock().clear();
                        next_look = Instant::now();
                    }
                }
            }
        }
    }

    /// Submits the repositories that have changed, as far as can be seen from outside.
    async fn look(self: Arc<Self>, walk: Walk) -> Walk {
        let pool = self.couch.executor().reads.clone();
        let looking = Arc::clone(&self);
        let looked = blocking(&pool, move || {
            let walk = walk.renewed(&looking.hg)?;
            let changed: Vec<String> = (walk.names.iter())
                .filter(|name| looking.has_changed(name))
                .cloned()
                .collect();
            let is_there = |name: &String| walk.names.binary_search(name).is_ok();
            looking.known.lock().retain(|name, _| is_there(name));
            Ok((walk, changed))
        });
        match looked.await {
            Ok((walk, changed)) => {
                changed.into_iter().for_each(|name| self.submit(name));
                walk
            }
            Err(failure) => {
                let log = self.couch.log();
                log.scope(|| tracing::error!("the repositories cannot be listed: {failure}"));
                Walk::default()
            }
        }
    }

    fn has_changed(&self, name: &str) -> bool {
        let stamp = self.hg.history_stamp(name).ok();
        let known = self.known.lock().get(name).cloned().unwrap_or_default();
        let is_due = known
            .failed
            .is_some_and(|when| when.elapsed() > RETRY_AFTER);
        if is_due || known.stamp.is_none() || known.stamp != stamp {
            return true;
        }
        // A client may have deleted the database.
        let file = file_of(&database_name(name));
        known.has_database && matches!(self.couch.storage().kind(&file), Ok(None))
    }

    fn submit(self: &Arc<Self>, name: String) {
        let following = Arc::clone(self);
        let key = name.clone();
        let job = Job::new(JobKind::History, key, move |stop| {
            following.follow(&name, stop)
        });
        // A server that stops follows at its next start.
        let _ = self.couch.server().scheduler.submit(job);
    }

    /// Brings the database of one repository in step.
    fn follow(&self, name: &str, stop: &Interrupt) {
        let stamp = self.hg.history_stamp(name).ok();
        let followed = self.synchronize(name, stop);
        let is_interrupted = stop.is_raised();
        let (has_database, failure) = match followed {
            Ok(has_database) => (has_database, None),
            Err(_) if is_interrupted => return,
            Err(reason) => (false, Some(reason)),
        };
        let is_settled = |newest: SystemTime| newest.elapsed().is_ok_and(|age| age > SETTLED);
        let stamp = stamp.filter(|stamp| stamp.newest().is_none_or(is_settled));
        let mut known = self.known.lock();
        let before = known.insert(
            name.to_owned(),
            KnownRepository {
                stamp,
                has_database,
                failed: failure.is_some().then(Instant::now),
                failure: failure.clone(),
            },
        );
        drop(known);
        let is_known = before.is_some_and(|before| before.failure == failure);
        if let Some(reason) = failure.filter(|_| !is_known) {
            let words = format!("the database of repository {name}: {reason}");
            let fault = fault_id(&words);
            let log = self.couch.log();
            log.scope(|| tracing::error!(repository = name, fault, "{words}"));
        }
    }

    /// Returns whether the repository is to be a database; the error is for the operator.
    fn synchronize(&self, name: &str, stop: &Interrupt) -> Result<bool, String> {
        let settings = self.couch.settings().history.clone();
        let database_name = database_name(name);
        let Some(source) = self.hg.history_source(name, &settings)? else {
            return Ok(false);
        };
        let database = self.database(&database_name)?;
        let words = |error: HistoryError| error.to_string();
        if !is_of_repository(&database.documents.snapshot()).map_err(words)? {
            return Err(HistoryError::Foreign.to_string());
        }
        database.mark_as_history();
        let filled = self.fill(name, (&source, &database), stop);
        match filled {
            // The next look finds that it is gone.
            _ if database.documents.is_deleted() => Ok(true),
            filled => filled.map(|()| true).map_err(words),
        }
    }

    fn fill(
        &self,
        name: &str,
        (source, database): (&HistorySource, &OpenDatabase),
        stop: &Interrupt,
    ) -> Result<(), HistoryError> {
        let fields = [("database", &*database.name), ("repository", name)];
        let task = self.couch.tasks().start(TASK, &fields);
        let view = source.repository.view()?;
        let designed = database.documents.snapshot().document(DESIGN)?;
        let filled = synchronize(
            &view,
            &database.documents,
            source.settings.clone(),
            (&task, stop),
        );
        if let Err(error) = &filled
            && !stop.is_raised()
            && !database.documents.is_deleted()
        {
            task.fail(&error.to_string());
        }
        filled?;
        let snapshot = database.documents.snapshot();
        if snapshot.document(DESIGN)? != designed {
            database.indexes.follow(&self.couch, &snapshot, DESIGN);
        }
        Ok(())
    }

    /// The database of that name, made if there is none.
    fn database(&self, name: &str) -> Result<Arc<OpenDatabase>, String> {
        check_database_name(name).map_err(|failure| failure.reason)?;
        match self.couch.databases.get(name) {
            Err(failure) if failure.kind == FailureKind::NotFound => {
                let made = self.couch.databases.create(name, NewDatabase::default());
                made.map_err(|failure| failure.reason)
            }
            found => found.map_err(|failure| failure.reason),
        }
    }
}

/// The repositories that there are, which takes a walk through all directories.
#[derive(Debug, Default)]
struct Walk {
    /// In order.
    names: Vec<String>,
    /// When the next walk is due.
    next: Option<Instant>,
}

impl Walk {
    /// The same, or a newer one if it is due.
    fn renewed(self, hg: &RepoRegistry) -> Result<Walk, Failure> {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return Ok(self);
        }
        let names = hg.repository_names().map_err(Failure::internal)?;
        let next = Instant::now() + began.elapsed() * SHARE_OF_LOOKS;
        Ok(Walk {
            names,
            next: Some(next),
        })
    }
}
