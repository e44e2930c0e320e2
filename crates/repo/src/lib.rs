//! A Mercurial repository: requirements, store, changelog, manifest, filelogs, phases, bookmarks.
//!
//! [`Repository::open`] looks only at what the repository requires; [`Repository::view`] gives it
//! as it is at one moment, without taking Mercurial's locks, and everything else hangs on that
//! [`RepoView`].
//!
//! Imports between the rooms go downward only: `tools` over `write` over `read` over `format` over
//! `hooks`.

mod format;
pub mod fuzzing;
pub mod hooks;
mod read;
mod tools;
mod write;

pub use format::{
    Changeset, DEFAULT_BRANCH, FileKind, FileText, Lock, LockNews, LockOwner, LockWait, Locked,
    LookupError, ManifestEntries, ManifestEntry, NewMarker, Opening, Phase, Phases, Place,
    RepoError, Requirements, ShownMarkers, StorageSettings, decode_folders, encode_folders,
    engine_of, markers_as_version_0, quoted_as_in_python, show_markers, unportable,
};
pub use read::fileset;
pub use read::{
    Ancestors, ArrivedCaches, Audience, BranchHeads, Branches, Evolution, Fate, FileRevision,
    RepoView, Repository, SharedFiles, StoreFile, StoreState, Touched, TouchedFiles, Travellers,
    Unstable, travelling_caches,
};
pub use tools::{
    Annotate, AnnotatedLine, Annotation, FileVersion, Recompress, Recompressed, Start, StoredFile,
    VerifyNews, VerifyReport,
};
pub use varve_revlog::{Node, PrefixMatch, ReaderState, Rev, Revlog, RevlogError, WriteOptions};
pub use write::{
    Arrived, Arriving, ChangedFiles, CommitBatch, FileChange, NewChangeset, NewRevision, NewStore,
    PhaseMove, Pulled, ReceiveReport, Receiver, Transaction, bundle_name,
};
