//! Working copies on a real file system, against naive models.
#![allow(clippy::unwrap_used, reason = "a test that cannot do its work fails")]

mod amend;
mod bookmarks;
mod branch_merge;
mod commit;
mod destination;
mod dirstate;
mod graft;
mod histories;
mod ignore;
mod laws;
mod merge_laws;
mod model;
mod named_files;
mod obstacles;
mod path_copies;
mod replay;
mod revert;
mod small_files;
mod stat_cache;
mod states;
mod status;
mod strip;
mod tags;
mod update;
