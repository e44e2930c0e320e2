//! One append-only file with several copy-on-write B+trees and free-standing chunks.
//!
//! A [`TreeFile`] grows by commits. Each is one append: chunks, the rewritten nodes of the trees,
//! and at its end a commit record with the roots. A [`Snapshot`] is one commit, seen for ever and
//! without locks; a [`Transaction`] prepares the next commit. The format is described in
//! `docs/formats/tree-file.md`.

mod cache;
mod chunk;
mod commit;
mod commit_id;
mod delta;
mod dictionaries;
mod diff;
mod entry;
mod error;
mod file;
mod first_commit;
pub mod fuzzing;
mod header;
mod holes;
mod live_commits;
mod loader;
mod node;
mod opening;
mod overlay;
mod pages;
mod reachability;
mod read;
mod readahead;
mod recover;
mod reducer;
mod snapshot;
mod stats;
mod stored;
mod tail;
mod transaction;
mod unreadable;

pub use cache::NodeCache;
pub use chunk::{ChunkRef, EncodedChunk, MAX_RAW};
pub use commit_id::CommitId;
pub use delta::ChainLink;
pub use diff::{Diff, DiffEntry};
pub use entry::{Bounds, Direction, TreeEntry};
pub use error::TreeError;
pub use file::{Options, Recovery, Sizes, TreeFile};
pub use loader::Loader;
pub use node::{MAX_KEY, MAX_VALUE};
pub use overlay::{Change, Overlay, OverlayRange};
pub use reachability::{LostSubtree, Visited};
pub use reducer::{NoReduction, Reducer};
pub use snapshot::{Range, Snapshot};
pub use stats::{ChunkCount, ChunkForm, ChunkStats};
pub use stored::StoredChunk;
pub use tail::{Tail, kept_tail};
pub use transaction::Transaction;
