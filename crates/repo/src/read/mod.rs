//! Reading a repository as it was at one moment.

mod ancestry;
pub(crate) mod bisection;
mod bisection_sets;
pub(crate) mod branches;
pub(crate) mod caches;
pub(crate) mod changed_files;
mod changed_lines;
pub(crate) mod content;
pub mod fileset;
mod introduced;
mod locking;
mod lookup;
mod newer_changesets;
mod obsolete;
mod repository;
mod stamp;
pub(crate) mod store_files;
pub(crate) mod tags;
mod unlisted;
mod view;

pub(crate) use ancestry::common_heads;
pub use bisection::{BisectState, BisectStep};
pub use bisection_sets::{BisectSet, BisectSets};
pub use branches::{BranchHeads, Branches};
pub use caches::{ReceivedCaches, streamed_cache_names};
pub use changed_files::{ChangedFiles, OutgoingRevisions, OutgoingSet, SharedFileRevisions};
pub use changed_lines::{ChangedLine, changed_lines};
pub use introduced::{Ancestors, FileRevision};
pub use lookup::prefix_digits;
pub use obsolete::{
    Evolution, Instabilities, InstabilityCause, ObsFate, RewriteRefusal, SuccessorsWithMarkers,
};
pub use repository::Repository;
pub use store_files::{StoreFile, StoreSnapshot};
pub use view::{RepoView, ViewFilter};
