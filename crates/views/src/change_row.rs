//! Rows of an index of changes: [rows](crate::row) whose sort keys are sequences.
//!
//! ```text
//! sort key               emitted key   emitted value
//! +-------------------+  nothing       +----------------+-------------------------+
//! | sequence, u64     |                | number of      | position of each,       |
//! | big-endian        |                | leaves, varint | ascending, varint       |
//! +-------------------+                +----------------+-------------------------+
//! ```
//! The leaves are those that pass: 0 is the winner, the others follow in the order of [`Change::others`]. Without any,
//! it is not known which do, and the filter is to be asked again.
//!
//! [`Change::others`]: varve_docdb::Change::others

use crate::row::{push_varint, read_varint};

/// Bytes of a sequence.
const SEQ: usize = 8;

/// Appends the sort key of a change.
pub(crate) fn push_sort_key(seq: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&seq.to_be_bytes());
}

/// The sequence in the key of a row; `None` if it is too short.
pub(crate) fn read_seq(key: &[u8]) -> Option<u64> {
    let (seq, _) = key.split_first_chunk::<SEQ>()?;
    Some(u64::from_be_bytes(*seq))
}

/// Appends the positions of the leaves that pass, in ascending order; none if they are not known.
pub(crate) fn push_leaves(leaves: &[usize], out: &mut Vec<u8>) {
    push_varint(leaves.len(), out);
    leaves.iter().for_each(|leaf| push_varint(*leaf, out));
}

/// The positions of the leaves that pass; `None` if these are not the bytes of some.
pub(crate) fn read_leaves(mut bytes: &[u8]) -> Option<Vec<usize>> {
    let count = read_varint(&mut bytes)?;
    let mut leaves: Vec<usize> = Vec::new();
    for _ in 0..count {
        let leaf = read_varint(&mut bytes)?;
        let ascends = leaves.last().is_none_or(|last| *last < leaf);
        ascends.then(|| leaves.push(leaf))?;
    }
    bytes.is_empty().then_some(leaves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_row_of_a_change() {
        let mut bytes = Vec::new();
        push_sort_key(0x0102, &mut bytes);
        assert_eq!(bytes, b"\0\0\0\0\0\0\x01\x02");
        assert_eq!(read_seq(&bytes), Some(0x0102));
        assert_eq!(read_seq(&bytes[1..]), None);
        for (leaves, golden) in [
            (&[][..], &b"\0"[..]),
            (&[0], b"\x01\0"),
            (&[1, 300], b"\x02\x01\xac\x02"),
        ] {
            let mut bytes = Vec::new();
            push_leaves(leaves, &mut bytes);
            assert_eq!(bytes, golden);
            assert_eq!(read_leaves(golden).as_deref(), Some(leaves));
        }
    }

    #[test]
    fn damaged_leaves_are_none() {
        for bytes in [
            &b""[..],
            b"\x01",
            b"\0\0",
            b"\x02\x01\x01",
            b"\x02\x01\0",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0",
        ] {
            assert_eq!(read_leaves(bytes), None, "{bytes:?}");
        }
    }
}
