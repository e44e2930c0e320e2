//! Rows as they stand in an index file.
//!
//! ```text
//! key of a view's tree
//!      +---------------------+---------------------------+----+-------------------------+
//!      | sort key of the     | document id, UTF-8,       | 00 | number of the row among |
//!      | emitted key         | 00 as 01 01, 01 as 01 02  |    | its equals: length, u32 |
//!      +---------------------+---------------------------+----+-------------------------+
//! value of a view's tree
//!      +-----------------+-----------------+-------------+-------------+
//!      | length of the   | length of the   | emitted key | emitted     |
//!      | sort key varint | key varint      | JSON        | value JSON  |
//!      +-----------------+-----------------+-------------+-------------+
//! value of the tree by document (its key is the document id as it is)
//!      +--------------+-----------------+-----------------------------------+
//!      | tree varint  | number of rows  | for each row: length varint, sort |
//!      |              | varint          | key, number as above              |   … for each tree
//!      +--------------+-----------------+-----------------------------------+
//! ```
//! Where rows are kept by partition, each sort key begins with the partition's name, in the form of a document id with
//! its terminator; the emitted key does not.
//!
//! A sort key is never the beginning of another, and a document id in this form neither, so rows
//! sort by emitted key, then document id, then number. The number is written in as few bytes as
//! it takes, most significant first, behind one byte that says how many: 0 is the single byte 00.

use varve_base::varint;
use varve_btree::TreeEntry;

const ID_END: u8 = 0;
const ESCAPE: u8 = 1;

/// A row of an index, kept together with the node it was found in.
#[derive(Clone, Debug)]
pub struct Row {
    item: TreeEntry,
    sort_key_len: usize,
    key_at: usize,
    key_len: usize,
}

impl Row {
    /// `None` if the item is not a row.
    pub(crate) fn read(item: TreeEntry) -> Option<Row> {
        Row::read_behind(item, 0)
    }

    /// The same where so many bytes stand before the sort key, of which the value does not tell.
    pub(crate) fn read_behind(item: TreeEntry, prefix: usize) -> Option<Row> {
        let mut rest = item.value();
        let sort_key_len = read_varint(&mut rest)?.checked_add(prefix)?;
        let key_len = read_varint(&mut rest)?;
        let key_at = item.value().len() - rest.len();
        let holds = key_len <= rest.len() && sort_key_len < item.key().len();
        holds.then_some(Row {
            item,
            sort_key_len,
            key_at,
            key_len,
        })
    }

    /// The emitted key as JSON text.
    pub fn key(&self) -> &[u8] {
        &self.item.value()[self.key_at..self.key_at + self.key_len]
    }

    /// The emitted value as JSON text.
    pub fn value(&self) -> &[u8] {
        &self.item.value()[self.key_at + self.key_len..]
    }

    /// Key and value of the item in the tree.
    pub(crate) fn item(&self) -> (&[u8], &[u8]) {
        (self.item.key(), self.item.value())
    }

    /// The bytes by which the key sorts.
    pub(crate) fn sort_key(&self) -> &[u8] {
        &self.item.key()[..self.sort_key_len]
    }

    /// The id of the document that the row comes from.
    pub fn id(&self) -> String {
        id_of_tail(&self.item.key()[self.sort_key_len..])
    }
}

/// The document id in the bytes behind the sort key.
pub(crate) fn id_of_tail(tail: &[u8]) -> String {
    let mut id = Vec::new();
    let mut bytes = tail.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            ID_END => break,
            ESCAPE => id.push(bytes.next().map_or(ESCAPE, |next| next.saturating_sub(1))),
            _ => id.push(byte),
        }
    }
    String::from_utf8_lossy(&id).into_owned()
}

/// Appends a document id in the form that sorts.
pub(crate) fn push_id(id: &str, out: &mut Vec<u8>) {
    for &byte in id.as_bytes() {
        if byte <= ESCAPE {
            out.push(ESCAPE);
            out.push(byte + 1);
        } else {
            out.push(byte);
        }
    }
}

/// Appends a document id and its terminator.
pub(crate) fn push_whole_id(id: &str, out: &mut Vec<u8>) {
    push_id(id, out);
    out.push(ID_END);
}

/// Bytes in front of the sort keys of all rows of a partition.
pub(crate) fn prefix_of(partition: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_whole_id(partition, &mut bytes);
    bytes
}

/// Above all rows whose sort keys begin so, and not above any behind them.
pub(crate) fn above(mut prefix: Vec<u8>) -> Vec<u8> {
    if let Some(end) = prefix.last_mut() {
        *end = ID_END + 1;
    }
    prefix
}

/// Appends the number of a row among its equals.
pub(crate) fn push_number(number: u32, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let zeros = number.leading_zeros() as usize / 8;
    out.push((bytes.len() - zeros) as u8);
    out.extend_from_slice(&bytes[zeros..]);
}

/// Appends a row's value.
pub(crate) fn push_value(sort_key_len: usize, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    push_varint(sort_key_len, out);
    push_varint(key.len(), out);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Appends the keys of the rows that the by-document entry `entry` of `id` tells of, as pairs of
/// tree and key. `None` if the entry is damaged.
pub(crate) fn keys_of_entry(
    id: &str,
    mut entry: &[u8],
    keys: &mut Vec<(usize, Vec<u8>)>,
) -> Option<()> {
    while !entry.is_empty() {
        let tree = read_varint(&mut entry)?;
        for _ in 0..read_varint(&mut entry)? {
            let sort_key_len = read_varint(&mut entry)?;
            let (sort_key, rest) = entry.split_at_checked(sort_key_len)?;
            let number_len = 1 + usize::from(*rest.first()?);
            let (number, rest) = rest.split_at_checked(number_len)?;
            let mut key = sort_key.to_vec();
            push_whole_id(id, &mut key);
            key.extend_from_slice(number);
            keys.push((tree, key));
            entry = rest;
        }
    }
    Some(())
}

/// Appends `value`, seven bits a byte, lowest first.
pub(crate) fn push_varint(value: usize, out: &mut Vec<u8>) {
    varint::put(value as u64, out);
}

/// Takes a number off the front of `bytes`.
pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<usize> {
    let mut reader = varint::Reader::new(bytes);
    let value = reader.len()?;
    *bytes = reader.rest();
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tail(id: &str, number: u32) -> Vec<u8> {
        let mut out = Vec::new();
        push_whole_id(id, &mut out);
        push_number(number, &mut out);
        out
    }

    #[test]
    fn golden_tail_of_a_key() {
        assert_eq!(tail("a\0\u{1}b", 0), b"a\x01\x01\x01\x02b\0\0");
        assert_eq!(tail("", 0x1_0203), b"\0\x03\x01\x02\x03");
    }

    #[test]
    fn rows_of_a_partition_stand_between_its_bounds() {
        let low = prefix_of("a");
        assert_eq!(low, b"a\0");
        assert_eq!(above(low.clone()), b"a\x01");
        for other in ["", "a\0", "a\u{1}", "aa", "b"] {
            let other = prefix_of(other);
            assert!(other < low || other >= above(low.clone()), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn tails_sort_by_id_and_number(
            a in ("[\0\u{1}\u{2}ab]{0,4}", 0..70_000u32),
            b in ("[\0\u{1}\u{2}ab]{0,4}", 0..70_000u32),
        ) {
            let order = a.0.as_bytes().cmp(b.0.as_bytes()).then(a.1.cmp(&b.1));
            prop_assert_eq!(tail(&a.0, a.1).cmp(&tail(&b.0, b.1)), order);
        }

        #[test]
        fn varints_come_back(value in any::<u32>()) {
            let mut out = Vec::new();
            push_varint(value as usize, &mut out);
            let mut rest = &out[..];
            prop_assert_eq!(read_varint(&mut rest), Some(value as usize));
            prop_assert!(rest.is_empty());
        }
    }
}
