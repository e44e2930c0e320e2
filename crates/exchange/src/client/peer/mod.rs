//! Repositories elsewhere, asked as Mercurial's clients ask: what they can do, which changesets
//! both sides have, and the bundle with the others.

mod capabilities;
mod http;
mod remote;
mod ssh;

pub use capabilities::PeerCapabilities;
pub use http::{HttpOptions, HttpPeer, Login, Proxy, Traffic};
pub use remote::{Bookmarks, BundleRequest, Listener, Look, Remote};
pub(crate) use remote::{parse_bookmarks, readable};
pub use ssh::{SaidListener, SshPeer};

use crate::ExchangeError;
use crate::spool::Spool;
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
    /// As of [`Transport::call`]; what fails later fails the reader.
    fn stream(
        &mut self,
        command: &str,
        args: PeerArgs<'_>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError>;

    /// Sends a bundle to be stored, and gives the answer as it comes.
    ///
    /// # Errors
    /// As of [`Transport::call`]; [`ExchangeError::NoPush`].
    fn push(&mut self, _bundle: &mut Spool) -> Result<Box<dyn Read + Send>, ExchangeError> {
        Err(ExchangeError::NoPush)
    }

    /// Name and password for what follows, where the way needs any.
    fn log_in(&mut self, _login: Login) {}

    /// Whether what is sent goes to another program.
    fn is_far(&self) -> bool {
        true
    }

    /// Takes note of what the other side can do, before anything else is sent.
    fn learn(&mut self, _capabilities: &PeerCapabilities) {}
}
