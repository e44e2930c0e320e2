//! Old revisions of documents that have many, in chunks of their own.
//!
//! ```text
//! a revision tree's text, newest revision first:
//!
//! | here          | part 1              | part 2                                      |
//! | in the value  | a chunk             | a chunk                                     |
//! | 1 to 32       | 8 times as many as  | the oldest; revisions cut off at its end    |
//! | revisions     | before it, at most  | stay in the chunk and do not count          |
//! ```
//! An edit changes the beginning of the text and, where an old revision is forgotten, its end. So it writes the part in
//! the value, and only now and then a chunk: each becomes eight times as long as the text before it before it is
//! written again, together with that. Any other change of a tree, such as a branch of an old revision, is noticed by
//! comparing texts.

use super::fields::{self, Malformed, Reader};
use crate::Rev;
use crate::revtree::{RevTree, TreeText, chunk, put_chunk};
use varve_btree::ChunkRef;

/// Revisions that stand in the document's value, at most.
pub(crate) const HERE: usize = 32;
/// How many times longer than all before it a part becomes.
const GROWTH: usize = 8;
/// More parts of one document are not believed.
const MOST_PARTS: u64 = 16;

/// A run of old revisions in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) place: ChunkRef,
    /// How many of the chunk's revisions count, from the first on.
    pub(crate) revisions: usize,
}

/// A part as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    part: Part,
    text: Vec<u8>,
    first: Rev,
}

impl Known {
    /// Where its chunk stands.
    pub(crate) fn place(&self) -> ChunkRef {
        self.part.place
    }

    /// Bytes of its chunk.
    pub(crate) fn stored_len(&self) -> u64 {
        u64::from(self.part.place.len)
    }
}

/// Appends the list of parts.
pub(crate) fn put_parts(parts: &[Part], out: &mut Vec<u8>) {
    fields::put(parts.len() as u64, out);
    for part in parts {
        put_chunk(part.place, out);
        fields::put(part.revisions as u64, out);
    }
}

/// Reads the output of [`put_parts`].
pub(crate) fn read_parts(reader: &mut Reader<'_>) -> Result<Vec<Part>, Malformed> {
    let count = reader.number()?;
    if count == 0 || count > MOST_PARTS {
        return Err(Malformed);
    }
    let mut parts = Vec::new();
    for _ in 0..count {
        parts.push(Part {
            place: chunk(reader)?,
            revisions: reader.number_u32()? as usize,
        });
    }
    Ok(parts)
}

/// Puts a tree together from the text in the value and the texts of its parts. Parts without a text are left out, with
/// all that is older; then none is known.
pub(crate) fn join(
    here: Reader<'_>,
    parts: &[Part],
    texts: Vec<Vec<u8>>,
) -> Result<(RevTree, Vec<Known>), Malformed> {
    let is_cut = texts.len() < parts.len();
    let runs = parts.iter().zip(&texts);
    let runs: Vec<_> = runs
        .map(|(part, text)| (&text[..], part.revisions))
        .collect();
    let (tree, mut at) = RevTree::decode_runs(here, &runs, is_cut)?;
    if is_cut {
        return Ok((tree, Vec::new()));
    }
    let mut known = Vec::with_capacity(parts.len());
    for (part, text) in parts.iter().zip(texts) {
        let first = tree.node(at).ok_or(Malformed)?.rev.clone();
        at += part.revisions;
        known.push(Known {
            part: *part,
            text,
            first,
        });
    }
    Ok((tree, known))
}

/// Says how many revisions are to stand here, and where all others are. Parts that are `known` are
/// used where the tree has them as they were; `store` appends a new one.
pub(crate) fn lay_out<E>(
    known: &[Known],
    tree: &RevTree,
    text: &TreeText,
    store: impl FnOnce(&[u8]) -> Result<ChunkRef, E>,
) -> Result<(usize, Vec<Part>), E> {
    let (mut here, mut parts) = unchanged(known, tree, text);
    if here > HERE {
        let (mut revisions, mut taken) = (here - 1, 0);
        while let Some(part) = parts.get(taken)
            && part.revisions < GROWTH * revisions
        {
            revisions += part.revisions;
            taken += 1;
        }
        let place = store(text.run(1..1 + revisions))?;
        parts.splice(..taken, [Part { place, revisions }]);
        here = 1;
    }
    Ok((here, parts))
}

/// The parts at the end of a tree that it still has, and how many revisions stand before them.
fn unchanged(known: &[Known], tree: &RevTree, text: &TreeText) -> (usize, Vec<Part>) {
    for skipped in 0..known.len() {
        // The newest revision always stands in the value.
        let at = tree.index(&known[skipped].first).filter(|at| *at > 0);
        let found = at.and_then(|at| Some((at, at_end(&known[skipped..], text, at)?)));
        if let Some(found) = found {
            return found;
        }
    }
    (tree.len(), Vec::new())
}

/// The parts as they follow each other from a revision to the end of the text; `None` if they differ from the text.
fn at_end(known: &[Known], text: &TreeText, mut at: usize) -> Option<Vec<Part>> {
    let mut parts = Vec::with_capacity(known.len());
    for Known { part, text: of, .. } in known {
        let revisions = part.revisions.min(text.len() - at);
        if revisions == 0 {
            break;
        }
        if !text.stands_in(at..at + revisions, of) {
            return None;
        }
        at += revisions;
        parts.push(Part { revisions, ..*part });
    }
    (at == text.len()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::super::DocumentRecord;
    use super::*;
    use crate::revtree::Stored;
    use proptest::prelude::*;
    use std::cell::RefCell;

    /// Chunks in memory: one that is read elsewhere than where it was written is missed.
    #[derive(Default)]
    struct Chunks(RefCell<Vec<Vec<u8>>>);

    impl Chunks {
        fn store(&self, text: &[u8]) -> Result<ChunkRef, Malformed> {
            let mut chunks = self.0.borrow_mut();
            chunks.push(text.to_vec());
            Ok(ChunkRef {
                offset: chunks.len() as u64 - 1,
                len: text.len() as u32,
            })
        }

        fn save(&self, record: &DocumentRecord) -> Vec<u8> {
            let mut value = Vec::new();
            let saved = record.encode(|text| self.store(text), &mut value);
            saved.unwrap();
            value
        }

        fn load(&self, value: &[u8]) -> DocumentRecord {
            let read = |at: ChunkRef, out: &mut Vec<u8>| {
                out.extend_from_slice(&self.0.borrow()[at.offset as usize]);
                Ok::<_, Malformed>(())
            };
            DocumentRecord::decode(value, read).unwrap().unwrap()
        }

        fn bytes(&self) -> usize {
            self.0.borrow().iter().map(Vec::len).sum()
        }
    }

    fn stored(seq: u64) -> Stored {
        Stored {
            deleted: false,
            body: ChunkRef {
                offset: 1_000_000 + seq,
                len: 90,
            },
            attachments: None,
            seq,
            active: 90,
            external: 1000,
        }
    }

    /// The revision of a generation on a branch.
    fn rev(generation: u64, branch: u8) -> Rev {
        let mut digest = [branch; 16];
        digest[..8].copy_from_slice(&generation.to_be_bytes());
        Rev {
            generation,
            digest: digest.into(),
        }
    }

    #[test]
    fn a_thousand_edits_write_little_and_forget_what_is_old() {
        let (chunks, mut written) = (Chunks::default(), 0);
        let mut record = DocumentRecord::default();
        for generation in 1..=3000 {
            let path = [rev(generation, 0), rev(generation - 1, 0)];
            let known = if generation == 1 { 1 } else { 2 };
            assert!(record.tree.merge(&path[..known], stored(generation)));
            record.tree.stem(1000);
            let value = chunks.save(&record);
            written += value.len();
            assert!(value.len() < 2000, "{}", value.len());
            let again = chunks.load(&value);
            assert_eq!(again.tree, record.tree);
            record = again;
            if generation == 1000 {
                assert!(written + chunks.bytes() < 800_000);
            }
        }
        assert_eq!(record.tree.len(), 1000);
        assert!(written + chunks.bytes() < 2_600_000);
        let mut whole = Vec::new();
        record.tree.encode(&mut whole);
        assert!(whole.len() * 3000 > 70_000_000, "what it would be");
    }

    proptest! {
        #[test]
        fn whatever_happens_to_a_tree_it_is_read_as_it_was_written(
            steps in prop::collection::vec((0..20_u8, any::<prop::sample::Index>()), 1..400),
        ) {
            let chunks = Chunks::default();
            let mut record = DocumentRecord::default();
            record.tree.merge(&[rev(1, 0)], stored(1));
            for (seq, (step, pick)) in (2_u64..).zip(&steps) {
                let node = record.tree.node(pick.index(record.tree.len())).unwrap().rev.clone();
                let winner = record.tree.winner().unwrap().rev.clone();
                match *step {
                    0 => _ = record.tree.purge(&[winner]),
                    1 => record.tree.stem(pick.index(80) as u64 + 1),
                    2 => _ = record.tree.merge(&[rev(node.generation + 1, seq as u8), node], stored(seq)),
                    3 => {
                        // Revisions that were cut off come back, with older ones.
                        let path: Vec<_> = (1..=node.generation).rev().map(|g| rev(g, 0)).collect();
                        record.tree.merge(&path, stored(seq));
                    }
                    _ => {
                        for more in 1..=pick.index(12) as u64 {
                            let path = (0..=more).map(|back| match more - back {
                                0 => winner.clone(),
                                on => rev(winner.generation + on, 0),
                            });
                            record.tree.merge(&path.collect::<Vec<_>>(), stored(seq));
                        }
                    }
                }
                if record.tree.is_empty() {
                    record.tree.merge(&[rev(1, 0)], stored(seq));
                }
                let again = chunks.load(&chunks.save(&record));
                prop_assert_eq!(&again.tree, &record.tree);
                record = again;
            }
        }
    }
}
