//! Reading a repository as it was at one moment.

pub(crate) mod branches;
pub(crate) mod caches;
pub(crate) mod changed_files;
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
mod view;

pub use branches::{BranchHeads, Branches};
pub use caches::{ArrivedCaches, travelling_caches};
pub use changed_files::{SharedFiles, Touched, TouchedFiles, Travellers};
pub use introduced::{Ancestors, FileRevision};
pub use obsolete::{Evolution, Fate, Unstable};
pub use repository::Repository;
pub use store_files::{StoreFile, StoreState};
pub use view::{Audience, RepoView};
