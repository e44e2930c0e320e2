//! Mercurial's wire protocol: [`WireRequest`] in, [`WireResponse`] out. HTTP itself is elsewhere.

mod batch;
mod capabilities;
mod media;
mod request;

use crate::{ChunkSink, ExchangeError};

pub use media::{ClientMedia, TYPE_01, TYPE_02, TYPE_ERROR};
pub use request::{Args, WireRequest};

/// What makes the body of a streamed answer, on the thread that calls it.
pub type StreamBody = Box<dyn FnOnce(&mut dyn ChunkSink) -> Result<(), ExchangeError> + Send>;

/// The answer to a [`WireRequest`].
pub enum WireResponse {
    /// A short answer.
    Whole {
        /// Value of the `Content-Type` header.
        content_type: &'static str,
        /// All of it.
        body: Vec<u8>,
    },
    /// An answer that is made while it is sent.
    Stream {
        /// Value of the `Content-Type` header.
        content_type: &'static str,
        /// Makes the body.
        body: StreamBody,
    },
}

/// What the server's configuration says about answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireSettings {
    /// Whether stream clones are offered (`server.uncompressed`).
    pub stream_clones: bool,
}

impl Default for WireSettings {
    fn default() -> Self {
        WireSettings {
            stream_clones: true,
        }
    }
}
