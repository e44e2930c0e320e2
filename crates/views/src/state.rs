//! What an index has taken in, as its commits record it.
//!
//! ```text
//! byte 0            16              24
//!      +-------------+---------------+---------------+
//!      | database id | sequence, u64 | purge, u64    |
//!      | 16 bytes    | little-endian | little-endian |
//!      +-------------+---------------+---------------+
//! ```
//! A file without these bytes was made and never filled. Without the last eight it is of a database
//! that nothing was purged from.

mod at {
    pub const DATABASE: usize = 0;
    pub const SEQ: usize = DATABASE + 16;
    pub const PURGE_SEQ: usize = SEQ + 8;
    pub const END: usize = PURGE_SEQ + 8;
}

const _: () = assert!(at::SEQ == 16 && at::PURGE_SEQ == 24 && at::END == 32);

/// How far an index has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexState {
    /// The id of the database that it is about.
    pub(crate) database: [u8; 16],
    /// The last sequence that it holds.
    pub(crate) seq: u64,
    /// The last purge that it follows.
    pub(crate) purge_seq: u64,
}

impl IndexState {
    /// `None` if the bytes are none of an index that was filled.
    pub(crate) fn decode(bytes: &[u8]) -> Option<IndexState> {
        let (database, rest) = bytes.split_first_chunk::<{ at::SEQ }>()?;
        let (seq, rest) = rest.split_first_chunk::<8>()?;
        let purge_seq = match rest {
            [] => [0; 8],
            rest => rest.try_into().ok()?,
        };
        Some(IndexState {
            database: *database,
            seq: u64::from_le_bytes(*seq),
            purge_seq: u64::from_le_bytes(purge_seq),
        })
    }

    pub(crate) fn encode(&self) -> [u8; at::END] {
        let mut bytes = [0; at::END];
        bytes[at::DATABASE..at::SEQ].copy_from_slice(&self.database);
        bytes[at::SEQ..at::PURGE_SEQ].copy_from_slice(&self.seq.to_le_bytes());
        bytes[at::PURGE_SEQ..].copy_from_slice(&self.purge_seq.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_state() {
        let state = IndexState {
            database: *b"0123456789abcdef",
            seq: 0x0102,
            purge_seq: 3,
        };
        let bytes = state.encode();
        let golden = b"0123456789abcdef\x02\x01\0\0\0\0\0\0\x03\0\0\0\0\0\0\0";
        assert_eq!(&bytes, golden);
        assert_eq!(IndexState::decode(&bytes), Some(state));
        let purge_seq = 0;
        let older = IndexState { purge_seq, ..state };
        assert_eq!(IndexState::decode(&bytes[..24]), Some(older));
        assert_eq!(IndexState::decode(&bytes[..31]), None);
        assert_eq!(IndexState::decode(b""), None);
    }
}
