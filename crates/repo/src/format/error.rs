//! Errors of a repository.

use crate::format::lock::{LockKind, LockOwner};
use crate::hooks::{HookRefusal, PushKey};
use std::path::PathBuf;
use varve_base::{Interrupted, StorageError};
use varve_revlog::{Node, Rev, RevlogError};

/// Reading or writing a repository failed.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    /// The storage refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A revlog is damaged or cannot be read.
    #[error(transparent)]
    Revlog(#[from] RevlogError),
    /// No changeset that is marked as good is related to one that is marked as bad.
    #[error("starting revisions are not directly related")]
    UnrelatedBisection,
    /// A changeset is good and bad.
    #[error("inconsistent state, {rev}:{} is good and bad", &node.to_string()[..12])]
    InconsistentBisection {
        /// Number of the changeset, -1 of the null revision.
        rev: i64,
        /// The changeset.
        node: Node,
    },
    /// There is no `.hg` directory.
    #[error("no repository at {path}", path = path.display())]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The repository was made with features that this program does not have.
    #[error("repository {path} requires features unknown to this Varve: {features}", path = path.display())]
    UnknownRequirements {
        /// The repository.
        path: PathBuf,
        /// Their names, joined by commas.
        features: String,
    },
    /// The store lies in another repository, which is gone.
    #[error(".hg/sharedpath points to nonexistent directory {source_path}", source_path = path.display())]
    NoShareSource {
        /// The directory that was meant.
        path: PathBuf,
    },
    /// A working copy that shares a store, and the repository that has the store, keep requirements in different places.
    #[error("{}", match is_share_safe {
        true => "share source does not support share-safe requirement",
        false => "version mismatch: source uses share-safe functionality while the current share does not",
    })]
    ShareMismatch {
        /// Whether the working copy expects requirements in the store.
        is_share_safe: bool,
    },
    /// Only a repository whose store lies elsewhere can get its own.
    #[error("this is not a shared repo")]
    NotShared,
    /// The repository lacks a feature without which its files lie elsewhere.
    #[error("repository {path} has no {feature} requirement, which this Varve needs to find its files", path = path.display())]
    TooOld {
        /// The repository.
        path: PathBuf,
        /// Name of the missing requirement.
        feature: &'static str,
    },
    /// A changeset's text is not one.
    #[error("changeset {rev} of {path} is damaged: {reason}", path = path.display())]
    DamagedChangeset {
        /// The repository.
        path: PathBuf,
        /// Which changeset.
        rev: Rev,
        /// Damage that the parser found.
        reason: &'static str,
    },
    /// A manifest's text is not one.
    #[error("manifest {node} of {path} is damaged at byte {offset}: {reason}", path = path.display())]
    DamagedManifest {
        /// The repository.
        path: PathBuf,
        /// Which manifest.
        node: Node,
        /// Where in its text.
        offset: usize,
        /// Damage that the parser found.
        reason: &'static str,
    },
    /// A small file of the repository has a line that cannot be read.
    #[error("{path} is damaged in line {line}: {reason}", path = path.display())]
    DamagedLine {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Damage that the parser found.
        reason: &'static str,
    },
    /// An obsolescence marker that came from elsewhere is none.
    #[error("bad obsolescence marker detected: {reason}")]
    BadMarker {
        /// Damage that the parser found.
        reason: String,
    },
    /// Something refers to a revision that is not there.
    #[error("{what} {node} is missing from {path}", path = path.display())]
    MissingNode {
        /// `manifest`, for instance.
        what: &'static str,
        /// Its name.
        node: Node,
        /// The revlog.
        path: PathBuf,
    },
    /// The changelog is gone, and other files of the store are there.
    #[error("{path} is missing, though the store has manifests", path = path.display())]
    LostChangelog {
        /// Its index file.
        path: PathBuf,
    },
    /// Changesets name a file whose history is not in the store.
    #[error("empty or missing file data for {0}")]
    MissingFileData(String),
    /// Others wrote to the repository all the time while it was read.
    #[error("repository {path} is being written to; no consistent state was seen in {tries} tries", path = path.display())]
    Busy {
        /// The repository.
        path: PathBuf,
        /// How often it was tried.
        tries: u32,
    },
    /// Another process holds a lock.
    #[error("{what} {path}: timed out waiting for lock held by '{owner}'", path = path.display(), owner = owner.as_str())]
    LockHeld {
        /// Which of the two.
        what: LockKind,
        /// The repository.
        path: PathBuf,
        /// The holder.
        owner: LockOwner,
    },
    /// A file that comes from elsewhere cannot be one of the store's.
    #[error("no file of the store is named {name:?}")]
    StoreName {
        /// The name as it was sent.
        name: String,
    },
    /// A transaction was interrupted and must be undone first.
    #[error("abandoned transaction found")]
    AbandonedTransaction,
    /// A partial clone would lack a parent of one of its revisions, because several changesets
    /// introduced that and the first of them stays behind.
    #[error("{path}: revision {rev} builds on one that does not come along; clone without --rev", path = path.display())]
    NotInClone {
        /// The index file.
        path: PathBuf,
        /// Which revision.
        rev: Rev,
    },
    /// A revlog cannot be written again.
    #[error("cannot recompress {path}: {reason}", path = path.display())]
    CannotRecompress {
        /// Its index file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The last line of the list of the store's files lacks its end.
    #[error("fncache does not ends with a newline")]
    TornFncache,
    /// The journal of a transaction names a file that is not in the repository.
    #[error("the journal of {path} names a file outside of the repository: {name}", path = path.display())]
    JournalOutside {
        /// The repository.
        path: PathBuf,
        /// The name as the journal has it.
        name: String,
    },
    /// The user wants it to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A hook refuses the transaction.
    #[error("{0}")]
    Hook(HookRefusal),
    /// A hook refuses a key that a client sets with `pushkey`.
    #[error("{words}")]
    KeyRefused {
        /// Number of the part that it stood in.
        part: u32,
        /// Namespace, key and values of the request.
        key: Box<PushKey>,
        /// Message of the hook that refused.
        words: String,
    },
    /// A commit cannot be stored as it was given.
    #[error("cannot commit to {path}: {reason}", path = path.display())]
    Commit {
        /// The repository.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Changesets cannot be removed.
    #[error("cannot strip changesets of {path}: {reason}", path = path.display())]
    Strip {
        /// The repository.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A setting that must be a whole number is not.
    #[error("{key} is not a valid integer ('{value}')")]
    SettingNotInteger {
        /// Section and name, with a dot between.
        key: String,
        /// Value in the configuration.
        value: String,
    },
    /// A setting that must be yes or no is not.
    #[error("{key} is not a boolean ('{value}')")]
    SettingNotBoolean {
        /// Section and name, with a dot between.
        key: String,
        /// Value in the configuration.
        value: String,
    },
    /// A setting is a number that nothing is done with.
    #[error("invalid value for `{key}` config: {value}")]
    SettingOutOfRange {
        /// Section and name, with a dot between.
        key: String,
        /// Value in the configuration.
        value: i64,
    },
    /// None of the engines that a new repository should use is known.
    #[error(
        "compression engines {} defined by format.revlog-compression not available",
        quoted(names)
    )]
    UnknownEngines {
        /// Configured engines, in order of preference.
        names: Vec<String>,
    },
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

impl RepoError {
    /// Advice to the user, as Mercurial puts it in brackets under the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            RepoError::AbandonedTransaction => Some("run 'hg recover' to clean up transaction"),
            RepoError::TornFncache => Some("use 'hg debugrebuildfncache' to rebuild the fncache"),
            RepoError::UnknownEngines { .. } => {
                Some("run \"hg debuginstall\" to list available compression engines")
            }
            _ => None,
        }
    }
}

/// A key names no revision, or not one that may be shown. The texts are those that Mercurial
/// clients know.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// Nothing has this name.
    #[error("unknown revision '{0}'")]
    Unknown(String),
    /// Several nodes begin with it.
    #[error("00changelog@{0}: ambiguous identifier")]
    Ambiguous(String),
    /// The changeset is there, but secret or obsolete.
    #[error("filtered revision '{name}' (not in 'served' subset)")]
    Hidden {
        /// As typed.
        name: String,
        /// Its obsfate, for clients that may see it; see [`crate::RepoView::obsfate_text`].
        fate: String,
    },
    /// The repository cannot be read.
    #[error(transparent)]
    Repo(#[from] RepoError),
}
