//! Writing tar and zip archives, byte for byte as Mercurial does, that is as Python's library writes them.

mod kind;
mod tar;
mod writer;
mod zip;

pub use kind::{ArchiveEntry, ArchiveKind};
pub use writer::ArchiveWriter;
