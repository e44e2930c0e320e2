//! Folding changes of the working copy into the changesets of a stack that brought the lines around them.
//!
//! The stack is the line of changesets up to the working copy's parent that may change. Each changed file is followed
//! through it ([`AbsorbedFile`]); which lines belong to which changeset is for [`varve_delta::LineHistory`] to say. Then
//! the changesets are committed again with the new contents ([`absorb`]).

pub(crate) mod edited;
mod file;
mod rewrite;
mod stack;

pub use edited::parse_edited_lines;
pub use file::{AbsorbedFile, FollowedSources};
pub use rewrite::{AbsorbOutcome, AbsorbRequest, AbsorbedChangeset, absorb};
pub use stack::AbsorbStack;
