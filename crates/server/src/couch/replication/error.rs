//! Reasons for a replication to fail.

use hyper::StatusCode;
use varve_replicate::ReplicateError;

/// A replication failed, or one of its requests did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::couch) enum ReplicationError {
    /// The request or document is wrong.
    #[error("{0}")]
    Request(String),
    /// The selector is wrong.
    #[error("{0}")]
    Selector(String),
    /// There is no such database.
    #[error("could not open {0}")]
    NoDatabase(String),
    /// The login of an endpoint does not count there, or has too few rights.
    #[error("unauthorized to access or create database {0}")]
    Unauthorized(String),
    /// The settings do not allow replications to reach this host.
    #[error("replications to and from {0} are not allowed by [replicator] allow_list")]
    HostNotAllowed(String),
    /// The filter of a replication cannot be had from the source.
    #[error("{0}")]
    Filter(String),
    /// The other side refused a request.
    #[error("{method} {url}: {status}, {reason}")]
    Refused {
        /// Method of the request.
        method: String,
        url: String,
        /// Status of the answer.
        status: StatusCode,
        /// Error and reason of the answer.
        reason: String,
    },
    /// No answer, or only the beginning of one, also after several attempts.
    #[error("{method} {url}: {reason}")]
    NoAnswer {
        /// Method of the request.
        method: String,
        url: String,
        /// Cause of the last attempt's failure.
        reason: String,
    },
    /// The session with the other side has expired; a new one may help.
    #[error("the session with {0} has expired")]
    Expired(String),
    /// An answer that is none.
    #[error("{url} answers what no CouchDB would: {reason}")]
    BadAnswer {
        /// URL of the request.
        url: String,
        /// Fault of the answer.
        reason: String,
    },
    /// An answer takes more memory than one may.
    #[error("the answer of {0} is too long")]
    TooLong(String),
    /// The target became another database meanwhile.
    #[error("the target {0} was deleted or made anew meanwhile")]
    TargetChanged(String),
    /// Another server of the store writes this database of the server, or begins to; nothing of the request is done.
    #[error("another server of the store writes {0}")]
    Moved(String),
    /// The run ended by a fault of this program.
    #[error("the run broke off: {0}")]
    Broken(String),
    /// This server stops; the next run goes on from there.
    #[error("the server stops")]
    Stopping,
    /// The settings of TLS cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The same replication belongs to another document.
    #[error("{0}")]
    AlreadyStarted(String),
}

impl From<ReplicateError> for ReplicationError {
    fn from(error: ReplicateError) -> ReplicationError {
        ReplicationError::Request(error.to_string())
    }
}

impl ReplicationError {
    /// CouchDB's word for it.
    pub fn word(&self) -> &'static str {
        match self {
            ReplicationError::Request(_) | ReplicationError::Selector(_) => "bad_rep_doc",
            ReplicationError::NoDatabase(_) => "db_not_found",
            ReplicationError::Unauthorized(_) => "unauthorized",
            ReplicationError::HostNotAllowed(_) => "forbidden",
            ReplicationError::Filter(_) => "filter_fetch_error",
            ReplicationError::AlreadyStarted(_) => "duplicate_job",
            ReplicationError::TargetChanged(_) => "target_db_changed",
            _ => "replication_error",
        }
    }

    /// As `_scheduler` and `_replicator` show it.
    pub fn told(&self) -> String {
        match self {
            ReplicationError::Request(_)
            | ReplicationError::Selector(_)
            | ReplicationError::AlreadyStarted(_) => self.to_string(),
            other => format!("{}: {other}", other.word()),
        }
    }

    /// Status of the answer, if it is a refusal of the other side.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            ReplicationError::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }
}
