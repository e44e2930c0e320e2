//! `_replicate` and `_scheduler`.

mod lists;
mod replicate;

pub(in crate::couch) use lists::{active_tasks, scheduler};
pub(super) use replicate::identify;
pub(in crate::couch) use replicate::replicate;
