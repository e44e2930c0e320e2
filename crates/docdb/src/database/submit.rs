//! Handing work to the writer.

use super::{Database, Shared};
use crate::edit::Prepared;
use crate::write::{Callback, Commit, Committer, Job, Outcomes, WRITER_LINGER, commit};
use crate::{DocdbError, Edit, EditOutcome, Mode};
use std::sync::{Arc, Weak};
use std::thread;
use varve_base::ReadMode;

/// An edit with everything done for it that needs no writer.
#[derive(Debug)]
pub struct ReadyEdit(Prepared);

impl Database {
    /// Does everything for an edit that needs no writer, and changes nothing. `reads` is how the
    /// revision that it edits is read.
    ///
    /// # Errors
    /// As [`Database::update`]; [`DocdbError::WouldBlock`].
    pub fn prepare(
        &self,
        mut edit: Edit,
        mode: Mode,
        reads: ReadMode,
    ) -> Result<ReadyEdit, DocdbError> {
        if edit.id.is_empty() {
            edit.id = self.new_id();
        }
        let prepared = self.prepare_all(vec![edit], mode, reads)?.pop();
        let prepared = prepared.ok_or_else(|| self.abandoned())?;
        Ok(ReadyEdit(prepared))
    }

    /// [`Database::update_one`] for callers that cannot wait: `done` is called with the outcome, on another thread; it
    /// must be short. It is dropped if the last handle of the database is.
    pub fn update_later(
        &self,
        edit: ReadyEdit,
        done: impl FnOnce(Result<EditOutcome, DocdbError>) + Send + 'static,
    ) {
        let abandoned = self.abandoned();
        let call: Callback<Outcomes> = Box::new(move |outcomes| {
            done(outcomes.and_then(|outcomes| outcomes.into_iter().next().ok_or(abandoned)));
        });
        self.submit_later(Job::Edits(vec![edit.0]), call);
    }

    pub(super) fn submit_later(&self, job: Job, call: Callback<Outcomes>) {
        self.as_committer(|by| self.shared.group.submit_with_callback(job, call, by));
    }

    pub(super) fn submit(&self, job: Job) -> Result<Outcomes, DocdbError> {
        self.as_committer(|by| self.shared.group.submit(job, by))
    }

    fn abandoned(&self) -> DocdbError {
        DocdbError::Abandoned {
            path: self.shared.path.clone(),
        }
    }

    fn as_committer<T>(&self, work: impl FnOnce(&Committer<'_, Job, Outcomes>) -> T) -> T {
        work(&Committer {
            commit: &|jobs| self.commit(jobs),
            spawn_writer: &|| self.spawn_writer(),
            abandoned: self.abandoned(),
        })
    }

    fn commit(&self, jobs: &[Job]) -> Result<Vec<Outcomes>, DocdbError> {
        let shared = &self.shared;
        let is_deferred = shared.syncs.may_defer();
        let (outcomes, is_new) = self.write(|file, txn| {
            let trained = shared.training.take();
            let how = Commit {
                path: &shared.path,
                configured: shared.options.current_setting(),
                is_deferred,
            };
            let (snapshot, outcomes) = commit(txn, &how, trained, jobs)?;
            let is_new = snapshot.is_some();
            if let Some(snapshot) = snapshot {
                self.show(file, snapshot.clone());
                self.consider_training(snapshot);
            }
            Ok((outcomes, is_new))
        })?;
        match (is_new, is_deferred) {
            (true, true) => self.sync_later(),
            (true, false) => shared.syncs.end(true),
            (false, _) => {}
        }
        Ok(outcomes)
    }

    /// Begins a thread that writes for callers that cannot wait. Whether there is one.
    fn spawn_writer(&self) -> bool {
        let shared = Arc::downgrade(&self.shared);
        let thread = thread::Builder::new().name("writer".to_owned());
        thread.spawn(move || write(&shared)).is_ok()
    }
}

/// The writer's loop; a writer without work does not keep the database open.
fn write(weak: &Weak<Shared>) {
    while let Some(shared) = weak.upgrade() {
        let database = Database { shared };
        database.as_committer(|by| database.shared.group.commit_all(by));
        drop(database);
        thread::park_timeout(WRITER_LINGER);
        let is_called = |shared: Arc<Shared>| shared.group.is_woken_again();
        if !weak.upgrade().is_some_and(is_called) {
            return;
        }
    }
}
