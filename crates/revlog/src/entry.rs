//! One entry of a revlog's index, and the header that lies over the first one.
//!
//! ```text
//! byte 0        6       8         12        16     20     24     28     32       52     64
//!      +--------+-------+---------+---------+------+------+------+------+--------+------+
//!      | offset | flags | stored  | raw     | base | link | p1   | p2   | node   | zero |
//!      | u48    | u16   | len i32 | len i32 | i32  | i32  | i32  | i32  | 20 B   | 12 B |
//!      +--------+-------+---------+---------+------+------+------+------+--------+------+
//!
//! entry 0, whose offset is always 0, has in its place:
//! byte 0          2         4
//!      +----------+---------+
//!      | features | version |   features: 1 inline, 2 general delta
//!      | u16      | u16     |   version: 1
//!      +----------+---------+
//! ```
//! All numbers are big-endian. -1 is "no revision" for base, link, p1, p2 and "unknown" for raw
//! len. In an inline revlog each entry is followed by its chunk; offsets count chunks only.

use crate::{Node, Rev};

mod at {
    pub const OFFSET_FLAGS: usize = 0;
    pub const STORED_LEN: usize = OFFSET_FLAGS + 8;
    pub const RAW_LEN: usize = STORED_LEN + 4;
    pub const BASE: usize = RAW_LEN + 4;
    pub const LINK: usize = BASE + 4;
    pub const P1: usize = LINK + 4;
    pub const P2: usize = P1 + 4;
    pub const NODE: usize = P2 + 4;
    pub const ZERO: usize = NODE + super::Node::LEN;
}

/// Bytes of one index entry.
pub const ENTRY_LEN: usize = 64;

const _: () = assert!(at::NODE == 32 && at::ZERO + 12 == ENTRY_LEN);

fn number(bytes: &[u8; ENTRY_LEN], at: usize) -> i32 {
    i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Bits of [`Entry::flags`].
pub mod flag {
    /// The text was removed on purpose; a note about it is stored instead.
    pub const CENSORED: u16 = 0x8000;
    /// History behind this revision is cut (narrow clones).
    pub const ELLIPSIS: u16 = 0x4000;
    /// The text is kept elsewhere (large files); a pointer is stored instead.
    pub const STORED_OUTSIDE: u16 = 0x2000;
    /// Facts about the text or the delta that change nothing about reading them.
    pub const HINTS: u16 = 0x1000 | 0x0800 | 0x0400 | 0x0200 | 0x0100 | 0x0080 | 0x0040;
}

/// Header of the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Chunks stand between the entries instead of in a file of their own.
    pub inline: bool,
    /// A delta's base is named by its entry; otherwise it is always the revision before.
    pub general_delta: bool,
}

const VERSION: u16 = 1;
const INLINE: u16 = 1;
const GENERAL_DELTA: u16 = 2;

impl Header {
    /// Bytes of the header.
    pub const LEN: usize = 4;

    /// Reads the header.
    ///
    /// # Errors
    /// The whole number, if it is of another version or has features unknown here.
    pub fn decode(bytes: [u8; Header::LEN]) -> Result<Header, u32> {
        let features = u16::from_be_bytes([bytes[0], bytes[1]]);
        let version = u16::from_be_bytes([bytes[2], bytes[3]]);
        if version != VERSION || features & !(INLINE | GENERAL_DELTA) != 0 {
            return Err(u32::from_be_bytes(bytes));
        }
        Ok(Header {
            inline: features & INLINE != 0,
            general_delta: features & GENERAL_DELTA != 0,
        })
    }

    /// Flags of a header that is not read which its version does not have.
    pub(crate) fn unknown_flags(header: u32) -> u16 {
        let known = match header as u16 {
            VERSION => INLINE | GENERAL_DELTA,
            _ => 0,
        };
        (header >> 16) as u16 & !known
    }

    /// The bytes that [`Header::decode`] reads.
    pub fn encode(self) -> [u8; Header::LEN] {
        let inline = if self.inline { INLINE } else { 0 };
        let general = if self.general_delta { GENERAL_DELTA } else { 0 };
        let [a, b] = (inline | general).to_be_bytes();
        let [c, d] = VERSION.to_be_bytes();
        [a, b, c, d]
    }
}

/// A decoded index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where the chunk begins among the chunks, in bytes (48 bits).
    pub offset: u64,
    /// Bits of [`flag`].
    pub flags: u16,
    /// Bytes of the chunk as stored.
    pub stored_len: u32,
    /// Bytes of the full text; `None` if the writer did not say.
    pub raw_len: Option<u32>,
    /// General delta: base of the delta. Otherwise: start of the chain. The revision
    /// itself or `None` if the chunk is a full text.
    pub base: Option<Rev>,
    /// The changeset that introduced this revision; -1 only in damaged or odd files.
    pub link: i32,
    /// First parent.
    pub p1: Option<Rev>,
    /// Second parent.
    pub p2: Option<Rev>,
    /// Name of the revision.
    pub node: Node,
}

impl Entry {
    /// Reads an entry and refuses numbers that no writer writes; does not look at the 12 bytes
    /// behind the node.
    ///
    /// # Errors
    /// Which field is wrong.
    pub fn decode(bytes: &[u8; ENTRY_LEN]) -> Result<Entry, &'static str> {
        let least = [
            (at::STORED_LEN, 0, "chunk length"),
            (at::RAW_LEN, -1, "text length"),
            (at::BASE, -1, "base"),
            (at::P1, -1, "first parent"),
            (at::P2, -1, "second parent"),
        ];
        match least
            .iter()
            .find(|(at, least, _)| number(bytes, *at) < *least)
        {
            Some((_, _, field)) => Err(field),
            None => Ok(Entry::read(bytes)),
        }
    }

    /// Reads an entry that [`Entry::decode`] accepted before.
    pub(crate) fn read(bytes: &[u8; ENTRY_LEN]) -> Entry {
        let positive = |at: usize| u32::try_from(number(bytes, at)).ok();
        let rev = |at: usize| positive(at).map(Rev);
        let [a, b, c, d, e, f, g, h, ..] = *bytes;
        let offset_flags = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        let mut node = Node::NULL;
        node.0.copy_from_slice(&bytes[at::NODE..at::ZERO]);
        Entry {
            offset: offset_flags >> 16,
            flags: u16::from_be_bytes([g, h]),
            stored_len: positive(at::STORED_LEN).unwrap_or(0),
            raw_len: positive(at::RAW_LEN),
            base: rev(at::BASE),
            link: number(bytes, at::LINK),
            p1: rev(at::P1),
            p2: rev(at::P2),
            node,
        }
    }

    /// Only the node, for searches.
    pub(crate) fn node_of(bytes: &[u8; ENTRY_LEN]) -> Node {
        let mut node = Node::NULL;
        node.0.copy_from_slice(&bytes[at::NODE..at::ZERO]);
        node
    }

    /// The bytes that [`Entry::decode`] reads, with zeros behind the node.
    pub fn encode(&self) -> [u8; ENTRY_LEN] {
        let mut bytes = [0; ENTRY_LEN];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(
            at::OFFSET_FLAGS,
            &(self.offset << 16 | u64::from(self.flags)).to_be_bytes(),
        );
        put(at::STORED_LEN, &self.stored_len.to_be_bytes());
        let raw_len = self.raw_len.map_or(u32::MAX, |len| len);
        put(at::RAW_LEN, &raw_len.to_be_bytes());
        put(at::BASE, &Rev::to_disk(self.base).to_be_bytes());
        put(at::LINK, &self.link.to_be_bytes());
        put(at::P1, &Rev::to_disk(self.p1).to_be_bytes());
        put(at::P2, &Rev::to_disk(self.p2).to_be_bytes());
        put(at::NODE, &self.node.0);
        bytes
    }

    /// End of the chunk, in the same count as `offset`.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.stored_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_of_hg_read_and_others_do_not() {
        for (bytes, inline, general_delta) in [
            ([0, 0, 0, 1], false, false),
            ([0, 3, 0, 1], true, true),
            ([0, 2, 0, 1], false, true),
        ] {
            let header = Header {
                inline,
                general_delta,
            };
            assert_eq!(Header::decode(bytes), Ok(header));
            assert_eq!(header.encode(), bytes);
        }
        assert_eq!(Header::decode([0, 0, 0xde, 0xad]), Err(0xdead));
        assert_eq!(Header::decode([0, 4, 0, 1]), Err(0x4_0001));
    }

    proptest! {
        #[test]
        fn whatever_decodes_encodes_back_to_the_same_bytes(
            mut bytes in proptest::array::uniform32(any::<u8>()),
            node in proptest::array::uniform20(any::<u8>()),
        ) {
            for at in [at::STORED_LEN, at::RAW_LEN, at::BASE, at::P1, at::P2] {
                bytes[at] &= 0x7f;
            }
            let mut entry = [0; ENTRY_LEN];
            entry[..at::NODE].copy_from_slice(&bytes);
            entry[at::NODE..at::ZERO].copy_from_slice(&node);
            let decoded = Entry::decode(&entry).unwrap();
            prop_assert_eq!(decoded.encode(), entry);
        }
    }
}
