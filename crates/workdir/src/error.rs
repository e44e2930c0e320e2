//! Errors of the working copy.

use std::io;
use std::path::{Path, PathBuf};
use varve_base::{Interrupted, StorageError};
use varve_config::hgrc::HgrcError;
use varve_lang::patterns::PatternError;
use varve_patch::PatchError;
use varve_repo::{Node, RepoError, RevlogError, RewriteRefusal};

/// Reading or changing a working copy failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkdirError {
    /// The repository's storage refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The history cannot be read or written.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// A file's history is damaged.
    #[error(transparent)]
    Revlog(#[from] RevlogError),
    /// A path cannot be tracked, because there are tracked files below it.
    #[error("directory '{0}' already in dirstate")]
    TrackedBelow(String),
    /// A path cannot be tracked, because a tracked file has the name of a directory above it.
    #[error("file '{file}' in dirstate clashes with '{path}'")]
    TrackedAbove {
        /// The tracked file.
        file: String,
        /// The path that is to be tracked.
        path: String,
    },
    /// The dirstate is not one. In the words that Mercurial has for it.
    #[error("working directory state appears damaged!")]
    DamagedDirstate {
        /// Which file.
        path: PathBuf,
        /// Where in it.
        offset: usize,
        /// The error.
        reason: &'static str,
    },
    /// The dirstate would not fit into its format.
    #[error("{path} cannot be written: {reason}", path = path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// Which number is too large.
        reason: &'static str,
    },
    /// In a drawing of history something is its own ancestor.
    #[error("the graph has cycles")]
    DrawnCircle,
    /// A changeset of a drawing has more parents than a changeset can have.
    #[error("{0}: too many parents")]
    DrawnParents(String),
    /// The system gave no random bytes for a file's name.
    #[error("the system gives no random numbers")]
    NoRandomness,
    /// A program that filters a file failed. In Mercurial's words.
    #[error("{0}")]
    Filter(String),
    /// A setting has a wrong value.
    #[error(transparent)]
    Setting(#[from] HgrcError),
    /// The setting of a merge tool that says what happens before the tool runs. In Mercurial's words.
    #[error(
        "{tool}.premerge not valid ('{value}' is neither boolean nor 'keep', 'keep-merge3', 'keep-mergediff')"
    )]
    WrongPremerge {
        /// Name of the tool.
        tool: String,
        /// The value as written.
        value: String,
    },
    /// A pattern of an ignore file is wrong.
    #[error("{name}: {error}")]
    Ignore {
        /// The file.
        name: String,
        /// The error of the pattern's grammar.
        error: PatternError,
    },
    /// Ignore files include each other without end.
    #[error("ignore files are nested too deeply: {path}", path = path.display())]
    IgnoreDepth {
        /// The last one.
        path: PathBuf,
    },
    /// A path or pattern makes no sense.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A file occupies the path of a directory.
    #[error("Not a directory: '{path}'", path = path.display())]
    NotADirectory {
        /// The path to be written.
        path: PathBuf,
    },
    /// A directory with untracked files occupies the path of a file.
    #[error("Directory not empty: '{path}'", path = path.display())]
    DirectoryInTheWay {
        /// The directory.
        path: PathBuf,
    },
    /// Files that are not tracked would be overwritten by others.
    #[error("untracked files in working directory differ from files in requested revision")]
    UntrackedDiffer(Vec<String>),
    /// There are local changes where there must be none.
    #[error("uncommitted changes")]
    UncommittedChanges,
    /// As [`WorkdirError::UncommittedChanges`], because neither changeset descends from the other.
    #[error("uncommitted changes")]
    NotLinear,
    /// No changeset is on this branch.
    #[error("unknown revision '{0}'")]
    UnknownBranch(String),
    /// A merge must be committed or given up first.
    #[error("outstanding uncommitted merge")]
    UncommittedMerge,
    /// A merge has left files with conflicts.
    #[error("outstanding merge conflicts")]
    UnresolvedFiles,
    /// The changeset to merge is an ancestor of the first parent, or the same.
    #[error("merging with a working directory ancestor has no effect")]
    MergesAncestor,
    /// The changeset to merge descends from the first parent.
    #[error("nothing to merge")]
    MergesDescendant,
    /// A merge needs a working copy without changes.
    #[error("uncommitted changes")]
    ChangedFiles,
    /// The state of a merge is cut short or no such state.
    #[error("the state of the merge in .hg/merge is damaged")]
    DamagedMergeState,
    /// The state of a graft is cut short or no such state.
    #[error("the state of the graft in .hg/graftstate is damaged")]
    DamagedGraftState,
    /// The state of a rebase is cut short or no such state.
    #[error("the state of the rebase in .hg/rebasestate is damaged")]
    DamagedRebaseState,
    /// The state of a histedit is cut short or no such state.
    #[error("the state of the histedit in .hg/histedit-state is damaged")]
    DamagedHisteditState,
    /// The state of an unshelve is cut short or no such state.
    #[error("corrupted shelved state file")]
    DamagedUnshelveState,
    /// The state of an unshelve has a version that cannot be read. In the words that Mercurial has for it.
    #[error("this version of shelve is incompatible with the version used in this repo")]
    UnknownUnshelveVersion,
    /// The state of a merge has records that must be understood, and are not, by their letters.
    #[error("unsupported merge state records: {0}")]
    UnknownMergeRecords(String),
    /// Local changes would have to be merged with those of the target, and must not be.
    #[error("conflicting changes")]
    Conflicting,
    /// Conflicts would have to be settled by a tool, or as a setting says, that is not there.
    #[error("{0} is not supported")]
    UnsupportedTool(String),
    /// A program of `[partial-merge-tools]` has failed, or was ended by a signal.
    #[error("partial merge tool {tool} {}", match code {
        Some(code) => format!("exited with code {code}"),
        None => "was killed".to_owned(),
    })]
    PartialToolFailed {
        /// The name that it is configured by.
        tool: String,
        /// Its exit code.
        code: Option<i32>,
    },
    /// A parent of the working copy is not in the repository.
    #[error("unknown working parent {}!", &.0.to_string()[..12])]
    UnknownParent(Node),
    /// The parent of the working copy must not be amended.
    #[error(transparent)]
    CannotAmend(#[from] AmendRefusal),
    /// A file that a commit names cannot be committed.
    #[error("{path}: {reason}", path = String::from_utf8_lossy(path))]
    Uncommittable {
        /// The path, relative to the root.
        path: Vec<u8>,
        /// Why the file cannot be committed.
        reason: UncommittableReason,
    },
    /// A commit must not close its branch.
    #[error(transparent)]
    CannotClose(#[from] CloseRefusal),
    /// Tags must not be added or removed.
    #[error(transparent)]
    Tags(#[from] TagRefusal),
    /// A bookmark must not be changed.
    #[error(transparent)]
    Bookmark(#[from] BookmarkRefusal),
    /// A patch cannot be read or applied.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// A patch writes where a directory is.
    #[error("Is a directory: '{path}'", path = path.display())]
    IsADirectory {
        /// The path to be written.
        path: PathBuf,
    },
    /// The user has left nothing of the text that says which lines belong to which changesets.
    #[error("empty editor text")]
    EmptyEditedLines,
    /// A line of that text does not say where it belongs.
    #[error("malformed line: {0}")]
    MalformedEditedLine(String),
    /// An imported changeset is not the one that was exported.
    #[error("patch is damaged or loses information")]
    LossyPatch,
    /// A file went away while it was being committed.
    #[error("{0}: file not found!")]
    Vanished(String),
    /// The user asked for a stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The system refused something about a file of the working copy.
    #[error("cannot {op} {path}: {source}", path = path.display())]
    Io {
        /// The operation, such as `read`.
        op: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl WorkdirError {
    /// For `map_err`, with the operation and the file.
    pub fn io(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WorkdirError {
        let path = path.to_owned();
        move |source| WorkdirError::Io { op, path, source }
    }
}

/// The reason why a named file cannot be committed.
#[derive(Debug, thiserror::Error)]
pub enum UncommittableReason {
    /// A tracked file is missing.
    #[error("file not found!")]
    NotFound,
    /// Nothing changed below a directory.
    #[error("no match under directory!")]
    NoChangesBelow,
    /// The file is not tracked.
    #[error("file not tracked!")]
    NotTracked,
    /// The system cannot find the file.
    #[error("{0}")]
    Io(io::Error),
}

/// The reason why a changeset must not be amended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmendRefusal {
    /// The working copy is at the null revision.
    #[error("cannot amend the null revision")]
    NullParent,
    /// The working copy has two parents.
    #[error("cannot amend changesets while merging")]
    Merge,
    /// The parent of the working copy must not be rewritten.
    #[error("cannot amend changeset {node}: {reason:?}")]
    Rewrite {
        /// The parent.
        node: Node,
        /// Why the changeset must stay.
        reason: RewriteRefusal,
    },
}

/// The reason why a commit must not close its branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseRefusal {
    /// The parent closes the branch already.
    #[error("current revision is already a branch closing head")]
    AlreadyClosed,
    /// The branch has no open head.
    #[error("the branch has no heads to close")]
    NoHeads,
    /// The parent is no open head of the branch.
    #[error("can only close branch heads")]
    NotAHead,
}

/// The reason why a tag must not be added or removed. Tags are named as the user sees them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagRefusal {
    /// A tag to be removed does not exist.
    #[error("tag '{0}' does not exist")]
    Unknown(String),
    /// A tag to be removed was removed before.
    #[error("tag '{0}' is already removed")]
    AlreadyRemoved(String),
    /// A tag to be removed is tracked, and a local one was asked for.
    #[error("tag '{0}' is not a local tag")]
    NotLocal(String),
    /// A tag to be removed is local, and a tracked one was asked for.
    #[error("tag '{0}' is not a global tag")]
    NotGlobal(String),
    /// A tag to be added exists.
    #[error("tag '{0}' already exists (use -f to force)")]
    Exists(String),
    /// The working copy has two parents.
    #[error("uncommitted merge")]
    Merge,
    /// The parent of the working copy, on which the tags would be committed, is no head of its branch.
    #[error("working directory is not at a branch head (use -f to force)")]
    NotAHead,
    /// The user has changed `.hgtags`.
    #[error("working copy of .hgtags is changed")]
    ChangedFile,
}

/// The reason why a bookmark must not be set, renamed or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BookmarkRefusal {
    /// The bookmark does not exist.
    #[error("bookmark '{0}' does not exist")]
    Unknown(String),
    /// The bookmark exists, and its changeset is no ancestor of the new one.
    #[error("bookmark '{0}' already exists (use -f to force)")]
    Exists(String),
    /// A branch has the name.
    #[error("a bookmark cannot have the name of an existing branch")]
    BranchName,
}
