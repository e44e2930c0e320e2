//! Rebases: the state of one that is under way, the order of the changesets, and the parents that each one gets.

pub(crate) mod fuzzing;
mod order;
mod parents;
mod state;

pub use order::rebase_order;
pub use parents::{RebaseParents, RebaseRefusal, RebaseTargets};
pub use state::{RebaseState, RebaseStep};
