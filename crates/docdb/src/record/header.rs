//! The user header of every commit.
//!
//! ```text
//! byte 0         1       17        25
//!      +---------+-------+---------+------------+-----------+-----------+-----------------+
//!      | version | uuid  | created | update seq | purge seq | revs      | security        |
//!      | u8      | 16 B  | u64 LE  |            |           | limit     | offset, length  |
//!      +---------+-------+---------+------------+-----------+-----------+-----------------+
//! ```
//! `created` is in microseconds since 1970. The security object is a chunk of JSON text; length 0
//! where none was set.

use crate::record::fields::{self, Malformed, Reader};
use crate::revtree::{chunk, put_chunk};
use varve_btree::ChunkRef;

const VERSION: u8 = 1;
const NO_CHUNK: ChunkRef = ChunkRef { offset: 0, len: 0 };

/// What a database knows besides its trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) uuid: [u8; 16],
    pub(crate) created: u64,
    pub(crate) update_seq: u64,
    pub(crate) purge_seq: u64,
    pub(crate) revs_limit: u64,
    pub(crate) security: Option<ChunkRef>,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.uuid);
        out.extend_from_slice(&self.created.to_le_bytes());
        for number in [self.update_seq, self.purge_seq, self.revs_limit] {
            fields::put(number, &mut out);
        }
        put_chunk(self.security.unwrap_or(NO_CHUNK), &mut out);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Header, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.byte()? != VERSION {
            return Err(Malformed);
        }
        let header = Header {
            uuid: *reader.array()?,
            created: u64::from_le_bytes(*reader.array()?),
            update_seq: reader.number()?,
            purge_seq: reader.number()?,
            revs_limit: reader.number()?,
            security: Some(chunk(&mut reader)?).filter(|chunk| chunk.len > 0),
        };
        match reader.is_empty() {
            true => Ok(header),
            false => Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_header() {
        let header = Header {
            uuid: *b"0123456789abcdef",
            created: 0x0102_0304_0506_0708,
            update_seq: 300,
            purge_seq: 0,
            revs_limit: 1000,
            security: Some(ChunkRef { offset: 64, len: 9 }),
        };
        let bytes = header.encode();
        let expected =
            b"\x010123456789abcdef\x08\x07\x06\x05\x04\x03\x02\x01\xac\x02\x00\xe8\x07\x40\x09";
        assert_eq!(bytes, expected);
        assert_eq!(Header::decode(&bytes), Ok(header));
        assert_eq!(Header::decode(&bytes[..20]), Err(Malformed));
    }
}
