//! A Mercurial repository: requirements, store, changelog, manifest, filelogs, phases, bookmarks.
//!
//! [`Repository::open`] looks only at the requirements; [`Repository::view`] gives the repository
//! as it is at one moment, without taking Mercurial's locks, and everything else hangs on that
//! [`RepoView`].
//!
//! Imports between the rooms go downward only: `tools` over `write` and `acl` over `read` over `format` over
//! `hooks`.

pub mod acl;
mod format;
pub mod fuzzing;
pub mod hooks;
mod read;
mod tools;
mod write;

pub use format::{
    BaseDir, Changeset, DEFAULT_BRANCH, FileKind, FileText, FormattedMarkers, LabelRefusal,
    ListedMarker, Lock, LockEvent, LockKind, LockOwner, LockWait, LookupError, ManifestEntries,
    ManifestEntry, NewMarker, OpenOptions, Phase, Phases, RepoError, Requirements, ShareAccess,
    StorageSettings, TAGS_FILE, WORKING_NODE, check_label, decode_directories, encode_directories,
    encode_markers_v0, engine_of, format_markers, python_repr, tag_lines, uncommitted_changeset,
    unportable, with_tags,
};
pub use read::fileset;
pub use read::{
    Ancestors, BisectSet, BisectSets, BisectState, BisectStep, BranchHeads, Branches, ChangedFiles,
    ChangedLine, Evolution, FileRevision, Instabilities, InstabilityCause, ObsFate,
    OutgoingRevisions, OutgoingSet, ReceivedCaches, RepoView, Repository, RewriteRefusal,
    SharedFileRevisions, StoreFile, StoreSnapshot, SuccessorsWithMarkers, ViewFilter,
    changed_lines, prefix_digits, streamed_cache_names,
};
pub use tools::{
    AnnotateOptions, AnnotateStart, AnnotatedLine, Annotation, FileVersion, RecompressOptions,
    RecompressReport, StoredFile, VerifyEvent, VerifyReport,
};
pub use varve_revlog::{
    Node, PrefixMatch, Reader as RevlogReader, ReaderState, Rev, Revlog, RevlogError, WriteOptions,
};
pub use write::{
    AbandonedTransaction, ChangegroupCounts, CloneCounts, CommitBatch, CommitFiles, FileChange,
    LastTransaction, NewChangeset, NewRevision, NewStore, PendingHistory, PhaseMove, ReceiveReport,
    Receiver, StripOptions, Transaction, bundle_name,
};
