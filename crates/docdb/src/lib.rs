//! Databases: documents, revision trees, attachments, snapshots, changes.
//!
//! A [`Database`] takes [`Edit`]s, many requesters sharing one commit, and gives [`Snapshot`]s: one
//! commit each, seen for ever, read without locks. The values in the file are described in
//! `docs/formats/database.md`.

mod access;
mod beside;
mod bodies;
mod compact;
mod database;
mod edit;
mod error;
pub mod fuzzing;
mod gzip;
mod hole_punching;
mod load;
mod partition;
mod read;
mod record;
mod render;
mod rev;
mod revtree;
mod salvage;
mod training;
pub mod verify;
mod watch;
mod write;

pub use access::{AccessError, Viewer, text_with_access};
pub use compact::{Compacted, Compaction, Finished, LONGEST_SUFFIX, Unreadable};
pub use database::{
    Announced, Compression, DEFAULT_REVS_LIMIT, Database, DatabaseOptions, DictionaryInfo, KIND,
    Limits, NewDatabase, ReadyCopies, ReadyEdit, Sizes, TrainsBy, Tuned, Upload, Uploaded,
    cut_off_tail,
};
pub use edit::{Accepted, DESIGN_PREFIX, Edit, EditOutcome, Edits, Mode};
pub use error::{DocdbError, EditError};
pub use gzip::Compressible;
pub use hole_punching::InPlace;
pub use load::{
    LeftOut, Load, Loaded, LoadedAttachment, LoadedContent, LoadedDocument, LoadedRevision, load,
};
pub use partition::{Partition, PartitionError, split_id};
pub use read::{
    AllDocs, AllDocsRow, AttachmentForm, AttachmentReader, Changes, Document, IdRange, Info,
    LeafReaders, LocalDocument, LocalDocuments, MissingLeaf, PartitionInfo, Snapshot, WantedLeaves,
};
pub use record::{Attachment, Change, LOCAL_PREFIX, Leaf, Purge};
pub use render::{DocumentText, write_attachment_stubs, write_digest, write_revisions};
pub use rev::{Digest, Rev, RevError};
pub use revtree::{Node, RevTree, Stored};
pub use salvage::{Salvaged, salvage};
pub use varve_btree::{ChunkCount, ChunkForm, ChunkStats, CommitId, Direction, NodeCache};
pub use watch::Subscription;
pub use write::Durability;
