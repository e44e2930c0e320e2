//! Working copies on a real file system, against naive models.
#![allow(clippy::unwrap_used, reason = "a test that cannot do its work fails")]

mod absorbing;
mod amend;
mod bookmarks;
mod branch_merge;
mod commit;
mod criss_cross;
mod destination;
mod dirstate;
mod fixing;
mod graft;
mod histedit;
mod histories;
mod ignore;
mod laws;
mod local_state;
mod merge_laws;
mod model;
mod named_files;
mod obstacles;
mod parent_crash;
mod patching;
mod path_copies;
mod rebasing;
mod replay;
mod revert;
mod shelving;
mod small_files;
mod stat_cache;
mod states;
mod status;
mod strip;
mod synthetic;
mod tags;
mod update;
