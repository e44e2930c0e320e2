//! Shelved changes: their files below `.hg/shelved`, the state of an unshelve that left conflicts, and the step from a
//! changeset to local changes.

pub(crate) mod fuzzing;
mod local_changes;
mod shelf;
mod state;

pub use local_changes::{leave_changeset, plan_local_changes, show_as_local_changes};
pub use shelf::{ListedShelf, ShelfDirectory, ShelfFile, ShelvedChanges};
pub use state::UnshelveState;
