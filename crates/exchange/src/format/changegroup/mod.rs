//! Changegroups: the revisions that the other side lacks, as deltas.

mod framing;
mod reader;

pub use framing::{ChangegroupVersion, DeltaHeader, NodeBytes};
pub(crate) use framing::{full_text_hunk, write_chunk, write_end};
pub use reader::{ChangegroupReader, Group};
