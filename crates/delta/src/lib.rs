//! Line diff into Mercurial's binary patches, folding and application of patches; pure functions.
//!
//! A patch says how one text becomes another. Revlogs store chains of them; [`PatchComposer`] joins a
//! whole chain into one before it is applied, so that the text is copied once however long the
//! chain is.

mod absorb;
mod blanks;
mod blocks;
mod diff;
mod fold;
pub mod fuzzing;
mod matching;
mod merge;
mod patch;
mod sorted;
mod tokens;

pub use absorb::{AbsorbedHunk, AbsorbedPart, HistoryLine, LineHistory};
pub use blanks::{Blanks, same_lines};
pub use blocks::Block;
pub use diff::{Grain, diff, diff_in_single_hunks};
pub use fold::PatchComposer;
pub use merge::{MergedRegion, TouchingChanges, merge};
pub use patch::{HUNK_HEADER_LEN, Hunk, Hunks, PatchError, apply, patched_len, push_hunk};
pub use sorted::diff_sorted;
