//! The tree of access: which documents a name may see, by id and by sequence.
//!
//! ```text
//! key                                          value
//! +---+----+                                   per leaf:
//! | 0 | id |                                   +-------+----------+-----+----------+-------+-----------+
//! +---+----+                                   | flags | revision | seq | external | count | per name: |
//!                                              | u8    |          |     |          |       | text      |
//!                                              +-------+----------+-----+----------+-------+-----------+
//! +---+--------+------+----+                   +-------+----------+
//! | 1 | length | name | id |                   | flags | external |
//! +---+--------+------+----+                   +-------+----------+
//! +---+--------+------+------------+----+
//! | 2 | length | name | seq u64 BE | id |      nothing
//! +---+--------+------+------------+----+
//! ```
//! A leaf without names has the rows of an empty name. Flags: 1 deleted. A row by id is deleted if all leaves that name the name are; `external` is the sum of theirs.
//! A row by sequence has the last update of one of these leaves, so updates of other leaves do not move it.

use super::{put_rev, read_rev};
use crate::Rev;
use crate::access::UNNAMED;
use crate::record::fields::{self, Malformed, Reader};
use crate::revtree::{Node, Stored};
use std::collections::BTreeMap;

const LEAVES: u8 = 0;
const BY_ID: u8 = 1;
const BY_SEQ: u8 = 2;
const DELETED: u8 = 1;

/// Rows of the tree with their new values.
pub(crate) type AccessEdits = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// A leaf of a document, and who may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessLeaf {
    pub(crate) rev: Rev,
    pub(crate) deleted: bool,
    /// The update that brought it.
    pub(crate) seq: u64,
    /// Bytes before compression.
    pub(crate) external: u64,
    /// Sorted, each once.
    pub(crate) names: Vec<String>,
}

impl AccessLeaf {
    pub(crate) fn new(node: &Node, stored: &Stored, names: Vec<String>) -> AccessLeaf {
        AccessLeaf {
            rev: node.rev.clone(),
            deleted: stored.deleted,
            seq: stored.seq,
            external: stored.external,
            names,
        }
    }
}

/// Value of a row by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessRow {
    pub(crate) deleted: bool,
    pub(crate) external: u64,
}

impl AccessRow {
    pub(crate) fn decode(value: &[u8]) -> Result<AccessRow, Malformed> {
        let mut reader = Reader::new(value);
        let row = AccessRow {
            deleted: reader.byte()? & DELETED != 0,
            external: reader.number()?,
        };
        reader.is_empty().then_some(row).ok_or(Malformed)
    }

    fn encode(self) -> Vec<u8> {
        let mut out = vec![u8::from(self.deleted) * DELETED];
        fields::put(self.external, &mut out);
        out
    }
}

/// Key of a document's leaves.
pub(crate) fn leaves_key(id: &[u8]) -> Vec<u8> {
    [&[LEAVES], id].concat()
}

/// Prefix of the keys of a name's rows by id.
pub(crate) fn id_prefix(name: &str) -> Vec<u8> {
    prefix(BY_ID, name)
}

/// Prefix of the keys of a name's rows by sequence.
pub(crate) fn seq_prefix(name: &str) -> Vec<u8> {
    prefix(BY_SEQ, name)
}

fn prefix(kind: u8, name: &str) -> Vec<u8> {
    let mut out = vec![kind];
    fields::put_counted(name.as_bytes(), &mut out);
    out
}

pub(crate) fn decode_leaves(value: &[u8]) -> Result<Vec<AccessLeaf>, Malformed> {
    let (mut reader, mut leaves) = (Reader::new(value), Vec::new());
    while !reader.is_empty() {
        let deleted = reader.byte()? & DELETED != 0;
        let rev = read_rev(&mut reader)?;
        let (seq, external) = (reader.number()?, reader.number()?);
        let mut names = Vec::new();
        for _ in 0..reader.number()? {
            names.push(reader.text()?.to_owned());
        }
        leaves.push(AccessLeaf {
            rev,
            deleted,
            seq,
            external,
            names,
        });
    }
    Ok(leaves)
}

fn encode_leaves(leaves: &[AccessLeaf]) -> Vec<u8> {
    let mut out = Vec::new();
    for leaf in leaves {
        out.push(u8::from(leaf.deleted) * DELETED);
        put_rev(&leaf.rev, &mut out);
        fields::put(leaf.seq, &mut out);
        fields::put(leaf.external, &mut out);
        fields::put(leaf.names.len() as u64, &mut out);
        for name in &leaf.names {
            fields::put_counted(name.as_bytes(), &mut out);
        }
    }
    out
}

/// Every row of a document with these leaves.
pub(crate) fn rows(id: &str, leaves: &[AccessLeaf]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rows = BTreeMap::new();
    if leaves.is_empty() {
        return rows;
    }
    rows.insert(leaves_key(id.as_bytes()), encode_leaves(leaves));
    // Per name: its row, and the last update.
    let mut by_name: BTreeMap<&str, (AccessRow, u64)> = BTreeMap::new();
    for leaf in leaves {
        let unnamed = leaf.names.is_empty().then_some(UNNAMED);
        for name in leaf.names.iter().map(String::as_str).chain(unnamed) {
            let none = AccessRow {
                deleted: true,
                external: 0,
            };
            let (row, seq) = by_name.entry(name).or_insert((none, 0));
            row.deleted &= leaf.deleted;
            row.external = row.external.saturating_add(leaf.external);
            *seq = leaf.seq.max(*seq);
        }
    }
    for (name, (row, seq)) in by_name {
        rows.insert([&id_prefix(name), id.as_bytes()].concat(), row.encode());
        let by_seq = [&seq_prefix(name), &seq.to_be_bytes()[..], id.as_bytes()];
        rows.insert(by_seq.concat(), Vec::new());
    }
    rows
}

/// Adds the changes of rows that a document with other leaves needs.
pub(crate) fn replace(
    id: &str,
    before: &[AccessLeaf],
    after: &[AccessLeaf],
    edits: &mut AccessEdits,
) {
    edits.extend(rows(id, before).into_keys().map(|key| (key, None)));
    let added = rows(id, after).into_iter();
    edits.extend(added.map(|(key, value)| (key, Some(value))));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(rev: &str, deleted: bool, seq: u64, names: &[&str]) -> AccessLeaf {
        AccessLeaf {
            rev: rev.parse().unwrap(),
            deleted,
            seq,
            external: 7,
            names: names.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn golden_rows() {
        let leaves = [
            leaf("2-b", false, 9, &["a"]),
            leaf("1-c", true, 258, &["a", "bc"]),
        ];
        let rows = rows("x", &leaves);
        let expected: [(&[u8], &[u8]); 5] = [
            (
                b"\x00x",
                b"\x00\x02\x01b\x09\x07\x01\x01a\x01\x01\x01c\x82\x02\x07\x02\x01a\x02bc",
            ),
            (b"\x01\x01ax", b"\x00\x0e"),
            (b"\x01\x02bcx", b"\x01\x07"),
            (b"\x02\x01a\0\0\0\0\0\0\x01\x02x", b""),
            (b"\x02\x02bc\0\0\0\0\0\0\x01\x02x", b""),
        ];
        let found: Vec<_> = rows
            .iter()
            .map(|(key, value)| (&key[..], &value[..]))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(decode_leaves(&rows[&b"\x00x"[..]]), Ok(leaves.to_vec()));
        let whole = &rows[&b"\x00x"[..]];
        assert!(decode_leaves(&whole[..whole.len() - 1]).is_err());
    }

    #[test]
    fn replaced_rows_leave_nothing_behind() {
        let mut edits = AccessEdits::new();
        replace(
            "x",
            &[leaf("1-a", false, 1, &["a"])],
            &[leaf("2-b", false, 2, &["b"])],
            &mut edits,
        );
        let removed = edits.values().filter(|value| value.is_none()).count();
        assert_eq!((edits.len(), removed), (5, 2));
        edits.clear();
        replace("x", &[leaf("1-a", false, 1, &["a"])], &[], &mut edits);
        assert!(edits.len() == 3 && edits.values().all(Option::is_none));
    }
}
