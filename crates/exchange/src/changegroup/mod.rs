//! Changegroups: the revisions that the other side lacks, as deltas.

mod framing;
mod group;
mod read;
mod selection;
mod touched;
mod write;

pub use framing::{DeltaHeader, NodeBytes, Version};
pub use read::{ChangegroupReader, Group};
pub(crate) use selection::Selection;
pub use write::SectionSizes;
pub(crate) use write::write_changegroup;
