//! Files of changesets and of the working copy after tools have fixed them.
//!
//! A [`FixPlan`] says against which changesets each place is compared, [`fix_items`] which files are to be fixed, and
//! [`changed_lines`] which of their lines. Running the tools is the caller's; [`fix_changesets`] commits what they have
//! written.

mod items;
mod lines;
mod plan;
mod rewrite;

pub use items::{FixItem, FixScope, fix_items};
pub use lines::changed_lines;
pub use plan::{FixPlace, FixPlan};
pub use rewrite::{FixRequest, FixedChangeset, FixedFiles, fix_changesets, move_to_fixed};
