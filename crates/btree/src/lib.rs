//! One append-only file with several copy-on-write B+trees and free-standing chunks.
//!
//! A [`TreeFile`] grows by commits. Each is one append: chunks, the rewritten nodes of the trees,
//! and at its end a commit record with the roots. A [`Snapshot`] is one commit, seen for ever and
//! without locks; a [`Transaction`] prepares the next commit. The format is described in
//! `docs/formats/tree-file.md`.

mod ahead;
mod amended;
mod cache;
mod chunk;
mod commit;
mod delta;
mod dictionaries;
mod difference;
mod edit;
mod error;
mod file;
pub mod fuzzing;
mod header;
mod holes;
mod loader;
mod mark;
mod node;
mod pages;
mod range;
mod read;
mod recover;
mod reducer;
mod snapshot;
mod stored;
mod survey;
mod tally;
mod transaction;
mod unread;

pub use amended::{Amended, AmendedRange, Amendment};
pub use cache::NodeCache;
pub use chunk::{ChunkRef, EncodedChunk, MAX_RAW};
pub use delta::Link;
pub use difference::{Difference, Differences};
pub use error::TreeError;
pub use file::{Options, Recovery, Sizes, TreeFile};
pub use loader::Loader;
pub use mark::Mark;
pub use node::{MAX_KEY, MAX_VALUE};
pub use range::{Bounds, Direction, Item, Range};
pub use reducer::{NoReduction, Reducer};
pub use snapshot::Snapshot;
pub use stored::StoredChunk;
pub use survey::{Lost, Met};
pub use tally::{ChunkForm, Count, Tally};
pub use transaction::Transaction;
