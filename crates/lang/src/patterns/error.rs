//! What can be wrong with a pattern, in Mercurial's words.

use std::path::PathBuf;

/// A pattern cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It does not follow the grammar of its kind.
    #[error("invalid pattern ({kind}): {text}")]
    Invalid {
        /// The kind.
        kind: &'static str,
        /// The pattern.
        text: String,
    },
    /// It is a good expression in Python, but not in the linear-time language here.
    #[error(
        "invalid pattern ({kind}): {text}: {what} cannot be matched in linear time and is not supported"
    )]
    Unsupported {
        /// The kind.
        kind: &'static str,
        /// The pattern.
        text: String,
        /// The construct.
        what: &'static str,
    },
    /// A kind that is known but not offered.
    #[error("patterns of the kind '{kind}:' are not supported here: {text}")]
    UnsupportedKind {
        /// The kind.
        kind: &'static str,
        /// The pattern.
        text: String,
    },
    /// The patterns together are larger than any use of them.
    #[error("patterns are too large: {0}")]
    TooLarge(String),
    /// A path leaves the repository.
    #[error("{name} not under root '{root}'", root = root.display())]
    NotUnderRoot {
        /// As given.
        name: String,
        /// The repository.
        root: PathBuf,
    },
    /// A path leads into the repository's own folder.
    #[error("path contains illegal component: {0}")]
    IllegalComponent(String),
    /// A path leads into another repository.
    #[error("path '{path}' is inside nested repo '{nested}'")]
    NestedRepository {
        /// The path.
        path: String,
        /// The other repository's folder.
        nested: String,
    },
    /// A path leads through a symbolic link.
    #[error("path '{path}' traverses symbolic link '{link}'")]
    ThroughLink {
        /// The path.
        path: String,
        /// The link.
        link: String,
    },
    /// The file that `listfile:` names cannot be read.
    #[error("unable to read file list ({0})")]
    List(String),
    /// A fileset, or a query for changesets in it, does not follow its grammar.
    #[error(transparent)]
    Fileset(#[from] crate::fileset::FilesetError),
    /// What filesets ask of files cannot be told.
    #[error("{0}")]
    Files(String),
    /// Lists name lists too deeply.
    #[error("file lists are nested too deeply ({0})")]
    ListDepth(String),
}
