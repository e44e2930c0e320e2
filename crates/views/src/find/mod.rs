//! Queries by selector: which index answers one, which of its ranges, and which fields of the documents are shown.

mod bookmark;
mod covered;
mod cursor;
mod error;
mod explain;
mod index;
mod named;
mod options;
mod plan;
mod project;
mod ranges;
mod rows;
mod sort;

pub use bookmark::Bookmark;
pub use cursor::{Cursor, FindStats, Hit, Step};
pub use error::FindError;
pub use explain::{explain, explain_unusable};
pub(crate) use index::JsonMap;
pub use index::{JsonIndex, NewIndex, all_docs_to_json};
pub(crate) use named::Named;
pub use options::{DEFAULT_LIMIT, FindOptions};
pub use plan::{Analysis, Candidate, Plan, Reason};
pub use ranges::KeyRange;
pub use rows::FoundRows;
pub use sort::Sorting;
