//! Changegroups: the revisions that a client lacks, as deltas.

mod framing;
mod group;
mod selection;
mod touched;
mod write;

pub(crate) use framing::Version;
pub(crate) use selection::Selection;
pub use write::SectionSizes;
pub(crate) use write::write_changegroup;
