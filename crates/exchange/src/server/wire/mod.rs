//! Mercurial's wire protocol: [`WireRequest`] in, [`WireResponse`] out. HTTP itself is elsewhere.

mod answers;
mod between;
mod bundle1;
mod bundle_caps;
pub(crate) use bundle_caps::parse as parse_bundle_caps;
mod capabilities;
mod clone_bundles;
mod compressed;
mod frames;
mod getbundle;
mod media;
mod own_settings;
mod phase_heads;
mod planned_bundle;
mod pull_bundles;
mod read_hooks;
mod repeatable;
mod request;
mod roots;
mod stream_clone;

use crate::server::clone_bundles::BUNDLE_CACHE;
use crate::{ChunkSink, ExchangeError};
use std::path::PathBuf;
use std::sync::Arc;
use stream_clone::StreamClone;
use varve_codec::{CodecId, EngineSetting};
use varve_repo::Repository;

pub use crate::format::media_types::{TYPE_01, TYPE_02, TYPE_ERROR};
pub use bundle1::Bundle1Operation;
pub use media::ClientMedia;
pub(crate) use media::StreamMedia;
pub use read_hooks::{ReadHooks, ReaderLocation};
pub use repeatable::RepeatableResponse;
pub use request::{Args, WireRequest};
pub(crate) use request::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS};

/// How commands and answers are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireTransport {
    /// As requests of HTTP, see [`WireRequest::parse`].
    Http,
    /// Over standard input and output, see [`crate::server::stdio`].
    Stdio,
}

/// Configuration of the answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireSettings {
    /// Whether stream clones are offered (`server.uncompressed`).
    pub stream_clones: bool,
    /// How the answers are carried.
    pub transport: WireTransport,
    /// Whether they are offered even if that shows secret changesets
    /// (`server.uncompressedallowsecret`).
    pub streams_secret: bool,
    /// Streams are what clients get that leave it open (`server.preferuncompressed`).
    pub prefers_streams: bool,
    /// Streams are offered within bundles, too (`server.bundle2.stream`).
    pub bundle2_streams: bool,
    /// Pushes race only where they change the same heads (`server.concurrent-push-mode`).
    pub compares_heads: bool,
    /// Compressions of deltas are announced (`storage.revlog.exchange-compressed-delta`).
    pub announces_delta_compression: bool,
    /// Whether clients may pull that read no bundle2 (`server.bundle1.pull`).
    pub bundle1: bool,
    /// Whether clients may pull everything at once (not `server.disablefullbundle`).
    pub full_bundles: bool,
    /// Whether pulls are answered with bundles of `.hg/pullbundles.manifest` (`server.pullbundle`).
    pub pull_bundles: bool,
    /// Directory of clone bundles that are sent by a command, relative to `.hg` (`server.peer-bundle-cache-root`).
    pub bundle_cache: PathBuf,
    /// Bytes of a header that clients send at most; 0 if they send no arguments in headers (`server.maxhttpheaderlen`).
    pub http_header_len: i64,
    /// Codecs of long answers, best first (`server.compressionengines`).
    pub engines: Vec<CodecId>,
    /// Whether obsolescence markers are exchanged, as `experimental.evolution` says.
    pub takes_markers: bool,
    /// Whether pulled changesets become public, as `phases.publish` of the repository says.
    pub publishing: bool,
    /// Where clients fetch the repository's clone bundles, as a URL without a slash at its end; if
    /// there is no such place, they ask for them by a command.
    pub clone_bundles_at: Option<String>,
    /// Level of answers in zlib (`server.zliblevel`), 0 to 9.
    pub zlib_level: i32,
    /// Level of answers in zstd (`server.zstdlevel`), 1 to 22.
    pub zstd_level: i32,
}

impl WireSettings {
    /// How a streamed answer in this codec is compressed; a level out of range is the default.
    pub(crate) fn engine(&self, codec: CodecId) -> EngineSetting {
        let (level, default) = match codec {
            CodecId::Zlib => (self.zlib_level, EngineSetting::ZLIB),
            CodecId::Zstd => (self.zstd_level, EngineSetting::ZSTD),
            CodecId::None | CodecId::Snappy => return EngineSetting::NONE,
        };
        EngineSetting::new(codec, level).unwrap_or(default)
    }
}

impl Default for WireSettings {
    fn default() -> Self {
        WireSettings {
            stream_clones: true,
            transport: WireTransport::Http,
            streams_secret: false,
            prefers_streams: false,
            bundle2_streams: true,
            compares_heads: true,
            announces_delta_compression: true,
            bundle1: true,
            full_bundles: true,
            pull_bundles: true,
            bundle_cache: PathBuf::from(BUNDLE_CACHE),
            http_header_len: 1024,
            engines: vec![CodecId::Zstd, CodecId::Zlib],
            takes_markers: false,
            publishing: true,
            clone_bundles_at: None,
            zlib_level: EngineSetting::ZLIB.level(),
            zstd_level: EngineSetting::ZSTD.level(),
        }
    }
}

/// Writes the body of a streamed answer in one pass, each time the same bytes.
pub type WriteBody = dyn Fn(&mut dyn ChunkSink) -> Result<(), ExchangeError> + Send + Sync;

/// The body of a streamed answer.
pub enum StreamBody {
    /// Made in one pass, so that its maker is held up by a slow client.
    OnePass(Arc<WriteBody>),
    /// Made in steps, between which nothing is held up.
    InSteps(Box<dyn BodySteps>),
}

/// A body that is made in steps.
pub trait BodySteps: Send {
    /// Sends the next part of the body: a buffer of at most 64 KiB and small pieces, or a file. Returns whether
    /// there is more.
    ///
    /// # Errors
    /// Data that cannot be read; [`ExchangeError::Closed`] once the client is gone.
    fn step(&mut self, sink: &mut dyn ChunkSink) -> Result<bool, ExchangeError>;
}

impl StreamBody {
    /// Sends all of it, for a caller that may be held up.
    ///
    /// # Errors
    /// As [`BodySteps::step`].
    pub fn send(self, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
        match self {
            StreamBody::OnePass(write) => write(sink),
            StreamBody::InSteps(mut steps) => {
                while steps.step(sink)? {}
                Ok(())
            }
        }
    }
}

/// The answer to a [`WireRequest`].
pub enum WireResponse {
    /// A short answer.
    Whole {
        /// Value of the `Content-Type` header.
        content_type: &'static str,
        /// All of it.
        body: Vec<u8>,
    },
    /// An answer that is made while it is sent. After an error the connection must be cut, so
    /// that the client does not take a part of it for everything.
    Stream {
        /// Value of the `Content-Type` header.
        content_type: &'static str,
        /// Makes the body.
        body: StreamBody,
        /// The same answer for requests that come meanwhile, if it can be shared.
        repeatable: Option<RepeatableResponse>,
    },
}

impl WireResponse {
    fn plain(body: Vec<u8>) -> Self {
        WireResponse::Whole {
            content_type: TYPE_01,
            body,
        }
    }

    /// A text that `hg` shows as the server's words before it stops, with all its causes.
    pub fn refusal(error: &ExchangeError) -> Self {
        let mut text = error.with_causes();
        text.push('\n');
        WireResponse::Whole {
            content_type: TYPE_ERROR,
            body: text.into_bytes(),
        }
    }
}

/// Answers one request. A client's error is an answer too, [`WireResponse::refusal`].
///
/// # Errors
/// Errors of this side: damage, storage, a repository that is always being written to, a hook that refuses.
pub fn respond(
    repo: &Repository,
    request: &WireRequest,
    settings: &WireSettings,
    hooks: &ReadHooks,
) -> Result<WireResponse, ExchangeError> {
    match dispatch(repo, request, settings, hooks) {
        // Not one of a batch.
        Err(ExchangeError::UnknownCommand { command }) if command == request.command => {
            Err(ExchangeError::UnknownCommand { command })
        }
        Err(error)
            if request.command == "getbundle"
                && (error.is_clients_fault() || hooks.answers_with(&error)) =>
        {
            getbundle::refusal(request, &error)
        }
        Err(error) if error.is_clients_fault() => Ok(WireResponse::refusal(&error)),
        other => other,
    }
}

fn dispatch(
    repo: &Repository,
    request: &WireRequest,
    settings: &WireSettings,
    hooks: &ReadHooks,
) -> Result<WireResponse, ExchangeError> {
    let view = repo.view()?;
    let configured = (settings, hooks);
    match request.command.as_str() {
        "batch" => {
            answers::answer_batch((repo, &view), request, configured).map(WireResponse::plain)
        }
        "getbundle" => getbundle::respond(repo, view, request, configured),
        "changegroup" | "changegroupsubset" => getbundle::changegroup(view, request, configured),
        "get_cached_bundle_inline" => clone_bundles::send(repo, &view, request, configured),
        "stream_out" => match StreamClone::plan(repo, &view, settings) {
            // The number 1 is this command's own word for "not allowed".
            Err(ExchangeError::NoStreamClone) => Ok(WireResponse::plain(b"1\n".to_vec())),
            Err(error) => Err(error),
            Ok(clone) => Ok(WireResponse::Stream {
                repeatable: None,
                content_type: TYPE_01,
                body: StreamBody::InSteps(Box::new(clone.into_v1())),
            }),
        },
        "unbundle" | "pushkey" => Err(ExchangeError::ReadOnly {
            command: request.command.clone(),
        }),
        _ => match answers::answer((repo, &view), request, configured)? {
            Some(body) => Ok(WireResponse::plain(body)),
            None => Err(ExchangeError::UnknownCommand {
                command: request.command.clone(),
            }),
        },
    }
}
