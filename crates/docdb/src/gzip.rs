//! Attachments of compressible types are stored as gzip; the digest that clients see is of that
//! form, so its bytes matter.

use flate2::read::GzDecoder;
use std::io::Read;
use varve_codec::deflate::{Level, deflate};

/// Magic, deflate, no flags, no time, no hint, and the number of Unix.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

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

/// The gzip form, byte for byte as zlib makes it at level 8 with default memory: other encoders
/// give other bytes, so another digest and another revision for the same edit.
pub(crate) fn compress(data: &[u8]) -> Vec<u8> {
    let mut out = deflate(data, Level::Eight, HEAD.to_vec());
    let mut crc = flate2::Crc::new();
    crc.update(data);
    out.extend_from_slice(&crc.sum().to_le_bytes());
    // The length is kept modulo 2 to the 32.
    out.extend_from_slice(&(data.len() as u32).to_le_bytes());
    out
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

    /// What `zlib.compressobj(8, zlib.DEFLATED, 31, 8, 0)` of zlib 1.2.13 makes of these.
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
            let stored = compress(&data);
            let mut back = Vec::new();
            expand(&stored, data.len() as u64, &mut back).unwrap();
            assert!(back == data, "{name} does not come back");
            let md5: [u8; 16] = Md5::digest(&stored).into();
            let hex: String = md5.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, digest, "{name}: {} bytes", stored.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn everything_expands_to_itself(data in proptest::collection::vec(0..6u8, 0..3000)) {
            let mut back = Vec::new();
            expand(&compress(&data), data.len() as u64, &mut back).unwrap();
            proptest::prop_assert_eq!(back, data);
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
