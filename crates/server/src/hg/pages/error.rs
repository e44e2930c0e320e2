//! Refusals of pages, with the statuses and words of `hg serve`.

use crate::Failure;
use hyper::StatusCode;
use varve_repo::{LookupError, RepoError};

/// Why there is no page.
#[derive(Debug)]
pub(super) enum PageError {
    /// For the client.
    Refused {
        status: StatusCode,
        /// Words behind the status; `None` for the usual ones.
        reason: Option<&'static str>,
        message: String,
    },
    /// A fault of the server or its files, which the operator learns, too.
    Failed(Failure),
}

impl PageError {
    /// A refusal whose message stands behind the status.
    pub(super) fn told(status: StatusCode, words: &'static str) -> PageError {
        PageError::Refused {
            status,
            reason: Some(words),
            message: words.to_owned(),
        }
    }

    /// 404 with the usual words.
    pub(super) fn missing(message: String) -> PageError {
        PageError::Refused {
            status: StatusCode::NOT_FOUND,
            reason: None,
            message,
        }
    }

    /// The command needs a path.
    pub(super) fn no_file() -> PageError {
        PageError::told(StatusCode::NOT_FOUND, "file not given")
    }

    /// The changeset has no file of that name.
    pub(super) fn not_in_manifest(path: &[u8], node: &varve_repo::Node) -> PageError {
        let path = String::from_utf8_lossy(path);
        PageError::missing(format!("{path}@{node}: not found in manifest"))
    }

    /// A limit of this server, which Mercurial lacks.
    pub(super) fn too_long(what: &str) -> PageError {
        PageError::Refused {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            reason: None,
            message: format!("{what} is too long for a page"),
        }
    }
}

impl From<RepoError> for PageError {
    fn from(error: RepoError) -> PageError {
        PageError::Failed(Failure::internal(error))
    }
}

impl From<varve_repo::RevlogError> for PageError {
    fn from(error: varve_repo::RevlogError) -> PageError {
        PageError::from(RepoError::from(error))
    }
}

impl From<LookupError> for PageError {
    fn from(error: LookupError) -> PageError {
        match error {
            LookupError::Repo(error) => error.into(),
            error => PageError::missing(error.to_string()),
        }
    }
}
