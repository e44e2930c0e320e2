//! Errors in patterns, in Mercurial's words.

use std::path::PathBuf;

/// A pattern cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The text does not follow the grammar of its kind.
    #[error("invalid pattern ({kind}): {text}")]
    Invalid {
        /// The word before the colon of the pattern.
        kind: &'static str,
        /// The pattern.
        text: String,
    },
    /// A valid expression in Python that cannot be matched in linear time.
    #[error(
        "invalid pattern ({kind}): {text}: {what} cannot be matched in linear time and is not supported"
    )]
    Unsupported {
        /// The word before the colon of the pattern.
        kind: &'static str,
        /// The pattern.
        text: String,
        /// The construct.
        what: &'static str,
    },
    /// A known kind that is not supported in this place.
    #[error("patterns of the kind '{kind}:' are not supported here: {text}")]
    UnsupportedKind {
        /// The word before the colon of the pattern.
        kind: &'static str,
        /// The pattern.
        text: String,
    },
    /// The compiled pattern exceeds the limit of memory.
    #[error("patterns are too large: {0}")]
    TooLarge(String),
    /// A path leaves the repository.
    #[error("{name} not under root '{root}'", root = root.display())]
    NotUnderRoot {
        /// The path as the user gave it.
        name: String,
        /// The repository.
        root: PathBuf,
    },
    /// A path leads into `.hg`.
    #[error("path contains illegal component: {0}")]
    IllegalComponent(String),
    /// A path has the `.hg` of another repository in its name.
    #[error("path '{path}' is inside nested repo '{nested}'")]
    NestedMetadata {
        /// Path from the root of the working copy.
        path: String,
        /// The other repository's directory.
        nested: String,
    },
    /// A path leads into another repository.
    #[error("path '{path}' is inside nested repo '{nested}'")]
    NestedRepository {
        /// Path from the root of the working copy.
        path: String,
        /// The other repository's directory.
        nested: String,
    },
    /// A path leads through a symbolic link.
    #[error("path '{path}' traverses symbolic link '{link}'")]
    ThroughLink {
        /// Path from the root of the working copy.
        path: String,
        /// Path of the symbolic link.
        link: String,
    },
    /// The file that `listfile:` names cannot be read.
    #[error("unable to read file list ({0})")]
    List(String),
    /// A fileset, or a query for changesets in it, does not follow its grammar.
    #[error(transparent)]
    Fileset(#[from] crate::fileset::FilesetError),
    /// The files that a fileset asks for cannot be listed or read.
    #[error("{0}")]
    Files(String),
    /// List files include one another too deeply.
    #[error("file lists are nested too deeply ({0})")]
    ListDepth(String),
    /// A query for changesets within a fileset cannot be answered.
    #[error("{0}")]
    Revisions(String),
}
