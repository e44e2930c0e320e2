//! Bundles, changegroups, stream clones and the wire commands as functions from request to response.
//!
//! Rooms, each of which imports only from those above it:
//!
//! ```text
//! error, sink, spool       the error type; buffers on their way to a client; uploads of unknown length
//! format                   bytes: bundle10, bundle20, one codec per part type, changegroups, streams, bundlespecs
//! generate                 a repository's history into bundles
//! apply                    bundles into a repository, in one transaction
//! bundle_repo              a bundle laid over a repository
//! server                   wire commands, getbundle, unbundle, clone bundles
//! client                   peers over HTTP and ssh, discovery, pull, push
//! local_peer               a repository of this machine as a peer: the client's transport over the server's commands
//! fuzzing                  bodies of the fuzz targets
//! ```
//! `server` and `client` do not import each other.

pub mod apply;
mod bundle_repo;
pub mod client;
mod error;
pub mod format;
pub mod fuzzing;
pub mod generate;
mod local_peer;
pub mod server;
mod sink;
mod spool;

pub use bundle_repo::{add_history, open_bundle_repo, open_overlay};
pub use error::{ExchangeError, NewHeads, PushRefusal, SinkClosed};
pub use local_peer::LocalPeer;
pub use sink::{ChunkSink, copy_file};
pub use spool::Spool;

#[cfg(test)]
mod tests;
