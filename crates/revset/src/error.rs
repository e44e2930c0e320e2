//! Errors of queries.

use crate::PeerError;
use varve_lang::date::DateError;
use varve_lang::expression::SyntaxError;
use varve_lang::patterns::PatternError;
use varve_repo::{LookupError, Node, RepoError};

/// A query cannot be evaluated. The texts are Mercurial's.
#[derive(Debug, thiserror::Error)]
pub enum RevsetError {
    /// The query does not follow the grammar, or gives a function the wrong arguments.
    #[error("{message}")]
    Parse {
        /// The error.
        message: String,
        /// Where in the query, in bytes from its beginning.
        at: Option<usize>,
        /// A suggestion.
        hint: Option<String>,
    },
    /// An alias that the query uses is wrong.
    #[error("{0}")]
    Alias(String),
    /// Something that the query names is not there.
    #[error("{0}")]
    Missing(String),
    /// A changeset does not have the file that is to be followed.
    #[error("{path}@{node}: not found in manifest")]
    NotInManifest {
        /// As typed; bytes that are no UTF-8 are replaced.
        path: String,
        /// The changeset.
        node: Node,
    },
    /// No bundle is read as a repository.
    #[error("no bundle provided - specify with -R")]
    NoBundle,
    /// A list of nodes cannot be read.
    #[error("cannot open nodes file \"{name}\": {reason}")]
    NodesFile {
        /// As typed.
        name: String,
        /// The system's words.
        reason: String,
    },
    /// A set that must not be empty is.
    #[error("empty revision set")]
    Empty,
    /// No changeset has this name.
    #[error(transparent)]
    Lookup(LookupError),
    /// A date cannot be understood.
    #[error(transparent)]
    Date(#[from] DateError),
    /// A file pattern cannot be used.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The working copy stands where only changesets can.
    #[error("working directory revision cannot be specified")]
    WorkingCopy,
    /// Another repository cannot be asked.
    #[error("{}", .0.0)]
    Peer(PeerError),
    /// The repository cannot be read.
    #[error(transparent)]
    Repo(#[from] RepoError),
}

impl RevsetError {
    /// The query is wrong as a whole.
    pub(crate) fn parse(message: impl Into<String>) -> RevsetError {
        RevsetError::Parse {
            message: message.into(),
            at: None,
            hint: None,
        }
    }

    pub(crate) fn hint(self, words: impl Into<String>) -> RevsetError {
        match self {
            RevsetError::Parse { message, at, .. } => RevsetError::Parse {
                message,
                at,
                hint: Some(words.into()),
            },
            other => other,
        }
    }

    /// Whether it only says that a name means nothing, which `present()` forgives.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            RevsetError::Missing(_) => true,
            RevsetError::Lookup(error) => !matches!(error, LookupError::Repo(_)),
            _ => false,
        }
    }
}

impl From<SyntaxError> for RevsetError {
    fn from(SyntaxError { message, at, hint }: SyntaxError) -> RevsetError {
        RevsetError::Parse { message, at, hint }
    }
}

impl From<PeerError> for RevsetError {
    fn from(error: PeerError) -> RevsetError {
        RevsetError::Peer(error)
    }
}

impl From<LookupError> for RevsetError {
    fn from(error: LookupError) -> RevsetError {
        match error {
            LookupError::Repo(error) => RevsetError::Repo(error),
            other => RevsetError::Lookup(other),
        }
    }
}

impl From<varve_revlog::RevlogError> for RevsetError {
    fn from(error: varve_revlog::RevlogError) -> RevsetError {
        RevsetError::Repo(RepoError::Revlog(error))
    }
}
