//! Commands that change the working copy or add to the history of this repository.

pub(crate) mod add;
pub(crate) mod addremove;
pub(crate) mod attend;
pub(crate) mod backout;
pub(crate) mod branch;
pub(crate) mod change;
pub(crate) mod commit;
pub(crate) mod copy;
pub(crate) mod forget;
pub(crate) mod graft;
pub(crate) mod init;
pub(crate) mod merge;
pub(crate) mod purge;
pub(crate) mod recover;
pub(crate) mod remove;
pub(crate) mod resolve;
pub(crate) mod revert;
pub(crate) mod rollback;
pub(crate) mod root;
pub(crate) mod status;
pub(crate) mod strip;
pub(crate) mod tag;
pub(crate) mod unfinished;
pub(crate) mod update;
pub(crate) mod verify;
