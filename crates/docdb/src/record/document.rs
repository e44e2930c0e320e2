//! The value of the tree by id.
//!
//! ```text
//! +-------+-----+--------+----------+-------+----------------------------+---------------+
//! | flags | seq | active | external | count | per part of the history:   | revision tree |
//! | u8    |     |        |          |       | place, number of revisions |               |
//! +-------+-----+--------+----------+-------+----------------------------+---------------+
//! ```
//! Flags: 1 the winner is deleted, 2 there are `count` and parts. `seq` is the document's last
//! update; the sizes are those of all leaves, `active` with the parts' chunks. The parts follow the
//! revisions that stand here.

use super::history::{self, HERE, Known, Part};
use crate::record::fields::{self, Malformed, Reader};
use crate::revtree::{Node, RevTree, Stored, skip_to_winner};
use crate::{DocdbError, Rev};
use varve_btree::{ChunkRef, EncodedChunk, Transaction, TreeError};
use varve_codec::{Compressor, EngineSetting};

const DELETED: u8 = 1;
const PARTS: u8 = 2;

/// One document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentRecord {
    pub(crate) seq: u64,
    pub(crate) tree: RevTree,
    /// Parts of the history as they stand in the file that the document was read from.
    parts: Vec<Known>,
}

/// Fields in front of the revision tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocumentHead {
    pub(crate) deleted: bool,
    has_parts: bool,
    pub(crate) seq: u64,
    pub(crate) active: u64,
    pub(crate) external: u64,
}

/// Whether a document's value says that its winner is deleted.
pub(crate) fn is_deleted(value: &[u8]) -> bool {
    value.first().is_some_and(|flags| flags & DELETED != 0)
}

impl DocumentHead {
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let flags = reader.byte()?;
        if flags & !(DELETED | PARTS) != 0 {
            return Err(Malformed);
        }
        Ok(DocumentHead {
            deleted: flags & DELETED != 0,
            has_parts: flags & PARTS != 0,
            seq: reader.number()?,
            active: reader.number()?,
            external: reader.number()?,
        })
    }

    fn parts(&self, reader: &mut Reader<'_>) -> Result<Vec<Part>, Malformed> {
        match self.has_parts {
            true => history::read_parts(reader),
            false => Ok(Vec::new()),
        }
    }
}

impl DocumentRecord {
    /// A document that stands nowhere yet.
    pub(crate) fn new(seq: u64, tree: RevTree) -> Self {
        DocumentRecord {
            seq,
            tree,
            parts: Vec::new(),
        }
    }

    /// Appends the value; `store` appends a chunk to the file, at most one.
    pub(crate) fn encode<E>(
        &self,
        store: impl FnOnce(&[u8]) -> Result<ChunkRef, E>,
        out: &mut Vec<u8>,
    ) -> Result<(), E> {
        let (active, external) = self.tree.sizes();
        let deleted = u8::from(self.tree.is_deleted()) * DELETED;
        let mut head = |flags, active| {
            out.push(deleted | flags);
            for number in [self.seq, active, external] {
                fields::put(number, out);
            }
        };
        if self.tree.len() <= HERE {
            head(0, active);
            self.tree.encode(out);
            return Ok(());
        }
        let text = self.tree.text();
        let (here, parts) = history::lay_out(&self.parts, &self.tree, &text, store)?;
        let stored = parts.iter().map(|part| u64::from(part.place.len));
        head(PARTS, active.saturating_add(stored.sum()));
        history::put_parts(&parts, out);
        fields::put(here as u64, out);
        out.extend_from_slice(text.run(0..here));
        Ok(())
    }

    /// The value for a file that a transaction adds to.
    pub(crate) fn write(&self, txn: &mut Transaction<'_>) -> Result<Vec<u8>, DocdbError> {
        let mut value = Vec::new();
        self.encode(|text| append_plain(txn, text), &mut value)?;
        Ok(value)
    }

    /// Reads the output of [`DocumentRecord::encode`]; `read` reads a chunk of the file.
    pub(crate) fn decode<E>(
        bytes: &[u8],
        read: impl FnMut(ChunkRef, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Result<Self, Malformed>, E> {
        match Loaded::of(bytes, read) {
            Ok((_, Some(error))) => Err(error),
            Ok((loaded, None)) => Ok(loaded.record()),
            Err(Malformed) => Ok(Err(Malformed)),
        }
    }

    /// Reads the readable part: the first part of the history that cannot be read is left out, with all that is older,
    /// and its error is returned as well.
    pub(crate) fn decode_newest<E>(
        bytes: &[u8],
        read: impl FnMut(ChunkRef, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(Self, Option<E>), Malformed> {
        let (loaded, missing) = Loaded::of(bytes, read)?;
        Ok((loaded.record()?, missing))
    }

    /// Where the parts of its history stand.
    pub(crate) fn part_places(&self) -> impl Iterator<Item = ChunkRef> + '_ {
        self.parts.iter().map(Known::place)
    }

    /// Bytes in the file that the document was read from, and as clients see them.
    pub(crate) fn sizes(&self) -> (u64, u64) {
        let (active, external) = self.tree.sizes();
        let parts = self.parts.iter().map(Known::stored_len);
        (active.saturating_add(parts.sum()), external)
    }

    /// Gives the content of every leaf a place in another file; that of other revisions is
    /// forgotten, and the history is to be written anew.
    pub(crate) fn move_leaves<E>(
        &mut self,
        place: impl FnMut(&Rev, &Stored) -> Result<Stored, E>,
    ) -> Result<(), E> {
        self.parts.clear();
        self.tree.move_leaves(place)
    }
}

/// A document's value with the texts of its parts, not decoded yet.
struct Loaded<'b> {
    head: DocumentHead,
    here: Reader<'b>,
    parts: Vec<Part>,
    /// As many as could be read.
    texts: Vec<Vec<u8>>,
}

impl<'b> Loaded<'b> {
    /// Also returns why the first part that cannot be read is not there.
    fn of<E>(
        bytes: &'b [u8],
        mut read: impl FnMut(ChunkRef, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(Self, Option<E>), Malformed> {
        let mut here = Reader::new(bytes);
        let head = DocumentHead::decode(&mut here)?;
        let parts = head.parts(&mut here)?;
        let (mut texts, mut missing) = (Vec::with_capacity(parts.len()), None);
        for part in &parts {
            let mut text = Vec::new();
            if let Err(error) = read(part.place, &mut text) {
                missing = Some(error);
                break;
            }
            texts.push(text);
        }
        let loaded = Loaded {
            head,
            here,
            parts,
            texts,
        };
        Ok((loaded, missing))
    }

    fn record(self) -> Result<DocumentRecord, Malformed> {
        let (tree, parts) = history::join(self.here, &self.parts, self.texts)?;
        if tree.is_empty() || self.head.deleted != tree.is_deleted() {
            return Err(Malformed);
        }
        Ok(DocumentRecord {
            seq: self.head.seq,
            tree,
            parts,
        })
    }
}

/// The winner of a document's value, if no more than its first revision must be looked at.
pub(crate) fn first_if_winner(value: &[u8]) -> Result<Option<Node>, Malformed> {
    let mut reader = Reader::new(value);
    let head = DocumentHead::decode(&mut reader)?;
    let parts = head.parts(&mut reader)?;
    let first = skip_to_winner(&mut reader)?;
    Ok(first.filter(|node| parts.is_empty() || !node.is_deleted()))
}

/// Appends a chunk that is not compressed.
pub(crate) fn append_plain(
    txn: &mut Transaction<'_>,
    content: &[u8],
) -> Result<ChunkRef, DocdbError> {
    let mut plain = Compressor::new(EngineSetting::NONE).map_err(TreeError::Compress)?;
    Ok(txn.append_chunk(&EncodedChunk::encode(&mut plain, content)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        DocumentRecord::new(11, tree)
    }

    fn no_chunk(_: &[u8]) -> Result<ChunkRef, Malformed> {
        Err(Malformed)
    }

    fn decode(bytes: &[u8]) -> Result<DocumentRecord, Malformed> {
        DocumentRecord::decode(bytes, |_, _| Err(Malformed)).flatten()
    }

    #[test]
    fn golden_document() {
        let mut bytes = Vec::new();
        sample().encode(no_chunk, &mut bytes).unwrap();
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
        assert_eq!(decode(&bytes), Ok(sample()));
    }

    #[test]
    fn cut_and_damaged_values_are_refused_without_panic() {
        let mut bytes = Vec::new();
        sample().encode(no_chunk, &mut bytes).unwrap();
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            crate::fuzzing::document_record(&damaged);
        }
    }
}
