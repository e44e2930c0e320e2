//! The working copy of a Mercurial repository: which files are tracked and how they stand.
//!
//! The dirstate is repository data and goes through the repository's storage; the files of the
//! working copy itself have modes, links and times, and are handled with `std::fs`. A server has no
//! use for any of this and must not import it.

mod audit;
mod commit;
mod dirstate;
mod error;
mod files;
pub mod filesets;
pub mod fuzzing;
mod ignore;
mod local;
mod marks;
mod merge;
mod merge_state;
mod revert;
mod similar;
mod status;
mod tree;
mod update;

pub use audit::PathAuditor;
pub use commit::{
    AMEND, Amend, AmendPlace, Amended, CommitPlace, Marker, Words, amend, commit, message,
};
pub use dirstate::{Dirstate, Item, Match, Seen, State, Timestamp, Tracking};
pub use error::WorkdirError;
pub use files::{Backups, WorkingFiles};
pub use ignore::{Ignore, IgnoreFiles};
pub use local::{Standing, standing};
pub use marks::{active_bookmark, branch, set_active_bookmark, set_branch};
pub use merge::{Chosen, Tool, ToolChoice};
pub use merge_state::{clear_merge, has_unresolved, other_side, unresolved};
pub use revert::{Action, RevertPlan, RevertStep, plan_revert, revert};
pub use similar::{Candidate, Rename, renames};
pub use status::{
    Listing, Status, StatusRequest, WorkingStatus, copies_against, copies_between, status_against,
    status_between, working_status,
};
pub use tree::{Tracked, Tree};
pub use update::{
    Answer, Attendant, Local, News, Question, UpdateRequest, Updated, destination, is_interrupted,
    update,
};
