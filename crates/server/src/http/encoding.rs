//! Content encodings of requests.

use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// Binary logarithm of the largest zstd window that a client may make the server keep: 8 MiB, the least that every
/// reader of this encoding must have (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

/// Encoding of a body that a client may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    Identity,
    Gzip,
    Deflate,
    Zstd,
}

impl ContentEncoding {
    /// All of them, for error messages.
    pub(crate) const KNOWN: &str = "gzip, deflate, zstd and identity";

    /// Reads a `Content-Encoding` header; `None` for other encodings, or several.
    pub(crate) fn parse(name: &[u8]) -> Option<ContentEncoding> {
        let known = [
            (&b"identity"[..], ContentEncoding::Identity),
            (b"gzip", ContentEncoding::Gzip),
            (b"x-gzip", ContentEncoding::Gzip),
            (b"deflate", ContentEncoding::Deflate),
            (b"zstd", ContentEncoding::Zstd),
        ];
        let name = name.trim_ascii();
        let mut known = known.into_iter();
        known
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, encoding)| encoding)
    }

    /// The name for error messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ContentEncoding::Identity => "identity",
            ContentEncoding::Gzip => "gzip",
            ContentEncoding::Deflate => "deflate",
            ContentEncoding::Zstd => "zstd",
        }
    }

    /// Reads the body as it was before it was encoded.
    ///
    /// # Errors
    /// There is no memory for a decoder.
    pub(crate) fn decoder<'r>(self, encoded: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
        let encoded: Box<dyn BufRead + 'r> = Box::new(BufReader::new(encoded));
        Ok(match self {
            ContentEncoding::Identity => Box::new(encoded),
            ContentEncoding::Gzip => Box::new(MultiGzDecoder::new(encoded)),
            ContentEncoding::Deflate => Box::new(ZlibDecoder::new(encoded)),
            ContentEncoding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(encoded)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn names_are_those_of_http() {
        for (name, expected) in [
            ("GZip", Some(ContentEncoding::Gzip)),
            (" deflate ", Some(ContentEncoding::Deflate)),
            ("zstd", Some(ContentEncoding::Zstd)),
            ("identity", Some(ContentEncoding::Identity)),
            ("br", None),
            ("gzip, gzip", None),
            ("", None),
        ] {
            assert_eq!(ContentEncoding::parse(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn a_window_that_would_take_too_much_memory_is_refused() {
        let packed = |log: u32| {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
            encoder.window_log(log).unwrap();
            encoder.write_all(&vec![b'x'; 1000]).unwrap();
            encoder.finish().unwrap()
        };
        let read = |packed: Vec<u8>| {
            let mut plain = Vec::new();
            let decoder = ContentEncoding::Zstd.decoder(packed.as_slice());
            decoder.unwrap().read_to_end(&mut plain).map(|_| plain)
        };
        assert_eq!(read(packed(ZSTD_WINDOW_LOG)).unwrap(), vec![b'x'; 1000]);
        assert!(read(packed(ZSTD_WINDOW_LOG + 1)).is_err());
    }
}
