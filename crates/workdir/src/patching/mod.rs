//! Patches that are imported: applied to the working copy, or to the files of a changeset alone, and committed.
//!
//! All patches of one call are one transaction. The working copy and the dirstate in memory go along with the
//! changesets that are not stored yet; the dirstate is written when they are.

mod checkout;
mod chosen;
mod memory;
mod session;
mod working;

pub use checkout::CheckedOut;
pub use chosen::{apply_chosen, apply_to_working_copy};
pub use memory::PatchedChangeset;
pub use session::{PatchSession, SessionStart};
pub use working::PatchedFiles;

use varve_patch::PatchNotice;

/// Receives what there is to tell about hunks.
pub type PatchObserver<'a> = &'a mut dyn FnMut(&PatchNotice<'_>);
