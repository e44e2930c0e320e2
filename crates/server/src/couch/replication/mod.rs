//! Replication: jobs that copy databases from and to other servers, as `_replicate` and the documents of `_replicator` ask
//! for them.
//!
//! ```text
//!   api          _replicate, _scheduler/jobs, _scheduler/docs
//!   documents    follows the databases named _replicator
//!   rules        who may see and change these documents
//!   scheduler    which jobs run, which wait, and for how long after a crash
//!   run          one run of a job: checkpoints, changes, batches
//!   batch        one batch of changes: missing revisions, reading, writing
//!   import       copies all databases of another server into a directory that no server has
//!   peer         one side of a replication: requests over HTTP, sent again after failures that may pass
//! ```
//! A job is a future; it holds no thread while it waits for the other side.

pub(in crate::couch) mod api;
mod batch;
mod database;
mod documents;
mod error;
pub mod import;
mod job;
mod peer;
pub(in crate::couch) mod rules;
mod run;
mod scheduler;

pub(in crate::couch) use documents::ReplicatorDocuments;
pub(crate) use scheduler::ReplicationJobs;
pub(in crate::couch) use scheduler::run_jobs;

/// The database whose documents are replications.
pub(crate) const REPLICATOR: &str = "_replicator";

/// Whether the documents of a database of this name are replications.
pub(crate) fn is_replicator(name: &str) -> bool {
    let end = name.rsplit('/').next();
    end == Some(REPLICATOR)
}
