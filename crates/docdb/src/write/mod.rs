//! Committing: requests that come in while a commit is under way share the next one.

mod access;
mod commit;
mod copied;
mod documents;
mod group;
mod purge;
mod syncs;

pub(crate) use commit::{Commit, Job, Outcomes, commit, seal};
pub(crate) use group::{Callback, Committer, Group, WRITER_LINGER};
pub(crate) use purge::Purging;
pub use syncs::Durability;
pub(crate) use syncs::Syncs;
