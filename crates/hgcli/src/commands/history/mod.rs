//! Commands that show the contents of a repository.

pub(crate) mod annotate;
pub(crate) mod archive;
pub(crate) mod bookmarks;
pub(crate) mod branches;
pub(crate) mod cat;
pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod extdiff;
pub(crate) mod files;
pub(crate) mod grep;
pub(crate) mod heads;
pub(crate) mod identify;
mod line_range;
pub(crate) mod locate;
pub(crate) mod log;
pub(crate) mod manifest;
mod output_name;
pub(crate) mod parents;
pub(crate) mod phase;
pub(crate) mod summary;
pub(crate) mod tags;
pub(crate) mod tip;
