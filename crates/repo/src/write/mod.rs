//! Changing a repository: transactions, and all that is written in one.

mod bookmarks;
mod clone;
pub(crate) mod commit;
pub(crate) mod create;
mod markers;
pub(crate) mod new_store;
mod phases;
mod receive;
mod recover;
mod rollback;
mod strip;
pub(crate) mod transaction;
pub(crate) mod transaction_hooks;
mod worker;

pub use clone::CloneCounts;
pub use commit::{CommitBatch, CommitFiles, FileChange, NewChangeset};
pub use new_store::NewStore;
pub use phases::PhaseMove;
pub use receive::{ChangegroupCounts, NewRevision, PendingHistory, ReceiveReport, Receiver};
pub use recover::AbandonedTransaction;
pub use rollback::LastTransaction;
pub use strip::{StripOptions, bundle_name};
pub use transaction::Transaction;
