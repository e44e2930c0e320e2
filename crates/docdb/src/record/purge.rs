//! The value of the tree of purges.
//!
//! ```text
//! +-------+-------+--------------+
//! | id    | count | per revision |
//! | bytes |       |              |
//! +-------+-------+--------------+
//! revision: generation, digest as bytes
//! ```
//! Keys are purge sequences, big-endian numbers of 64 bits. Behind them all stands the key `limit`
//! with a number as its value: how many purges are kept.

use super::{put_rev, read_rev};
use crate::Rev;
use crate::record::fields::{self, Malformed, Reader};

/// Under which key the limit stands; no sequence gets so high.
pub(crate) const LIMIT_KEY: &[u8] = b"limit";
/// How many purges are kept by default.
pub(crate) const DEFAULT_LIMIT: u64 = 1000;

/// Revisions of one document that were to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// Its number, from 1.
    pub seq: u64,
    /// The document.
    pub id: String,
    /// The revisions.
    pub revs: Vec<Rev>,
}

impl Purge {
    pub(crate) fn key(seq: u64) -> [u8; 8] {
        seq.to_be_bytes()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        fields::put_counted(self.id.as_bytes(), out);
        fields::put(self.revs.len() as u64, out);
        for rev in &self.revs {
            put_rev(rev, out);
        }
    }

    pub(crate) fn decode(key: &[u8], bytes: &[u8]) -> Result<Purge, Malformed> {
        let seq = u64::from_be_bytes(key.try_into().map_err(|_| Malformed)?);
        let mut reader = Reader::new(bytes);
        let id = reader.text()?.to_owned();
        let mut revs = Vec::new();
        for _ in 0..reader.number()? {
            revs.push(read_rev(&mut reader)?);
        }
        match reader.is_empty() {
            true => Ok(Purge { seq, id, revs }),
            false => Err(Malformed),
        }
    }
}

/// The value of [`LIMIT_KEY`].
pub(crate) fn encode_limit(limit: u64) -> Vec<u8> {
    let mut out = Vec::new();
    fields::put(limit, &mut out);
    out
}

pub(crate) fn decode_limit(bytes: &[u8]) -> Result<u64, Malformed> {
    let mut reader = Reader::new(bytes);
    let limit = reader.number()?;
    match reader.is_empty() {
        true => Ok(limit),
        false => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_purge() {
        let purge = Purge {
            seq: 0x0102,
            id: "ab".to_owned(),
            revs: vec!["2-967a00dff5e02add41819138abb3284d".parse().unwrap()],
        };
        let mut bytes = Vec::new();
        purge.encode(&mut bytes);
        let digest = b"\x96\x7a\x00\xdf\xf5\xe0\x2a\xdd\x41\x81\x91\x38\xab\xb3\x28\x4d";
        assert_eq!(bytes, [b"\x02ab\x01\x02\x10", &digest[..]].concat());
        let key = Purge::key(0x0102);
        assert_eq!(Purge::decode(&key, &bytes), Ok(purge));
        assert!(key.as_slice() < LIMIT_KEY);
        assert_eq!(Purge::decode(LIMIT_KEY, &bytes), Err(Malformed));
        assert_eq!(decode_limit(&encode_limit(300)), Ok(300));
    }
}
