//! How a revision tree is stored.
//!
//! ```text
//! +--------+---------------------------------------------------------------+
//! | count  | per node, newest first                                        |
//! | varint | +-------+------------+--------+--------------+--------------+ |
//! |        | | flags | generation | parent | digest       | stored       | |
//! |        | | u8    | varint     | varint | 16 B, or     | see below    | |
//! |        | |       | if FIRST   | if FAR | varint len + | if STORED    | |
//! |        | |       |            |        | bytes if ODD |              | |
//! |        | +-------+------------+--------+--------------+--------------+ |
//! +--------+---------------------------------------------------------------+
//! stored: body offset, body length, seq, active, external (varints),
//!         attachments' offset and length (varints) if ATTACHED
//! ```
//! `FIRST` is missing where the node before says `NEXT`: this node is then its parent, one
//! generation lower. `FAR` gives the parent's distance in nodes, at least 2; a node with neither
//! `NEXT` nor `FAR` is a root. Where the last nodes stand in chunks, `NEXT` of the very last one
//! says nothing: its parent has been cut off.

use super::{Node, RevTree, Stored};
use crate::record::fields::{self, Malformed, Reader};
use crate::{Digest, Rev};
use std::ops::Range;
use varve_btree::ChunkRef;

const STORED: u8 = 1;
const DELETED: u8 = 2;
const ATTACHED: u8 = 4;
const ODD: u8 = 8;
const NEXT: u8 = 16;
const FAR: u8 = 32;
const FIRST: u8 = 64;
const KNOWN: u8 = STORED | DELETED | ATTACHED | ODD | NEXT | FAR | FIRST;

/// The nodes of a tree as they are stored, without their count.
#[derive(Debug, Default)]
pub(crate) struct TreeText {
    bytes: Vec<u8>,
    /// Where each node begins.
    starts: Vec<usize>,
}

impl TreeText {
    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The text of some nodes that follow each other.
    pub(crate) fn run(&self, nodes: Range<usize>) -> &[u8] {
        let at = |node| self.starts.get(node).copied();
        let end = at(nodes.end).unwrap_or(self.bytes.len());
        at(nodes.start).map_or(&[], |start| &self.bytes[start..end])
    }

    /// Whether `other` begins with the text of some nodes. The parent of the tree's last node may
    /// stand there still.
    pub(crate) fn stands_in(&self, nodes: Range<usize>, other: &[u8]) -> bool {
        if nodes.end < self.len() || nodes.is_empty() {
            return other.starts_with(self.run(nodes));
        }
        let last = nodes.end - 1;
        let (before, own) = (self.run(nodes.start..last), self.run(last..nodes.end));
        let there = other.strip_prefix(before).and_then(<[u8]>::split_first);
        match (own.split_first(), there) {
            (Some((flags, own)), Some((there, rest))) => {
                flags | NEXT == there | NEXT && rest.starts_with(own)
            }
            _ => false,
        }
    }
}

impl RevTree {
    /// Appends the stored form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        fields::put(self.nodes.len() as u64, out);
        self.encode_nodes(out, |_| ());
    }

    /// The stored form taken apart.
    pub(crate) fn text(&self) -> TreeText {
        let mut text = TreeText::default();
        let TreeText { bytes, starts } = &mut text;
        self.encode_nodes(bytes, |at| starts.push(at));
        text
    }

    fn encode_nodes(&self, out: &mut Vec<u8>, mut begin: impl FnMut(usize)) {
        let mut is_parent_of_last = false;
        for (index, node) in self.nodes.iter().enumerate() {
            let distance = node.parent.map(|parent| parent as usize - index);
            begin(out.len());
            encode_node(node, !is_parent_of_last, distance, out);
            is_parent_of_last = distance == Some(1);
        }
    }

    /// Reads the output of [`RevTree::encode`].
    pub(crate) fn decode(reader: Reader<'_>) -> Result<RevTree, Malformed> {
        Ok(RevTree::decode_runs(reader, &[], false)?.0)
    }

    /// Reads nodes of which the first ones stand behind their count, and the others in runs of a
    /// text and a count; only the last text may have more than is counted. `is_cut` says that
    /// there are more runs, which are not there. Returns how many stand before the runs, too.
    pub(crate) fn decode_runs<'a>(
        mut reader: Reader<'a>,
        runs: &[(&'a [u8], usize)],
        is_cut: bool,
    ) -> Result<(RevTree, usize), Malformed> {
        let here = reader.number_u32()?;
        let counts = runs.iter().map(|(_, count)| *count as u64);
        let total = u64::from(here).saturating_add(counts.sum());
        let total = u32::try_from(total).map_err(|_| Malformed)?;
        if here == 0 && !runs.is_empty() {
            return Err(Malformed);
        }
        let mut runs = runs.iter();
        let (mut nodes, mut child, mut left) = (Vec::<Node>::new(), None, here);
        for index in 0..total {
            while left == 0 {
                let (text, count) = runs.next().ok_or(Malformed)?;
                if !reader.is_empty() {
                    return Err(Malformed);
                }
                reader = Reader::new(text);
                left = *count as u32;
            }
            left -= 1;
            let is_end = (is_cut || here < total) && index + 1 == total;
            let (node, has_next) = decode_node(&mut reader, child, index, total, is_end)?;
            if nodes.last().is_some_and(|before| before.rev <= node.rev) {
                return Err(Malformed);
            }
            child = has_next.then_some(node.rev.generation);
            nodes.push(node);
        }
        let in_order = |node: &Node| match node.parent {
            Some(parent) => nodes[parent as usize].rev.generation + 1 == node.rev.generation,
            None => true,
        };
        if (here < total || reader.is_empty()) && nodes.iter().all(in_order) {
            Ok((RevTree::from_nodes(nodes), here as usize))
        } else {
            Err(Malformed)
        }
    }
}

/// Reads the first node only, if it is certain to be the winner: the newest revision of all, and
/// not deleted. `None` if the whole tree must be looked at; so if nodes stand elsewhere.
pub(crate) fn skip_to_winner(reader: &mut Reader<'_>) -> Result<Option<Node>, Malformed> {
    let count = reader.number_u32()?;
    let (node, _) = decode_node(reader, None, 0, u32::MAX, false)?;
    Ok((!node.is_deleted() || count == 1).then_some(node))
}

fn encode_node(node: &Node, is_first: bool, distance: Option<usize>, out: &mut Vec<u8>) {
    let digest = node.rev.digest.as_bytes();
    let far = distance.filter(|distance| *distance > 1);
    let mut flags = u8::from(digest.len() != 16) * ODD;
    flags |= u8::from(is_first) * FIRST;
    flags |= u8::from(distance == Some(1)) * NEXT;
    flags |= u8::from(far.is_some()) * FAR;
    if let Some(stored) = &node.stored {
        flags |= STORED;
        flags |= u8::from(stored.deleted) * DELETED;
        flags |= u8::from(stored.attachments.is_some()) * ATTACHED;
    }
    out.push(flags);
    if is_first {
        fields::put(node.rev.generation, out);
    }
    if let Some(far) = far {
        fields::put(far as u64, out);
    }
    if flags & ODD == 0 {
        out.extend_from_slice(digest);
    } else {
        fields::put_counted(digest, out);
    }
    if let Some(stored) = &node.stored {
        encode_stored(stored, out);
    }
}

/// Appends everything but the flags of a revision's content.
pub(crate) fn encode_stored(stored: &Stored, out: &mut Vec<u8>) {
    put_chunk(stored.body, out);
    fields::put(stored.seq, out);
    fields::put(stored.active, out);
    fields::put(stored.external, out);
    if let Some(attachments) = stored.attachments {
        put_chunk(attachments, out);
    }
}

fn decode_stored(reader: &mut Reader<'_>, flags: u8) -> Result<Option<Stored>, Malformed> {
    if flags & STORED == 0 {
        return Ok(None);
    }
    Ok(Some(Stored {
        deleted: flags & DELETED != 0,
        body: chunk(reader)?,
        seq: reader.number()?,
        active: reader.number()?,
        external: reader.number()?,
        attachments: match flags & ATTACHED {
            0 => None,
            _ => Some(chunk(reader)?),
        },
    }))
}

fn decode_node(
    reader: &mut Reader<'_>,
    child: Option<u64>,
    index: u32,
    count: u32,
    is_cut: bool,
) -> Result<(Node, bool), Malformed> {
    let flags = reader.byte()?;
    let is_first = flags & FIRST != 0;
    let both = flags & NEXT != 0 && flags & FAR != 0;
    if flags & !KNOWN != 0 || is_first == child.is_some() || both {
        return Err(Malformed);
    }
    let generation = match child {
        Some(child) => child.checked_sub(1),
        None => Some(reader.number()?),
    };
    let distance = match flags & (NEXT | FAR) {
        0 => None,
        NEXT if is_cut => None,
        NEXT => Some(1),
        _ => Some(reader.number_u32()?),
    };
    let parent = match distance {
        Some(distance) => Some(index.checked_add(distance).ok_or(Malformed)?),
        None => None,
    };
    let digest = match flags & ODD {
        0 => Digest::from(*reader.array()?),
        _ => Digest::from_bytes(reader.bytes()?),
    };
    let generation = generation.filter(|generation| *generation > 0);
    if parent.is_some_and(|parent| parent <= index || parent >= count) {
        return Err(Malformed);
    }
    let node = Node {
        rev: Rev {
            generation: generation.ok_or(Malformed)?,
            digest,
        },
        parent,
        stored: decode_stored(reader, flags)?,
    };
    Ok((node, flags & NEXT != 0))
}

/// Appends a chunk's place.
pub(crate) fn put_chunk(chunk: ChunkRef, out: &mut Vec<u8>) {
    fields::put(chunk.offset, out);
    fields::put(u64::from(chunk.len), out);
}

/// Reads a chunk's place.
pub(crate) fn chunk(reader: &mut Reader<'_>) -> Result<ChunkRef, Malformed> {
    Ok(ChunkRef {
        offset: reader.number()?,
        len: reader.number_u32()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> TreeText {
        let mut tree = RevTree::default();
        let path: Vec<Rev> = path.split(' ').map(|rev| rev.parse().unwrap()).collect();
        let stored = Stored {
            deleted: false,
            body: ChunkRef { offset: 7, len: 1 },
            attachments: None,
            seq: 1,
            active: 1,
            external: 1,
        };
        tree.merge(&path, stored);
        tree.text()
    }

    #[test]
    fn a_text_stands_in_another_but_for_the_parent_of_its_last_node() {
        let own = text("4-d 3-c 2-b");
        let all = |of: &TreeText| own.stands_in(1..3, of.run(1..of.len()));
        assert!(all(&own));
        assert!(all(&text("4-d 3-c 2-b 1-a")));
        assert!(
            all(&text("4-e 3-c 2-b 1-a")),
            "what is before does not count"
        );
        assert!(!all(&text("4-d 3-c 2-x 1-a")));
        assert!(!all(&text("4-d 3-x 2-b 1-a")));
        assert!(!all(&text("4-d 3-c")));
        let longer = text("4-d 3-c 2-b 1-a");
        assert!(
            !longer.stands_in(1..3, own.run(1..3)),
            "it is cut off there"
        );
        assert!(longer.stands_in(1..3, longer.run(1..3)));
    }
}
