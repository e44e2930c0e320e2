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
//! `NEXT` nor `FAR` is a root.

use super::{Node, RevTree, Stored};
use crate::record::fields::{self, Malformed, Reader};
use crate::{Digest, Rev};
use varve_btree::ChunkRef;

const STORED: u8 = 1;
const DELETED: u8 = 2;
const ATTACHED: u8 = 4;
const ODD: u8 = 8;
const NEXT: u8 = 16;
const FAR: u8 = 32;
const FIRST: u8 = 64;
const KNOWN: u8 = STORED | DELETED | ATTACHED | ODD | NEXT | FAR | FIRST;

impl RevTree {
    /// Appends the stored form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        fields::put(self.nodes.len() as u64, out);
        let mut is_parent_of_last = false;
        for (index, node) in self.nodes.iter().enumerate() {
            let distance = node.parent.map(|parent| parent as usize - index);
            encode_node(node, !is_parent_of_last, distance, out);
            is_parent_of_last = distance == Some(1);
        }
    }

    /// Reads what [`RevTree::encode`] wrote.
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<RevTree, Malformed> {
        let count = reader.number_u32()?;
        let mut nodes: Vec<Node> = Vec::new();
        let mut child = None;
        for index in 0..count {
            let (node, has_next) = decode_node(reader, child, index, count)?;
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
        if nodes.iter().all(in_order) {
            Ok(RevTree::from_nodes(nodes))
        } else {
            Err(Malformed)
        }
    }
}

/// Reads the first node only, if it is certain to be the winner: the newest revision of all, and
/// not deleted. `None` if the whole tree must be looked at.
pub(crate) fn skip_to_winner(reader: &mut Reader<'_>) -> Result<Option<Node>, Malformed> {
    let count = reader.number_u32()?;
    let (node, _) = decode_node(reader, None, 0, count)?;
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
