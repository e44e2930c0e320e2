//! Content types, and which compression a streamed answer gets.
//!
//! Type `application/mercurial-0.1` is bytes, or for a bundle one zlib stream. A client that can
//! says in `X-HgProto-1` that it reads `application/mercurial-0.2`:
//!
//! ```text
//! +----------------+-------------+------------------------
//! | u8 name length | engine name | that engine's stream …
//! +----------------+-------------+------------------------
//! ```
//!
//! Source: Mercurial `helptext/internals/wireprotocol.txt`.

use crate::format::media_types::{TYPE_01, TYPE_02};
use varve_codec::CodecId;

/// Which forms of streamed answers a client reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientMedia {
    reads_02: bool,
    /// Compressing would be for nothing: the client is on this machine, and says so by having
    /// `none` first in its list.
    is_near: bool,
    /// Answers are bare bytes: nothing says how they are compressed.
    is_bare: bool,
    engines: Vec<CodecId>,
    /// Names of all engines in its list, also of those that no answer is compressed by.
    engine_names: Vec<String>,
    /// Whether the client pulls again as long as it lacks something that it asked for.
    pulls_in_parts: bool,
}

/// The form of one streamed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamMedia {
    pub(crate) content_type: &'static str,
    /// Bytes before the compressed stream.
    pub(crate) prefix: &'static [u8],
    pub(crate) codec: CodecId,
}

impl StreamMedia {
    const V1: StreamMedia = StreamMedia {
        content_type: TYPE_01,
        prefix: b"",
        codec: CodecId::Zlib,
    };

    const BARE: StreamMedia = StreamMedia {
        content_type: TYPE_01,
        prefix: b"",
        codec: CodecId::None,
    };

    fn v2(codec: CodecId) -> StreamMedia {
        let prefix: &'static [u8] = match codec {
            CodecId::Zstd => b"\x04zstd",
            CodecId::Zlib => b"\x04zlib",
            CodecId::None | CodecId::Snappy => b"\x04none",
        };
        StreamMedia {
            content_type: TYPE_02,
            prefix,
            codec,
        }
    }
}

impl ClientMedia {
    /// Reads the value of the `X-HgProto` headers; unknown words are ignored.
    pub fn parse(value: &[u8]) -> Self {
        let text = String::from_utf8_lossy(value);
        let mut media = ClientMedia::default();
        let mut engines = None;
        for word in text.split_ascii_whitespace() {
            if word == "0.2" {
                media.reads_02 = true;
            } else if let Some(list) = word.strip_prefix("comp=") {
                engines = Some(list);
            } else if word == "partial-pull" {
                media.pulls_in_parts = true;
            }
        }
        let engines = engines.unwrap_or("zlib,none");
        media.engines = engines.split(',').filter_map(engine).collect();
        media.engine_names = engines.split(',').map(str::to_owned).collect();
        // Mercurial's clients never have it first, and it is no engine that they are answered with.
        media.is_near = engines.starts_with("none,");
        media
    }

    /// Those of a client in this process, or at the other end of a pair of streams.
    pub(crate) fn bare() -> Self {
        ClientMedia {
            is_bare: true,
            ..ClientMedia::default()
        }
    }

    /// Those of a client at the other end of a pair of streams that said what it reads.
    pub(crate) fn bare_with(capabilities: &[u8]) -> Self {
        ClientMedia {
            is_bare: true,
            ..ClientMedia::parse(capabilities)
        }
    }

    /// Whether a pull may be answered with a part of what was asked for.
    pub(crate) fn pulls_in_parts(&self) -> bool {
        self.pulls_in_parts
    }

    /// Whether the client reads bundles that are compressed by the engine.
    pub(crate) fn reads_engine(&self, name: &str) -> bool {
        self.engine_names.iter().any(|known| known == name)
    }

    /// The form of an answer that is worth compressing.
    /// `ours` are the server's codecs, best first.
    pub(crate) fn compressed(&self, ours: &[CodecId]) -> StreamMedia {
        if self.is_bare || self.is_near {
            return self.uncompressed();
        }
        let both = ours.iter().find(|codec| self.engines.contains(codec));
        match both {
            Some(codec) if self.reads_02 => StreamMedia::v2(*codec),
            _ => StreamMedia::V1,
        }
    }

    /// The form of an answer that is compressed already.
    pub(crate) fn uncompressed(&self) -> StreamMedia {
        match (self.is_bare, self.reads_02) {
            (true, _) => StreamMedia::BARE,
            (false, true) => StreamMedia::v2(CodecId::None),
            (false, false) => StreamMedia::V1,
        }
    }
}

fn engine(name: &str) -> Option<CodecId> {
    match name {
        "zstd" => Some(CodecId::Zstd),
        "zlib" => Some(CodecId::Zlib),
        "none" => Some(CodecId::None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_common_engine_is_chosen() {
        let choice = |value: &[u8]| {
            let media = ClientMedia::parse(value).compressed(&[CodecId::Zstd, CodecId::Zlib]);
            (media.content_type, media.codec)
        };
        let zstd = (TYPE_02, CodecId::Zstd);
        let zlib = (TYPE_02, CodecId::Zlib);
        let old = (TYPE_01, CodecId::Zlib);
        assert_eq!(
            choice(b"0.1 0.2 comp=zstd,zlib,none,bzip2 partial-pull"),
            zstd
        );
        assert_eq!(
            choice(b"0.1 0.2 comp=bzip2,zlib,zstd"),
            zstd,
            "our order counts"
        );
        assert_eq!(choice(b"0.2 comp=zlib,none"), zlib);
        assert_eq!(choice(b"0.2"), zlib);
        assert_eq!(choice(b"0.1 0.2 comp=none"), old);
        let none = (TYPE_02, CodecId::None);
        assert_eq!(choice(b"0.1 0.2 comp=none,zstd"), none);
        assert_eq!(choice(b"0.1 comp=none,zstd"), old);
        assert_eq!(choice(b"0.1"), old);
        assert_eq!(choice(b""), old);
        assert_eq!(choice(b"\xff comp= 0.2"), old);
        let all = ClientMedia::parse(b"0.2 comp=zstd,zlib,none");
        let first = [CodecId::None, CodecId::Zlib];
        assert_eq!(all.compressed(&first).prefix, b"\x04none");
        let raw = ClientMedia::parse(b"0.2 comp=zstd").uncompressed();
        assert_eq!((raw.content_type, raw.prefix), (TYPE_02, &b"\x04none"[..]));
    }
}
