//! The commit record: the last bytes of every append, and the head of the file.
//!
//! ```text
//! byte 0          8      12      16         24        32     40         48         56         64
//!      +----------+------+-------+----------+---------+------+----------+----------+----------+------+
//!      | magic    | len  | trees | previous | durable | span | span     | body     | head     | body |
//!      | 8 B      | u32  | u32   | u64      | u64     | u64  | checksum | checksum | checksum | …    |
//!      +----------+------+-------+----------+---------+------+----------+----------+----------+------+
//! body: for each tree
//!      +--------+-----+-------+-------+--------+-----------------------+
//!      | offset | len | level | count | stored | reduction             |
//!      | varint | …   | …     | …     | …      | varint length + bytes |
//!      +--------+-----+-------+-------+--------+-----------------------+
//!      then the user header to the record's end
//! ```
//! A record begins at a multiple of 64, behind zeros where needed. Fixed numbers are little-endian.
//!
//! - `len`: of the whole record. `previous`: position of the record before it, 0 in the first.
//! - `durable`: everything before this position was synced before the record was written.
//! - `span`: the span checksum covers the bytes from here to the record's beginning. Bytes between
//!   the previous record's end and `span` were synced earlier, so `span` is never below `durable`
//!   unless the previous record ends there.
//! - The head checksum covers the 56 bytes before it and is seeded with the file's id and the
//!   record's position. A copy of a record inside a document is therefore none.
//! - A tree without items has `len` 0, and all other numbers 0.

use crate::TreeError;
use crate::chunk::ChunkRef;
use crate::error::check_len;
use crate::header::Header;
use crate::node::MAX_LEVEL;
use varve_base::varint::{self, Reader};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

mod at {
    pub const MAGIC: usize = 0;
    pub const LEN: usize = MAGIC + 8;
    pub const TREES: usize = LEN + 4;
    pub const PREVIOUS: usize = TREES + 4;
    pub const DURABLE: usize = PREVIOUS + 8;
    pub const SPAN: usize = DURABLE + 8;
    pub const SPAN_SUM: usize = SPAN + 8;
    pub const BODY_SUM: usize = SPAN_SUM + 8;
    pub const HEAD_SUM: usize = BODY_SUM + 8;
}

/// Length of a record's fixed part.
pub(crate) const HEAD_LEN: usize = at::HEAD_SUM + 8;
/// Records begin at multiples of this.
pub(crate) const ALIGN: u64 = 64;
const _: () = assert!(HEAD_LEN == 64 && at::HEAD_SUM == 56);

/// First bytes of every record.
pub(crate) const MAGIC: &[u8; 8] = b"\x8bcommit\n";

/// Longest record.
pub(crate) const MAX_RECORD: usize = 4 << 20;

/// The root of one tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Root {
    /// The root node; `None` while the tree has no items.
    pub(crate) node: Option<ChunkRef>,
    /// Height of the root node above the leaves.
    pub(crate) level: u8,
    /// How many items the tree has.
    pub(crate) count: u64,
    /// Stored bytes of all its nodes.
    pub(crate) stored: u64,
    /// Summary of all items; empty and not a reducer's result while there are none.
    pub(crate) reduction: Vec<u8>,
}

/// A record without the checksum over its other bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) previous: u64,
    pub(crate) durable: u64,
    pub(crate) span: u64,
    pub(crate) span_sum: u64,
    pub(crate) roots: Vec<Root>,
    pub(crate) user_header: Vec<u8>,
}

/// A record's fixed part, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) len: u32,
    trees: u32,
    pub(crate) previous: u64,
    pub(crate) durable: u64,
    pub(crate) span: u64,
    pub(crate) span_sum: u64,
    body_sum: u64,
    /// Over all of the above, the file's id and the record's position.
    pub(crate) sum: u64,
}

/// How many zeros stand before a record that follows `end`.
pub(crate) fn padding(end: u64) -> usize {
    // Below ALIGN, so it fits.
    (end.next_multiple_of(ALIGN) - end) as usize
}

impl Commit {
    /// Appends the record, which will stand at `offset`.
    ///
    /// # Errors
    /// [`TreeError::TooLong`] if user header and reductions do not fit.
    pub(crate) fn encode(
        &self,
        header: &Header,
        offset: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), TreeError> {
        let start = out.len();
        out.resize(start + HEAD_LEN, 0);
        for root in &self.roots {
            let node = root.node.unwrap_or(ChunkRef { offset: 0, len: 0 });
            varint::put(node.offset, out);
            varint::put(u64::from(node.len), out);
            varint::put(u64::from(root.level), out);
            varint::put(root.count, out);
            varint::put(root.stored, out);
            varint::put_counted(&root.reduction, out);
        }
        out.extend_from_slice(&self.user_header);
        let len = out.len() - start;
        check_len("commit record", len, MAX_RECORD)?;
        let (head, body) = out[start..].split_at_mut(HEAD_LEN);
        let mut set =
            |at: usize, value: u64| head[at..at + 8].copy_from_slice(&value.to_le_bytes());
        set(at::MAGIC, u64::from_le_bytes(*MAGIC));
        set(at::LEN, len as u64 | (self.roots.len() as u64) << 32);
        set(at::PREVIOUS, self.previous);
        set(at::DURABLE, self.durable);
        set(at::SPAN, self.span);
        set(at::SPAN_SUM, self.span_sum);
        set(at::BODY_SUM, xxh3_64(body));
        let sum = xxh3_64_with_seed(&head[..at::HEAD_SUM], header.seed(offset));
        head[at::HEAD_SUM..].copy_from_slice(&sum.to_le_bytes());
        Ok(())
    }

    /// Decodes the body of a record whose head was checked.
    pub(crate) fn decode(head: &Head, body: &[u8]) -> Result<Commit, &'static str> {
        if xxh3_64(body) != head.body_sum {
            return Err("a commit record's body has another checksum");
        }
        let mut reader = Reader::new(body);
        let mut roots = Vec::new();
        for _ in 0..head.trees {
            roots.push(decode_root(&mut reader).ok_or("a commit record's roots do not decode")?);
        }
        Ok(Commit {
            previous: head.previous,
            durable: head.durable,
            span: head.span,
            span_sum: head.span_sum,
            roots,
            user_header: reader.rest().to_vec(),
        })
    }
}

fn decode_root(reader: &mut Reader<'_>) -> Option<Root> {
    let offset = reader.u64()?;
    let len = reader.u32()?;
    let root = Root {
        node: (len != 0).then_some(ChunkRef { offset, len }),
        level: reader.byte().filter(|&level| level <= MAX_LEVEL)?,
        count: reader.u64()?,
        stored: reader.u64()?,
        reduction: reader.counted()?.to_vec(),
    };
    (root.node.is_some() || root == Root::default()).then_some(root)
}

/// Whether bytes that fail the checksum resemble the head of the record after the commit at `previous`: damage to one field
/// leaves the magic, or the two other fields.
pub(crate) fn looks_like_head(bytes: &[u8; HEAD_LEN], previous: u64, end: u64) -> bool {
    let names = |at: usize, value: u64| bytes[at..at + 8] == value.to_le_bytes();
    bytes[..at::LEN] == MAGIC[..] || names(at::PREVIOUS, previous) && names(at::SPAN, end)
}

impl Head {
    /// The fixed part of a record at `offset`; `None` if there is no record of this file.
    pub(crate) fn decode(bytes: &[u8; HEAD_LEN], header: &Header, offset: u64) -> Option<Head> {
        let get = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        };
        let sum = xxh3_64_with_seed(&bytes[..at::HEAD_SUM], header.seed(offset));
        if bytes[..at::LEN] != MAGIC[..] || get(at::HEAD_SUM) != sum {
            return None;
        }
        let lens = get(at::LEN);
        let head = Head {
            len: lens as u32,
            trees: (lens >> 32) as u32,
            previous: get(at::PREVIOUS),
            durable: get(at::DURABLE),
            span: get(at::SPAN),
            span_sum: get(at::SPAN_SUM),
            body_sum: get(at::BODY_SUM),
            sum,
        };
        let in_order = head.span <= offset && head.previous < offset && head.durable <= head.span;
        let len_fits = (HEAD_LEN..=MAX_RECORD).contains(&(head.len as usize));
        (in_order && len_fits && head.trees == u32::from(header.trees)).then_some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        kind: *b"database",
        trees: 2,
        id: [9; 16],
    };

    fn commit() -> Commit {
        let full = Root {
            node: Some(ChunkRef {
                offset: 40,
                len: 300,
            }),
            level: 1,
            count: 1000,
            stored: 5000,
            reduction: b"sum".to_vec(),
        };
        Commit {
            previous: 64,
            durable: 100,
            span: 100,
            span_sum: 77,
            roots: vec![full, Root::default()],
            user_header: b"seq 5".to_vec(),
        }
    }

    #[test]
    fn a_record_reads_back_and_every_flipped_bit_is_seen() {
        let mut bytes = Vec::new();
        commit().encode(&HEADER, 6400, &mut bytes).unwrap();
        let read = |bytes: &[u8], offset| {
            let head = Head::decode(bytes.first_chunk().unwrap(), &HEADER, offset)?;
            Commit::decode(&head, bytes.get(HEAD_LEN..head.len as usize)?).ok()
        };
        assert_eq!(&bytes[..12], b"\x8bcommit\nW\0\0\0");
        assert_eq!(read(&bytes, 6400), Some(commit()));
        assert_eq!(read(&bytes, 6464), None, "a copy elsewhere is no record");
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&damaged, 6400), None, "bit {bit}");
        }
    }
}
