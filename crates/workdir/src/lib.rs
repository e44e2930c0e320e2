//! The working copy of a Mercurial repository: which files are tracked and how they stand.
//!
//! The dirstate is repository data and goes through the repository's storage; the files of the
//! working copy itself have modes, links and times, and are handled with `std::fs`. A server has no
//! use for any of this and must not import it.

mod audit;
mod dirstate;
mod error;
pub mod fuzzing;
mod ignore;
mod status;

pub use audit::PathAuditor;
pub use dirstate::{Dirstate, Item, Match, Seen, State, Timestamp, Tracking};
pub use error::WorkdirError;
pub use ignore::{Ignore, IgnoreFiles};
pub use status::{Listing, Status, StatusRequest, WorkingStatus, working_status};
