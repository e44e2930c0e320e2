//! Bundles of a repository's history: which changesets go into them, and their bytes.

mod backup;
mod changed_files;
mod changegroup;
mod group;
mod part_payloads;
mod pipeline;
mod plan;
mod selection;
mod stream_bundle;
mod write;

pub(crate) use backup::FileWriter;
pub use backup::{Backup, measure_bundle, save_backup, save_backup_as, save_shelf, write_backup};
pub use changegroup::SectionSizes;
pub(crate) use changegroup::write_changegroup;
pub(crate) use part_payloads::tags_fnodes;
pub use plan::{BundlePlan, OutgoingChangesets, PartOutline};
pub(crate) use selection::Selection;
pub use stream_bundle::{StreamBundle, StreamExtras};

/// Bytes per chunk of a part's payload in bundles that are files or pushed, as Mercurial cuts it.
pub(crate) const PAYLOAD_CHUNK: usize = 32 << 10;
