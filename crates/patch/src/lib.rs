//! Patches as text: mail messages and series that carry them, unified, context and git's forms of differences, and
//! applying them with offset and fuzz; writing the unified form and git's.
//!
//! A file with patches is first [split](split) into messages with one patch each; [`PatchMessage::read`] separates the
//! description of a changeset from the differences, [`FilePatches`] reads those file by file, and [`apply`] makes
//! the changes in a [`PatchTarget`]: the files of a working copy, or of a changeset without one.
//!
//! All of these texts come from untrusted users. Each reader keeps no more than the text holds, except for a binary patch,
//! whose content is limited by [`MAX_BINARY`].

mod apply;
mod binary;
mod context;
mod encoded_words;
mod error;
mod file_patches;
pub mod fuzzing;
mod git;
mod hunk;
mod lines;
mod literal;
mod message;
mod mime;
mod selection;
mod split;
mod target;
mod transfer;
mod unified;

pub use apply::{ApplyOptions, ApplyOutcome, apply};
pub use binary::MAX_BINARY;
pub use error::PatchError;
pub use file_patches::{FilePatches, PatchEvent};
pub use literal::{blob_id, push_literal};
pub use message::PatchMessage;
pub use selection::{
    Answer, Chooser, FileNode, HunkNode, ItemPath, LineNode, Movement, OfferedFile, OfferedHunk,
    PatchBase, Question, Selected, SelectionTree, choose, reversed_hunks,
};
pub use split::split;
pub use target::{LineEnds, PatchMode, PatchNotice, PatchTarget, TargetFile};
pub use unified::{HunkOptions, push_hunks};
