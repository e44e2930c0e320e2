//! A Mercurial repository: requirements, store, changelog, manifest, filelogs, phases, bookmarks.
//!
//! [`Repository::open`] looks only at what the repository requires; [`Repository::view`] gives it
//! as it is at one moment, without taking Mercurial's locks, and everything else hangs on that
//! [`RepoView`].

mod annotate;
mod bookmarks;
mod branches;
mod caches;
mod changeset;
mod clone;
mod commit;
mod commit_write;
mod content;
mod create;
pub mod date;
mod error;
mod evolution;
mod file_text;
pub mod fileset;
mod fncache;
pub mod fuzzing;
pub mod hooks;
mod introduced;
mod journal;
mod lane;
mod later;
mod lock;
mod lookup;
mod manifest;
mod new_store;
mod obsolete;
pub mod patterns;
mod pending;
mod phase_change;
mod phases;
mod portable;
mod receive;
mod recompress;
mod recover;
mod relevant_markers;
mod repository;
mod requirements;
mod similar;
mod storage_settings;
mod store_files;
mod store_path;
mod strip;
mod tags;
mod touched;
mod transaction;
mod verify;
mod view;

pub use annotate::{Annotate, AnnotatedLine, Annotation, FileVersion, Start, StoredFile};
pub use branches::{BranchHeads, Branches};
pub use caches::{ArrivedCaches, travelling_caches};
pub use changeset::{Changeset, DEFAULT_BRANCH};
pub use clone::Pulled;
pub use commit::{ChangedFiles, CommitBatch, FileChange, NewChangeset};
pub use error::{LookupError, RepoError};
pub use evolution::Evolution;
pub use file_text::FileText;
pub use introduced::{Ancestors, FileRevision};
pub use journal::Place;
pub use lock::{Lock, LockNews, LockOwner, LockWait, Locked};
pub use manifest::{FileKind, ManifestEntries, ManifestEntry};
pub use new_store::NewStore;
pub use obsolete::{
    Fate, NewMarker, ShownMarkers, Unstable, markers_as_version_0, quoted_as_in_python,
    show_markers,
};
pub use phase_change::PhaseMove;
pub use phases::{Phase, Phases};
pub use portable::unportable;
pub use receive::{Arrived, Arriving, NewRevision, ReceiveReport, Receiver};
pub use recompress::{Recompress, Recompressed};
pub use repository::{Opening, Repository};
pub use requirements::Requirements;
pub use similar::similar;
pub use storage_settings::{StorageSettings, engine_of};
pub use store_files::{StoreFile, StoreState};
pub use store_path::{decode_folders, encode_folders};
pub use strip::bundle_name;
pub use touched::{SharedFiles, Touched, TouchedFiles, Travellers};
pub use transaction::Transaction;
pub use varve_revlog::{Node, PrefixMatch, ReaderState, Rev, Revlog, RevlogError, WriteOptions};
pub use verify::{VerifyNews, VerifyReport};
pub use view::{Audience, RepoView};
