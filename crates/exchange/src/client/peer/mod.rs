//! Repositories elsewhere: transports over HTTP and ssh, and the commands of the wire protocol as calls.

mod capabilities;
mod http;
mod remote;
mod segments;
mod ssh;
mod subset;

pub use capabilities::{PeerCapabilities, StreamSupport};
pub use http::{
    ComparedFingerprint, Fingerprint, Fingerprints, HttpOptions, HttpPeer, Login, Proxy, Traffic,
};
pub use remote::{Bookmarks, DebugListener, HeadsAndKnown, Remote};
pub(crate) use remote::{joined, unexpected};
pub use segments::Segment;
pub use ssh::{SshPeer, StderrListener};
pub use subset::SubsetPeer;

use crate::ExchangeError;
use crate::Spool;
use std::io::Read;

/// Arguments of one command, by name.
pub type PeerArgs<'a> = &'a [(&'a str, Vec<u8>)];

/// A way to a repository: sends commands, brings answers.
pub trait Transport: Send {
    /// Sends a command whose answer is short, and gives the answer.
    ///
    /// # Errors
    /// The other side cannot be reached, refuses, or is no repository.
    fn call(&mut self, command: &str, args: PeerArgs<'_>) -> Result<Vec<u8>, ExchangeError>;

    /// Sends a command whose answer is long, and gives the answer as it comes, expanded.
    ///
    /// # Errors
    /// As of [`Transport::call`]; a later failure fails the reader.
    fn stream(
        &mut self,
        command: &str,
        args: PeerArgs<'_>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError>;

    /// Pushes a bundle, and returns the answer as it comes.
    ///
    /// # Errors
    /// As of [`Transport::call`]; [`ExchangeError::NoPush`].
    fn unbundle(&mut self, _bundle: &mut Spool) -> Result<Box<dyn Read + Send>, ExchangeError> {
        Err(ExchangeError::NoPush)
    }

    /// Name and password for later requests, where the transport needs any.
    fn log_in(&mut self, _login: Login) {}

    /// Whether requests go to another process.
    fn is_remote(&self) -> bool {
        true
    }

    /// True if arguments have to be short.
    fn limits_arguments(&self) -> bool {
        false
    }

    /// Sets the capabilities of the other side, before anything else is sent.
    fn set_capabilities(&mut self, _capabilities: &PeerCapabilities) {}
}
