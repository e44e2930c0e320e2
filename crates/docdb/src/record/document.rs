//! The value of the tree by id.
//!
//! ```text
//! +---------+-----+--------+----------+---------------+
//! | deleted | seq | active | external | revision tree |
//! | u8      |     |        |          |               |
//! +---------+-----+--------+----------+---------------+
//! ```
//! `deleted` is 1 if the winner is deleted; `seq` is the document's last update; the sizes are
//! those of all leaves.

use crate::record::fields::{self, Malformed, Reader};
use crate::revtree::RevTree;

/// One document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentRecord {
    pub(crate) seq: u64,
    pub(crate) tree: RevTree,
}

/// What stands before the revision tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocumentHead {
    pub(crate) deleted: bool,
    pub(crate) seq: u64,
    pub(crate) active: u64,
    pub(crate) external: u64,
}

impl DocumentHead {
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(DocumentHead {
            deleted: match reader.byte()? {
                0 => false,
                1 => true,
                _ => return Err(Malformed),
            },
            seq: reader.number()?,
            active: reader.number()?,
            external: reader.number()?,
        })
    }
}

impl DocumentRecord {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let (active, external) = self.tree.sizes();
        out.push(u8::from(self.tree.is_deleted()));
        fields::put(self.seq, out);
        fields::put(active, out);
        fields::put(external, out);
        self.tree.encode(out);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let head = DocumentHead::decode(&mut reader)?;
        let tree = RevTree::decode(&mut reader)?;
        if !reader.is_empty() || tree.is_empty() || head.deleted != tree.is_deleted() {
            return Err(Malformed);
        }
        Ok(DocumentRecord {
            seq: head.seq,
            tree,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revtree::Stored;
    use varve_btree::ChunkRef;

    pub(crate) fn sample() -> DocumentRecord {
        let stored = |offset, deleted, attached: bool| Stored {
            deleted,
            body: ChunkRef { offset, len: 90 },
            attachments: attached.then_some(ChunkRef { offset: 5, len: 6 }),
            seq: 9,
            active: 90,
            external: 1000,
        };
        let path =
            |text: &str| -> Vec<_> { text.split(' ').map(|rev| rev.parse().unwrap()).collect() };
        let mut tree = RevTree::default();
        tree.merge(
            &path("2-b 1-967a00dff5e02add41819138abb3284d"),
            stored(100, false, false),
        );
        tree.merge(
            &path("3-c 2-a 1-967a00dff5e02add41819138abb3284d"),
            stored(300, true, true),
        );
        tree.merge(&path("7-q"), stored(500, true, false));
        DocumentRecord { seq: 11, tree }
    }

    #[test]
    fn golden_document() {
        let mut bytes = Vec::new();
        sample().encode(&mut bytes);
        let expected = [
            // not deleted, seq 11, sizes of three leaves; five nodes
            &b"\x00\x0b\x8e\x02\xb8\x17\x05"[..],
            // 7-q: a root
            b"K\x07\x01q\xf4\x03Z\tZ\xe8\x07",
            // 3-c: its parent is two nodes behind, it has attachments
            b"o\x03\x02\x01c\xac\x02Z\tZ\xe8\x07\x05\x06",
            // 2-b: its parent is two nodes behind
            b"i\x02\x02\x01bdZ\tZ\xe8\x07",
            // 2-a: without content, its parent is next
            b"X\x02\x01a",
            b"\x00\x96z\x00\xdf\xf5\xe0*\xddA\x81\x918\xab\xb3(M",
        ];
        assert_eq!(bytes, expected.concat());
        assert_eq!(DocumentRecord::decode(&bytes), Ok(sample()));
    }

    #[test]
    fn cut_and_damaged_values_are_refused_without_panic() {
        let mut bytes = Vec::new();
        sample().encode(&mut bytes);
        for len in 0..bytes.len() {
            assert!(DocumentRecord::decode(&bytes[..len]).is_err(), "{len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            crate::fuzzing::document_record(&damaged);
        }
    }
}
