//! The header of an index's commits: which changes of the database the rows cover.
//!
//! ```text
//! byte 0            16              24              32                 40
//!      +-------------+---------------+---------------+------------------+
//!      | database id | sequence, u64 | purge, u64    | collator version |
//!      | 16 bytes    | little-endian | little-endian | u64, l.-e.       |
//!      +-------------+---------------+---------------+------------------+
//! ```
//! A file without these bytes was made and never filled. One with another collator version has its
//! rows in another order and is of no use.

use varve_json::collate;

mod at {
    pub const DATABASE: usize = 0;
    pub const SEQ: usize = DATABASE + 16;
    pub const PURGE_SEQ: usize = SEQ + 8;
    pub const COLLATOR: usize = PURGE_SEQ + 8;
    pub const END: usize = COLLATOR + 8;
}

const _: () = assert!(at::SEQ == 16 && at::PURGE_SEQ == 24 && at::COLLATOR == 32 && at::END == 40);

/// The sequence and the purge that an index covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexHeader {
    /// The id of the database that it is about.
    pub(crate) database: [u8; 16],
    /// The last sequence that it covers.
    pub(crate) seq: u64,
    /// The last purge that it follows.
    pub(crate) purge_seq: u64,
}

impl IndexHeader {
    /// `None` if the bytes are none of an index that was filled with this collator.
    pub(crate) fn decode(bytes: &[u8]) -> Option<IndexHeader> {
        let (database, rest) = bytes.split_first_chunk::<{ at::SEQ }>()?;
        let (seq, rest) = rest.split_first_chunk::<8>()?;
        let (purge_seq, rest) = rest.split_first_chunk::<8>()?;
        let collator = u64::from_le_bytes(rest.try_into().ok()?);
        (collator == collate::version()).then_some(IndexHeader {
            database: *database,
            seq: u64::from_le_bytes(*seq),
            purge_seq: u64::from_le_bytes(*purge_seq),
        })
    }

    pub(crate) fn encode(&self) -> [u8; at::END] {
        let mut bytes = [0; at::END];
        bytes[at::DATABASE..at::SEQ].copy_from_slice(&self.database);
        bytes[at::SEQ..at::PURGE_SEQ].copy_from_slice(&self.seq.to_le_bytes());
        bytes[at::PURGE_SEQ..at::COLLATOR].copy_from_slice(&self.purge_seq.to_le_bytes());
        bytes[at::COLLATOR..].copy_from_slice(&collate::version().to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_state() {
        let state = IndexHeader {
            database: *b"0123456789abcdef",
            seq: 0x0102,
            purge_seq: 3,
        };
        let bytes = state.encode();
        let golden = b"0123456789abcdef\x02\x01\0\0\0\0\0\0\x03\0\0\0\0\0\0\0";
        assert_eq!(&bytes[..32], golden);
        assert_eq!(IndexHeader::decode(&bytes), Some(state));
        for cut in [0, 24, 32, 39] {
            assert_eq!(IndexHeader::decode(&bytes[..cut]), None);
        }
        let mut other = bytes;
        other[39] ^= 1;
        assert_eq!(IndexHeader::decode(&other), None);
    }
}
