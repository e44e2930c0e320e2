//! The form of a node in its chunk, before compression.
//!
//! ```text
//!      +-------+--------+---------------------------------------------------------------+
//!      | level | count  | count entries, keys ascending                                 |
//!      | u8    | varint |                                                               |
//!      +-------+--------+---------------------------------------------------------------+
//! entry, level 0 (a leaf's item)
//!      +--------+-----------------------------+-----------------------+
//!      | shared | rest of the key             | value                 |
//!      | varint | varint length + bytes       | varint length + bytes |
//!      +--------+-----------------------------+-----------------------+
//! entry, level n > 0 (a child of level n - 1; the key is not after any key below it)
//!      +--------+-----------------------------+--------+--------+--------+--------+-----------------------+
//!      | shared | rest of the key             | offset | len    | count  | stored | reduction             |
//!      | varint | varint length + bytes       | varint | varint | varint | varint | varint length + bytes |
//!      +--------+-----------------------------+--------+--------+--------+--------+-----------------------+
//! ```
//! `shared` bytes of the key are those of the key before it (0 in the first entry). `offset` and
//! `len` are the child's chunk, `count` the items and `stored` the stored node bytes below it, both
//! with the child itself.

use super::{Child, INNER_COST, LEAF_COST, MAX_DECODED, MAX_KEY, MAX_LEVEL, MAX_VALUE, Node, Slot};
use crate::chunk::ChunkRef;
use varve_base::varint::{self, Reader};

/// No honest node takes more memory: at most two of the longest entries.
const DECODE_LIMIT: usize = 2 * (MAX_KEY + MAX_VALUE) + MAX_DECODED;
const SHORT: &str = "a node ends in the middle of an entry";

impl Node {
    /// Appends the form that goes into a chunk.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.level);
        varint::put(self.slots.len() as u64, out);
        for (index, slot) in self.slots.iter().enumerate() {
            varint::put(u64::from(slot.shared), out);
            varint::put_counted(&self.key(index)[slot.shared as usize..], out);
            if let Some(child) = self.children.get(index) {
                varint::put(child.at.offset, out);
                varint::put(u64::from(child.at.len), out);
                varint::put(child.count, out);
                varint::put(child.stored, out);
            }
            varint::put_counted(self.value(index), out);
        }
    }

    /// Reads the output of [`Node::encode`].
    ///
    /// # Errors
    /// The violated rule of the format.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Node, &'static str> {
        let mut reader = Reader::new(bytes);
        let level = reader.byte().ok_or(SHORT)?;
        if level > MAX_LEVEL {
            return Err("a node's level is too high");
        }
        let mut node = Node::new(level);
        let count = reader.len().ok_or(SHORT)?;
        // An entry takes three bytes at least, so a claim is no reason to reserve memory.
        node.slots.reserve_exact(count.min(bytes.len() / 3));
        node.bytes.reserve(bytes.len());
        for _ in 0..count {
            node.decode_entry(&mut reader)?;
        }
        if node.is_empty() || !reader.is_empty() {
            return Err("a node's count does not fit its bytes");
        }
        Ok(node)
    }

    fn decode_entry(&mut self, reader: &mut Reader<'_>) -> Result<(), &'static str> {
        let shared = reader.len().ok_or(SHORT)?;
        let rest = reader.counted().ok_or(SHORT)?;
        let last = self.slots.last().copied();
        let last_len = last.map_or(0, |slot| slot.key_len as usize);
        if shared > last_len {
            return Err("a key shares more bytes than the key before it has");
        }
        let key_len = shared.saturating_add(rest.len());
        if let Some(last) = last {
            let replaced = &self.bytes[last.key_at + shared..last.key_at + last_len];
            if replaced >= rest {
                return Err("a node's keys are not in order");
            }
        }
        let child = match self.level {
            0 => None,
            _ => Some(decode_child(reader).ok_or(SHORT)?),
        };
        let value = reader.counted().ok_or(SHORT)?;
        let grown = self
            .bytes
            .len()
            .saturating_add(key_len)
            .saturating_add(value.len());
        if grown > DECODE_LIMIT || key_len > MAX_KEY || value.len() > MAX_VALUE {
            return Err("a node is longer than any node may be");
        }
        let key_at = self.bytes.len();
        if let Some(last) = last {
            self.bytes
                .extend_from_within(last.key_at..last.key_at + shared);
        }
        self.bytes.extend_from_slice(rest);
        self.bytes.extend_from_slice(value);
        let overhead = if self.level == 0 {
            LEAF_COST
        } else {
            INNER_COST
        };
        self.cost += overhead + rest.len() + value.len();
        self.slots.push(Slot {
            key_at,
            key_len: key_len as u32,
            shared: shared as u32,
        });
        if let Some(child) = child {
            let before = self.count();
            self.children.push(child);
            let after = before.checked_add(child.count);
            self.before
                .push(after.ok_or("a node counts more items than there can be")?);
        }
        Ok(())
    }
}

fn decode_child(reader: &mut Reader<'_>) -> Option<Child> {
    let at = ChunkRef {
        offset: reader.u64()?,
        len: reader.u32()?,
    };
    let (count, stored) = (reader.u64()?, reader.u64()?);
    Some(Child { at, count, stored })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(node: &Node) -> Vec<u8> {
        let mut out = Vec::new();
        node.encode(&mut out);
        out
    }

    #[test]
    fn golden_leaf() {
        let mut leaf = Node::new(0);
        leaf.push(b"apple", b"red");
        leaf.push(b"apricot", b"");
        let bytes = b"\x00\x02\x00\x05apple\x03red\x02\x05ricot\x00";
        assert_eq!(encoded(&leaf), bytes);
        let back = Node::decode(bytes).unwrap();
        assert_eq!(back.key(1), b"apricot");
        assert_eq!(back.value(0), b"red");
    }

    #[test]
    fn golden_inner_node() {
        let mut inner = Node::new(1);
        let at = |offset| ChunkRef { offset, len: 100 };
        let child = |offset, count| Child {
            at: at(offset),
            count,
            stored: 100,
        };
        inner.push_child(b"a", child(40, 3), b"sum");
        inner.push_child(b"ab", child(300, 2), b"");
        let bytes = b"\x01\x02\x00\x01a\x28\x64\x03\x64\x03sum\x01\x01b\xac\x02\x64\x02\x64\x00";
        assert_eq!(encoded(&inner), bytes);
        let back = Node::decode(bytes).unwrap();
        assert_eq!(
            (back.count(), back.before(1), back.stored_below()),
            (5, 3, 200)
        );
        assert_eq!(back.child(1), child(300, 2));
        assert_eq!(back.cost(), inner.cost());
    }

    #[test]
    fn nodes_that_no_writer_makes_are_refused() {
        let refused: &[(&[u8], &str)] = &[
            (b"", SHORT),
            (b"\x31\x00", "a node's level is too high"),
            (b"\x00\x00", "a node's count does not fit its bytes"),
            (
                b"\x00\x01\x00\x01a\x00more",
                "a node's count does not fit its bytes",
            ),
            (b"\x00\xff\xff\xff\xff\x0f\x00\x01a\x00", SHORT),
            (
                b"\x00\x01\x01\x01a\x00",
                "a key shares more bytes than the key before it has",
            ),
            (
                b"\x00\x02\x00\x01b\x00\x00\x01a\x00",
                "a node's keys are not in order",
            ),
            (
                b"\x00\x02\x00\x01b\x00\x01\x00\x00",
                "a node's keys are not in order",
            ),
        ];
        for (bytes, reason) in refused {
            assert_eq!(Node::decode(bytes).unwrap_err(), *reason, "{bytes:?}");
        }
    }
}
