//! What an index has taken in, as its commits record it.
//!
//! ```text
//! byte 0            16              24
//!      +-------------+---------------+
//!      | database id | sequence, u64 |
//!      | 16 bytes    | little-endian |
//!      +-------------+---------------+
//! ```
//! A file without these bytes was made and never filled.

mod at {
    pub const DATABASE: usize = 0;
    pub const SEQ: usize = DATABASE + 16;
    pub const END: usize = SEQ + 8;
}

const _: () = assert!(at::SEQ == 16 && at::END == 24);

/// How far an index has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexState {
    /// The id of the database that it is about.
    pub(crate) database: [u8; 16],
    /// The last sequence that it holds.
    pub(crate) seq: u64,
}

impl IndexState {
    /// `None` if the bytes are none of an index that was filled.
    pub(crate) fn decode(bytes: &[u8]) -> Option<IndexState> {
        let bytes: &[u8; at::END] = bytes.try_into().ok()?;
        let (database, seq) = bytes.split_first_chunk::<{ at::SEQ }>()?;
        Some(IndexState {
            database: *database,
            seq: u64::from_le_bytes(seq.try_into().ok()?),
        })
    }

    pub(crate) fn encode(&self) -> [u8; at::END] {
        let mut bytes = [0; at::END];
        bytes[at::DATABASE..at::SEQ].copy_from_slice(&self.database);
        bytes[at::SEQ..].copy_from_slice(&self.seq.to_le_bytes());
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
        };
        assert_eq!(&state.encode(), b"0123456789abcdef\x02\x01\0\0\0\0\0\0");
        assert_eq!(IndexState::decode(&state.encode()), Some(state));
        assert_eq!(IndexState::decode(b""), None);
    }
}
