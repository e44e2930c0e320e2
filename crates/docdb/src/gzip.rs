//! Attachments of compressible types are stored as gzip; the digest that clients see is of that
//! form, so its bytes matter.

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use std::io::{Read, Write};

/// CouchDB's default `[attachments] compression_level`.
const LEVEL: u32 = 8;
/// What zlib puts into the header of a gzip stream that it makes on Unix.
const UNIX: u8 = 3;

/// Whether data of this type is stored as gzip: CouchDB's default `compressible_types`.
pub(crate) fn is_compressible(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence.starts_with("text/")
        || matches!(
            essence.as_str(),
            "application/javascript" | "application/json" | "application/xml"
        )
}

/// The gzip form.
pub(crate) fn compress(data: &[u8]) -> Vec<u8> {
    let builder = GzBuilder::new().operating_system(UNIX);
    let mut encoder = builder.write(Vec::new(), Compression::new(LEVEL));
    // Writing to memory cannot fail.
    let _ = encoder.write_all(data);
    encoder.finish().unwrap_or_default()
}

/// Length of what a gzip stream expands to; `None` if it is none.
pub(crate) fn expanded_len(data: &[u8]) -> Option<u64> {
    std::io::copy(&mut GzDecoder::new(data), &mut std::io::sink()).ok()
}

/// Appends what a gzip stream expands to, at most `limit` bytes.
pub(crate) fn expand(data: &[u8], limit: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    GzDecoder::new(data).take(limit).read_to_end(out).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::{Digest, Md5};

    #[test]
    fn types_are_compressible_whatever_their_parameters() {
        assert!(is_compressible("Text/Plain; charset=utf-8"));
        assert!(is_compressible("application/json"));
        assert!(!is_compressible("image/png"));
    }

    #[test]
    fn the_stored_form_has_the_recorded_digest_and_expands() {
        // Digests of `couchdb-revisions.json`.
        for (data, digest) in [
            (&b"hello"[..], "88c6a20bcc2a885943d8d8cb4de9af09"),
            (b"", "7029066c27ac6f5ef18d660d5741979a"),
            (b"z", "d561480d2b81d397c188cbb62335371c"),
        ] {
            let stored = compress(data);
            let md5: [u8; 16] = Md5::digest(&stored).into();
            let hex: String = md5.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, digest, "{stored:x?}");
            let mut back = Vec::new();
            expand(&stored, 100, &mut back).unwrap();
            assert_eq!(back, data);
            assert_eq!(expanded_len(&stored), Some(data.len() as u64));
        }
    }
}
