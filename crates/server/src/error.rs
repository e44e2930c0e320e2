//! Why a server does not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The configuration is wrong; the message names file and line.
    #[error(transparent)]
    Config(#[from] varve_config::ConfigError),
    /// The configuration is no text.
    #[error("{file} is not UTF-8 text", file = file.display())]
    ConfigText {
        /// Path of the configuration file.
        file: PathBuf,
    },
    /// The directory could not be made, read or written.
    #[error(transparent)]
    Storage(#[from] varve_base::StorageError),
    /// The configuration could not be kept from other users of the machine.
    #[error("cannot make {file} readable by its owner only: {source}", file = file.display())]
    Protect {
        /// Path of the configuration file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The lock file could not be made.
    #[error("cannot lock {file}: {source}", file = file.display())]
    Lock {
        /// The lock file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Another server has the directory.
    #[error("{directory} is served by another process", directory = directory.display())]
    InUse {
        /// The served directory, as it was named.
        directory: PathBuf,
    },
    /// The shared store does not work.
    #[error(transparent)]
    Shared(#[from] varve_shared::SharedError),
    /// The directory has databases or repositories, which would not be served.
    #[error(
        "{directory} is not empty, and only databases of the shared store are served; 'varve shared put' copies databases there",
        directory = directory.display()
    )]
    OwnContent {
        /// The directory of databases or repositories.
        directory: PathBuf,
    },
    /// A setting that a shared store cannot honour.
    #[error("{file}: {setting} cannot be set with a shared store, which has whatever was acknowledged", file = file.display())]
    NotShared {
        /// Path of the configuration file.
        file: PathBuf,
        /// Section and key.
        setting: &'static str,
    },
    /// All servers of a store have the same identity and key of cookies.
    #[error("{file}: {setting} is not that of the shared store; remove it here to have that one", file = file.display())]
    OtherIdentity {
        /// Path of the configuration file.
        file: PathBuf,
        /// Section and key.
        setting: String,
    },
    /// The server listens at all addresses of its machine, and other servers of its store need one.
    #[error(
        "other servers of the store must reach this one: name its host and port with --advertise, or listen at one address"
    )]
    NoAdvertisedAddress,
    /// The log could not be opened.
    #[error("cannot open the log {file}: {source}", file = file.display())]
    Log {
        /// Path of the log, as `[log] file` has it.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The system gives no random bytes for passwords and keys.
    #[error("the system gives no random bytes: {source}")]
    Random {
        /// The system's reason.
        source: getrandom::Error,
    },
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
    /// The certificate of the server cannot be used.
    #[error("cannot use the certificate {file}: {reason}", file = file.display())]
    Certificate {
        /// Path of the certificate, as configured.
        file: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The settings file of a collection is wrong.
    #[error(transparent)]
    Hgrc(#[from] varve_config::hgrc::HgrcError),
    /// A name of a collection leads to no repository.
    #[error("filesystem path is not a repository: '{path}' (this was mapped to server path '{name}')", path = path.display())]
    NotARepository {
        /// The path as written.
        path: PathBuf,
        /// The name for it.
        name: String,
    },
    /// The directory of a pattern cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Walk {
        /// Path of the directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A signal ended the start.
    #[error("interrupted")]
    Interrupted,
    /// Ctrl-C and SIGTERM could not be caught.
    #[error("cannot wait for signals: {source}")]
    Signals {
        /// The system's reason.
        source: io::Error,
    },
}
