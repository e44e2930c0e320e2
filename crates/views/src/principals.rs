//! Rows and readers by principal in an index of a database with access: principals are the users and roles in `_access`.
//!
//! ```text
//! key of a tree of rows by principal; the value is that of the same row in the tree of all rows
//!      +----------------------------------+----+--------------------------+
//!      | principal, UTF-8,                | 00 | key of the row in the    |
//!      | 00 as 01 01, 01 as 01 02         |    | tree of all rows         |
//!      +----------------------------------+----+--------------------------+
//! tree of readers, by document; the value has one part for each revision that is the winner to a principal
//!      +----+-------------+      +-------+--------------+-----------------+----------------------------+
//!      | 00 | document id |      | flags | principals   | per principal:  | flag 1: length varint, and |
//!      |    | as it is    |      | u8    | count varint | length, UTF-8   | a value of the tree by     |
//!      +----+-------------+      |       |              |                 | document                   |  …
//!                                +-------+--------------+-----------------+----------------------------+
//! the same tree, by principal, for documents of more than one such revision; the value is the principal's winner
//!      +----+-----------------------+------+-------------+      +-------------------+--------+
//!      | 01 | principal, as above   | 00   | document id |      | generation u64 BE | digest |
//!      +----+-----------------------+------+-------------+      +-------------------+--------+
//! ```
//! Without flag 1 the rows of a revision are those in the trees of all rows. A document without rows of any kind whose
//! readers agree on the winner has no item.

use crate::row::{keys_of_entry, prefix_of, push_varint, read_varint};
use varve_docdb::Rev;

const READERS: u8 = 0;
const WINNER: u8 = 1;
/// Ends a principal in a key.
const END: u8 = 0;
const OWN_ROWS: u8 = 1;

/// Most bytes of the keys that one document has under its principals, so that a short document with many rows and many
/// principals does not fill memory.
pub(crate) const MOST_KEYS: usize = 4 << 20;

/// A row's tree and key, where trees count from the first map function.
pub(crate) type TreeKey = (usize, Vec<u8>);

/// Key of a document's readers.
pub(crate) fn readers_key(id: &str) -> Vec<u8> {
    [&[READERS], id.as_bytes()].concat()
}

/// Beginning of the keys of a principal's winners.
pub(crate) fn winners_prefix(principal: &str) -> Vec<u8> {
    [&[WINNER], &prefix_of(principal)[..]].concat()
}

/// A winner, in the form in which a preferred one is greater.
pub(crate) fn winner_value(rev: &Rev) -> Vec<u8> {
    [&rev.generation.to_be_bytes(), rev.digest.as_bytes()].concat()
}

/// A key without the principal at its beginning.
pub(crate) fn behind_principal(key: &[u8]) -> &[u8] {
    let end = key.iter().position(|byte| *byte == END);
    end.and_then(|end| key.get(end + 1..)).unwrap_or_default()
}

/// Appends the part of a revision whose rows are those of all rows, or its own, told as in the tree by document.
pub(crate) fn push_readers(principals: &[String], own: Option<&[u8]>, out: &mut Vec<u8>) {
    out.push(if own.is_some() { OWN_ROWS } else { 0 });
    push_varint(principals.len(), out);
    for principal in principals {
        push_varint(principal.len(), out);
        out.extend_from_slice(principal.as_bytes());
    }
    if let Some(rows) = own {
        push_varint(rows.len(), out);
        out.extend_from_slice(rows);
    }
}

/// The principals of one revision, and its own rows.
struct Readers<'v> {
    principals: Vec<&'v str>,
    own: Option<&'v [u8]>,
}

impl<'v> Readers<'v> {
    fn read(value: &mut &'v [u8]) -> Option<Self> {
        let (flags, rest) = value.split_first()?;
        *value = rest;
        let mut principals = Vec::new();
        for _ in 0..read_varint(value)? {
            principals.push(std::str::from_utf8(counted(value)?).ok()?);
        }
        let own = match flags {
            0 => None,
            &OWN_ROWS => Some(counted(value)?),
            _ => return None,
        };
        Some(Readers { principals, own })
    }
}

fn counted<'v>(value: &mut &'v [u8]) -> Option<&'v [u8]> {
    let len = read_varint(value)?;
    let (bytes, rest) = value.split_at_checked(len)?;
    *value = rest;
    Some(bytes)
}

/// Appends the keys of all items that a document's readers tell of. `plain` are its rows among all rows, `maps` is the
/// number of map functions. `None` if the value is damaged.
pub(crate) fn keys_of_readers(
    id: &str,
    (mut value, plain): (&[u8], &[TreeKey]),
    maps: usize,
    keys: &mut Vec<TreeKey>,
) -> Option<()> {
    let mut all = Vec::new();
    while !value.is_empty() {
        all.push(Readers::read(&mut value)?);
    }
    let is_mixed = all.len() > 1;
    let mut bytes = 0usize;
    for Readers { principals, own } in all {
        let mut own_keys = Vec::new();
        if let Some(own) = own {
            keys_of_entry(id, own, &mut own_keys)?;
        }
        let rows = if own.is_some() { &own_keys } else { plain };
        for principal in principals {
            let prefix = prefix_of(principal);
            for (map, key) in rows.iter().filter(|(map, _)| *map < maps) {
                bytes = bytes.saturating_add(prefix.len() + key.len());
                if bytes > MOST_KEYS {
                    return None;
                }
                keys.push((maps + map, [&prefix[..], key].concat()));
            }
            if is_mixed {
                let winner = [&winners_prefix(principal)[..], id.as_bytes()].concat();
                keys.push((2 * maps, winner));
            }
        }
    }
    keys.push((2 * maps, readers_key(id)));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn golden_keys_and_values() {
        assert_eq!(readers_key("a"), b"\0a");
        assert_eq!(winners_prefix("b\0"), b"\x01b\x01\x01\0");
        let rev: Rev = "258-x".parse().unwrap();
        assert_eq!(winner_value(&rev), b"\0\0\0\0\0\0\x01\x02x");
        assert_eq!(behind_principal(b"b\x01\x01\0key\0"), b"key\0");
        let mut value = Vec::new();
        push_readers(&names(&["a", "bc"]), None, &mut value);
        assert_eq!(value, b"\x00\x02\x01a\x02bc");
        push_readers(&names(&["d"]), Some(b"\x00\x01\x01k\0"), &mut value);
        assert_eq!(&value[7..], b"\x01\x01\x01d\x05\x00\x01\x01k\0");
    }

    #[test]
    fn all_items_of_a_document_are_found_again() {
        let mut value = Vec::new();
        let plain = [(1, b"p-row".to_vec())];
        push_readers(&names(&["a"]), None, &mut value);
        let mut keys = Vec::new();
        keys_of_readers("i", (&value, &plain), 2, &mut keys).unwrap();
        assert_eq!(keys, [(3, b"a\0p-row".to_vec()), (4, b"\0i".to_vec())]);
        push_readers(&names(&["b"]), Some(b"\x00\x01\x01k\0"), &mut value);
        keys.clear();
        keys_of_readers("i", (&value, &plain), 2, &mut keys).unwrap();
        let expected = [
            (3, b"a\0p-row".to_vec()),
            (4, b"\x01a\0i".to_vec()),
            (2, b"b\0ki\0\0".to_vec()),
            (4, b"\x01b\0i".to_vec()),
            (4, b"\0i".to_vec()),
        ];
        assert_eq!(keys, expected);
        for cut in 1..value.len() {
            if cut != 4 {
                let cut = &value[..cut];
                assert!(keys_of_readers("i", (cut, &plain), 2, &mut Vec::new()).is_none());
            }
        }
    }

    #[test]
    fn a_value_that_tells_of_too_many_keys_is_damaged() {
        let plain: Vec<TreeKey> = (0..5000).map(|_| (0, vec![7; 100])).collect();
        let many: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let mut value = Vec::new();
        push_readers(&many, None, &mut value);
        assert!(keys_of_readers("i", (&value, &plain), 1, &mut Vec::new()).is_none());
        assert!(keys_of_readers("i", (&value, &plain[..9]), 1, &mut Vec::new()).is_some());
    }
}
