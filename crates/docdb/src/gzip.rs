//! Attachments of compressible types are stored as gzip; the digest that clients see is of that
//! form, so its bytes matter.

use flate2::Crc;
use flate2::write::MultiGzDecoder;
use std::io::{self, Write};
use varve_codec::deflate::{Deflater, Level};

/// Magic, deflate, no flags, no time, no hint, and the number of Unix.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// Which attachments are stored as gzip, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compressible {
    /// Types without parameters; `*` stands for any characters, and upper case for lower.
    pub types: Vec<String>,
    /// The level; `None` for none at all.
    pub level: Option<Level>,
}

impl Default for Compressible {
    /// CouchDB's.
    fn default() -> Self {
        let types = [
            "text/*",
            "application/javascript",
            "application/json",
            "application/xml",
        ];
        Compressible {
            types: types.map(str::to_owned).to_vec(),
            level: Some(Level::EIGHT),
        }
    }
}

impl Compressible {
    /// At which level data of this type is compressed.
    pub(crate) fn level_of(&self, content_type: &str) -> Option<Level> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        let fits = |pattern: &String| fits(&pattern.to_ascii_lowercase(), &essence);
        self.level.filter(|_| self.types.iter().any(fits))
    }
}

/// Whether a text is as a pattern with stars says.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A gzip stream in the making, byte for byte as zlib makes it with default memory: other encoders
/// give other bytes, so another digest and another revision for the same edit.
#[derive(Debug)]
pub(crate) struct Packing {
    deflater: Deflater,
    crc: Crc,
}

impl Packing {
    pub(crate) fn new(level: Level) -> Self {
        Packing {
            deflater: Deflater::new(level, HEAD.to_vec()),
            crc: Crc::new(),
        }
    }

    /// Returns bytes of the stream that are done, if any.
    pub(crate) fn write(&mut self, data: &[u8]) -> Vec<u8> {
        self.crc.update(data);
        self.deflater.write(data)
    }

    /// Returns the rest of the stream.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut out = self.deflater.finish();
        out.extend_from_slice(&self.crc.sum().to_le_bytes());
        // The length is kept modulo 2 to the 32, as the sum counts it.
        out.extend_from_slice(&self.crc.amount().to_le_bytes());
        out
    }
}

/// The whole stream at once.
pub(crate) fn compress(data: &[u8], level: Level) -> Vec<u8> {
    let mut packing = Packing::new(level);
    let mut out = packing.write(data);
    out.append(&mut packing.finish());
    out
}

/// Bytes of a stream that are followed before the length is looked at.
const FOLLOWED: usize = 16 << 10;

/// Follows a gzip stream to learn whether it is one, and its expanded length.
#[derive(Debug)]
pub(crate) struct Following(MultiGzDecoder<Length>);

#[derive(Debug, Default)]
struct Length(u64);

impl Write for Length {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0 += data.len() as u64;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Following {
    pub(crate) fn new() -> Self {
        Following(MultiGzDecoder::new(Length::default()))
    }

    /// Takes more of the stream; an error if that is none.
    pub(crate) fn write(&mut self, data: &[u8]) -> io::Result<()> {
        self.0.write_all(data)
    }

    /// Bytes that it has expanded to so far.
    pub(crate) fn expanded(&self) -> u64 {
        self.0.get_ref().0
    }

    /// The length, if the stream is whole.
    pub(crate) fn finish(self) -> io::Result<u64> {
        self.0.finish().map(|length| length.0)
    }
}

/// Length of what a gzip stream expands to; `None` if it is none. One that expands to more than `limit` is not read to
/// its end.
pub(crate) fn expanded_len(data: &[u8], limit: u64) -> Option<u64> {
    let mut following = Following::new();
    for piece in data.chunks(FOLLOWED) {
        following.write(piece).ok()?;
        if following.expanded() > limit {
            return Some(following.expanded());
        }
    }
    following.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::{Digest, Md5};

    #[test]
    fn types_are_compressible_whatever_their_parameters() {
        let usual = Compressible::default();
        assert!(usual.level_of("Text/Plain; charset=utf-8").is_some());
        assert!(usual.level_of("application/json").is_some());
        assert!(usual.level_of("image/png").is_none());
        let none = Compressible {
            level: None,
            ..usual
        };
        assert!(none.level_of("text/plain").is_none());
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text) in [
            ("a/*", "a/b"),
            ("*", ""),
            ("*+xml", "a/b+xml"),
            ("a*b*c", "abbc"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("a/*", "b/a/b"),
            ("a/b", "a/bc"),
            ("a*bc*c", "abc"),
            ("", "a"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    fn expand(stored: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut expanded = flate2::read::MultiGzDecoder::new(stored);
        std::io::Read::read_to_end(&mut expanded, &mut out).unwrap();
        out
    }

    #[test]
    fn what_is_no_whole_gzip_has_no_length() {
        let stored = compress(b"some text, some text", Level::EIGHT);
        assert_eq!(expanded_len(&stored, u64::MAX), Some(20));
        assert_eq!(
            expanded_len(&[&stored[..], &stored[..]].concat(), u64::MAX),
            Some(40)
        );
        assert_eq!(expanded_len(b"no gzip at all", u64::MAX), None);
        for len in 0..stored.len() {
            assert_eq!(expanded_len(&stored[..len], u64::MAX), None, "{len}");
        }
    }

    /// Digest of the output of `zlib.compressobj(8, zlib.DEFLATED, 31, 8, 0)` of zlib 1.2.13.
    #[test]
    fn longer_data_has_the_digest_of_zlib() {
        let random = |len: usize, below: u64| -> Vec<u8> {
            let mut state = 1u64;
            let mut next = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            (0..len).map(|_| next() as u8).collect()
        };
        let words = |count: usize| -> Vec<u8> {
            let picks = random(count, 13);
            let word = |pick: &u8| format!("word{pick}{} ", "x".repeat(usize::from(*pick % 5)));
            picks.iter().map(word).collect::<String>().into_bytes()
        };
        for (name, data, digest) in [
            ("few words", words(60), "20411f7c1ad7cf2e24e1492d533ca344"),
            ("words", words(9_000), "d7fe4fa9dd5794251b42446b36e0d6d6"),
            (
                "many words",
                words(70_000),
                "cafed792057827a82067ad29d47cbea8",
            ),
            (
                "noise",
                random(70_000, 256),
                "5a325a09ec1f3cffa1e6ea5927302cc6",
            ),
            (
                "two letters",
                random(100_000, 2),
                "9eba6977d762c48bb102c4c5c46fe7e8",
            ),
            (
                "little noise",
                random(300, 251),
                "262c3e44b9de81b7abbccba209866b18",
            ),
            (
                "letters",
                random(200_000, 26),
                "aad4c4b553c857a3609128076611d519",
            ),
            (
                "zeros",
                vec![0; 100_000],
                "781d85846e95592e564bead19c048178",
            ),
            ("one byte", vec![7], "77ef11ba38ad665c9544bc6f3a103d95"),
        ] {
            let stored = compress(&data, Level::EIGHT);
            let back = expand(&stored);
            assert!(back == data, "{name} does not come back");
            let md5: [u8; 16] = Md5::digest(&stored).into();
            let hex: String = md5.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, digest, "{name}: {} bytes", stored.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn everything_expands_to_itself(data in proptest::collection::vec(0..6u8, 0..3000)) {
            proptest::prop_assert_eq!(expand(&compress(&data, Level::EIGHT)), data);
        }
    }

    #[test]
    fn the_stored_form_has_the_recorded_digest_and_expands() {
        // Digests of `couchdb-revisions.json`.
        for (data, digest) in [
            (&b"hello"[..], "88c6a20bcc2a885943d8d8cb4de9af09"),
            (b"", "7029066c27ac6f5ef18d660d5741979a"),
            (b"z", "d561480d2b81d397c188cbb62335371c"),
        ] {
            let stored = compress(data, Level::EIGHT);
            let md5: [u8; 16] = Md5::digest(&stored).into();
            let hex: String = md5.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, digest, "{stored:x?}");
            assert_eq!(expand(&stored), data);
            assert_eq!(expanded_len(&stored, u64::MAX), Some(data.len() as u64));
        }
    }
}
