//! Formats and places of a repository's files, one module per structure.

pub(crate) mod bookmarks;
pub(crate) mod changeset;
pub(crate) mod context;
mod error;
pub(crate) mod file_text;
pub(crate) mod fncache;
pub(crate) mod journal;
mod label;
pub(crate) mod lock;
pub(crate) mod manifest;
pub(crate) mod obsstore;
pub(crate) mod pending;
pub(crate) mod phases;
mod portable_names;
mod requirements;
pub(crate) mod share;
pub(crate) mod storage_settings;
pub(crate) mod store_path;
pub(crate) mod tags;

pub use changeset::{Changeset, DEFAULT_BRANCH, WORKING_NODE, uncommitted_changeset};
pub use context::{OpenOptions, ShareAccess};
pub use error::{LookupError, RepoError};
pub use file_text::FileText;
pub use journal::BaseDir;
pub use label::{LabelRefusal, check_label};
pub use lock::{Lock, LockEvent, LockKind, LockOwner, LockWait};
pub use manifest::{FileKind, ManifestEntries, ManifestEntry};
pub use obsstore::{
    FormattedMarkers, ListedMarker, NewMarker, encode_markers_v0, format_markers, python_repr,
};
pub use phases::{Phase, Phases};
pub use portable_names::unportable;
pub use requirements::Requirements;
pub use storage_settings::{StorageSettings, engine_of};
pub use store_path::{decode_directories, encode_directories};
pub use tags::{TAGS_FILE, tag_lines, with_tags};
