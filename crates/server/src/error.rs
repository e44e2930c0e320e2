//! Why a server does not start.

use std::io;
use std::net::SocketAddr;

/// A server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The system gave no threads.
    #[error("cannot start the threads of the server: {source}")]
    Threads {
        /// The system's reason.
        source: io::Error,
    },
    /// The address is taken, not ours, or not allowed.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// Ctrl-C and SIGTERM could not be caught.
    #[error("cannot wait for signals: {source}")]
    Signals {
        /// The system's reason.
        source: io::Error,
    },
}
