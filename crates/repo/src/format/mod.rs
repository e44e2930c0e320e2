//! What the files of a repository contain, one module per structure, and where they are.

pub(crate) mod bookmarks;
pub(crate) mod changeset;
pub(crate) mod context;
mod error;
pub(crate) mod file_text;
pub(crate) mod fncache;
pub(crate) mod journal;
pub(crate) mod lock;
pub(crate) mod manifest;
pub(crate) mod obsstore;
pub(crate) mod pending;
pub(crate) mod phases;
mod portable_names;
mod requirements;
pub(crate) mod storage_settings;
pub(crate) mod store_path;

pub use changeset::{Changeset, DEFAULT_BRANCH};
pub use context::Opening;
pub use error::{LookupError, RepoError};
pub use file_text::FileText;
pub use journal::Place;
pub use lock::{Lock, LockNews, LockOwner, LockWait, Locked};
pub use manifest::{FileKind, ManifestEntries, ManifestEntry};
pub use obsstore::{
    NewMarker, ShownMarkers, markers_as_version_0, quoted_as_in_python, show_markers,
};
pub use phases::{Phase, Phases};
pub use portable_names::unportable;
pub use requirements::Requirements;
pub use storage_settings::{StorageSettings, engine_of};
pub use store_path::{decode_folders, encode_folders};
