//! Rebases: the state of one that is under way, the order of the changesets, and the parents that each one gets.

mod collapse;
pub(crate) mod fuzzing;
mod order;
mod orphans;
mod parents;
mod state;

pub use collapse::external_parent;
pub use order::rebase_order;
pub use orphans::orphan_destinations;
pub use parents::{RebaseParents, RebaseRefusal, RebaseTargets};
pub use state::{RebaseState, RebaseStep};
