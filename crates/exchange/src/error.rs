//! What can go wrong between a request and its answer.

use crate::SinkClosed;
use std::io;
use varve_repo::RepoError;
use varve_revlog::{Node, RevlogError};

/// A request could not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The request is longer than this server reads.
    #[error("{what} of the request has {found} bytes, more than the {limit} that are read")]
    TooLong {
        /// Which part of the request.
        what: &'static str,
        /// Bytes found.
        found: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Part of the request breaks the protocol.
    #[error("{what} of the request is damaged: {reason}")]
    BadRequest {
        /// Which part of the request.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The command needs an argument that was not sent.
    #[error("command {command} needs the argument {name}")]
    MissingArgument {
        /// The command.
        command: String,
        /// The argument's name.
        name: &'static str,
    },
    /// An argument is not of its type.
    #[error("argument {name} of command {command} must be {expected}")]
    BadArgument {
        /// The command.
        command: String,
        /// The argument's name.
        name: &'static str,
        /// The type, in words.
        expected: &'static str,
    },
    /// This server has no such command.
    #[error("unknown command {command:?}")]
    UnknownCommand {
        /// Its name as sent.
        command: String,
    },
    /// The client wants to write.
    #[error("this version of Varve serves repositories for reading only: pushing is not supported")]
    ReadOnly,
    /// The client wants changesets that this repository does not show.
    #[error("unknown revision '{0}'")]
    UnknownRevision(String),
    /// Stream clones are switched off, or would show secret changesets.
    #[error("this server does not allow a stream clone of this repository")]
    NoStreamClone,
    /// A form of changegroup that is not known here.
    #[error("repository does not support bundle version {0}")]
    ChangegroupVersion(String),
    /// A bundlespec is wrong.
    #[error(transparent)]
    BundleSpec(#[from] crate::bundlespec::BundleSpecError),
    /// A manifest cannot be read.
    #[error("manifest {node} is damaged at byte {offset}: {reason}")]
    DamagedManifest {
        /// Its name.
        node: Node,
        /// Where in its text.
        offset: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// The repository cannot be read.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// A revlog cannot be read.
    #[error(transparent)]
    Revlog(#[from] RevlogError),
    /// The answer could not be put together.
    #[error("cannot write the answer")]
    Write(#[source] io::Error),
    /// The client left.
    #[error("the client closed the connection")]
    Closed(#[from] SinkClosed),
    /// The answer could not be compressed.
    #[error("cannot compress the answer")]
    Compress(#[from] varve_codec::CodecError),
    /// The repository's storage failed.
    #[error(transparent)]
    Storage(#[from] varve_base::StorageError),
}

impl ExchangeError {
    /// Whether the request is to blame and not the server: the text is for the client's user.
    pub fn is_clients_fault(&self) -> bool {
        matches!(
            self,
            ExchangeError::TooLong { .. }
                | ExchangeError::BadRequest { .. }
                | ExchangeError::MissingArgument { .. }
                | ExchangeError::BadArgument { .. }
                | ExchangeError::UnknownCommand { .. }
                | ExchangeError::ReadOnly
                | ExchangeError::NoStreamClone
                | ExchangeError::UnknownRevision(_)
        )
    }
}

impl From<io::Error> for ExchangeError {
    fn from(error: io::Error) -> Self {
        match error.downcast::<SinkClosed>() {
            Ok(closed) => ExchangeError::Closed(closed),
            Err(error) => ExchangeError::Write(error),
        }
    }
}
