//! Bundles of a repository's history: which changesets go into them, and their bytes.

mod backup;
mod changed_files;
mod changegroup;
mod group;
mod parts;
mod pipeline;
mod plan;
mod selection;
mod stream_bundle;
mod write;

pub(crate) use backup::FileWriter;
pub use backup::{Backup, measure, save_backup, write_backup};
pub use changegroup::SectionSizes;
pub(crate) use changegroup::write_changegroup;
pub(crate) use parts::{encode_branches, encode_phases, encode_tag_files};
pub use plan::{BundlePlan, PartOutline, Travellers};
pub(crate) use selection::Selection;
pub(crate) use stream_bundle::stream_part;
pub use stream_bundle::{StreamBundle, StreamExtras};

/// Bytes per chunk of a part's payload in bundles that are files or pushed, as Mercurial cuts it.
pub(crate) const PAYLOAD_CHUNK: usize = 32 << 10;
