//! View indexes: building, reduces and queries.
//!
//! A [`ViewGroup`] is the views of a design document. Its [`ViewIndex`] is one file with one tree for each map
//! function, in the order of the keys, and one that tells which rows a document has; it is brought up to date from a
//! snapshot of a database and then queried. The file's format is described in `docs/formats/view-index.md`.
//! A group may instead be one filter of `_changes`: then its rows are the changes that pass, by sequence.

mod build;
mod change_row;
mod compact;
mod design;
mod error;
mod failed_document;
mod files;
pub mod find;
pub mod fuzzing;
mod group;
mod header;
mod index;
mod memtable_budget;
pub mod options;
mod passing;
mod principals;
mod query;
mod reduce;
mod row;
pub mod selector;
mod term;
mod transfer;

pub use build::{BuildContext, BuildLog, BuildThrottle, NoLog};
pub use design::{DesignError, check_design, library};
pub use error::ViewError;
pub use files::{list_indexes, remove_stale};
pub use group::{IndexKind, Signature, ViewGroup};
pub use index::{IndexOptions, IndexSnapshot, ViewIndex};
pub use memtable_budget::MemtableBudget;
pub use options::{Grouping, OptionError, QueryOptions, Update};
pub use passing::{PassingChange, PassingChanges};
pub use query::{Answer, GroupRow, GroupRows, GroupStep, MapRows};
pub use row::Row;
pub use transfer::{IndexExport, IndexReplacement};

use index::{BY_DOCUMENT, tree_of_map};
