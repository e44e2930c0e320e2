//! The value of the tree by sequence.
//!
//! ```text
//! +-------+----+------------+----------------+--------+---------------------------+
//! | flags | id | winner     | winner's body  | others | per other leaf, preferred |
//! | u8    |    | revision   | and sizes      | count  | first: deleted u8,        |
//! |       |    |            |                |        | revision                  |
//! +-------+----+------------+----------------+--------+---------------------------+
//! ```
//! Flags: 1 the winner is deleted, 2 it has attachments. The id stands behind its length, a
//! revision is generation, length of the digest, digest. Body and sizes are laid out as in the
//! revision tree. So a feed with or without documents needs no look into another tree.

use super::{put_rev, read_rev};
use crate::Rev;
use crate::record::fields::{self, Malformed, Reader};
use crate::revtree::{RevTree, Stored, chunk, encode_stored};

const DELETED: u8 = 1;
const ATTACHED: u8 = 2;

/// One document as the changes feed shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The document's last update.
    pub seq: u64,
    /// The document.
    pub id: String,
    /// The winning revision.
    pub rev: Rev,
    /// The winning revision's content.
    pub stored: Stored,
    /// All other leaves, preferred ones first, as `style=all_docs` lists them.
    pub others: Vec<Leaf>,
}

/// A leaf besides the winner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its id.
    pub rev: Rev,
    /// Whether it is deleted.
    pub deleted: bool,
}

impl Change {
    /// Whether the winner is deleted.
    pub fn is_deleted(&self) -> bool {
        self.stored.deleted
    }

    /// The change that a document's state amounts to; `None` for a tree without content.
    pub(crate) fn of(id: &str, seq: u64, tree: &RevTree) -> Option<Change> {
        let leaves = tree.ranked_leaves();
        let (winner, others) = leaves.split_first()?;
        let leaf = |node: &&crate::revtree::Node| Leaf {
            rev: node.rev.clone(),
            deleted: node.is_deleted(),
        };
        Some(Change {
            seq,
            id: id.to_owned(),
            rev: winner.rev.clone(),
            stored: winner.stored.clone()?,
            others: others.iter().map(leaf).collect(),
        })
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let attached = u8::from(self.stored.attachments.is_some()) * ATTACHED;
        out.push((u8::from(self.stored.deleted) * DELETED) | attached);
        fields::put_counted(self.id.as_bytes(), out);
        put_rev(&self.rev, out);
        encode_stored(&self.stored, out);
        fields::put(self.others.len() as u64, out);
        for leaf in &self.others {
            out.push(u8::from(leaf.deleted));
            put_rev(&leaf.rev, out);
        }
    }

    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Change, Malformed> {
        let seq = u64::from_be_bytes(key.try_into().map_err(|_| Malformed)?);
        let mut reader = Reader::new(value);
        let flags = reader.byte()?;
        if flags & !(DELETED | ATTACHED) != 0 {
            return Err(Malformed);
        }
        let id = reader.text()?.to_owned();
        let rev = read_rev(&mut reader)?;
        let stored = Stored {
            deleted: flags & DELETED != 0,
            body: chunk(&mut reader)?,
            seq: reader.number()?,
            active: reader.number()?,
            external: reader.number()?,
            attachments: match flags & ATTACHED {
                0 => None,
                _ => Some(chunk(&mut reader)?),
            },
        };
        let mut others = Vec::new();
        for _ in 0..reader.number()? {
            others.push(Leaf {
                deleted: reader.byte()? != 0,
                rev: read_rev(&mut reader)?,
            });
        }
        if !reader.is_empty() {
            return Err(Malformed);
        }
        Ok(Change {
            seq,
            id,
            rev,
            stored,
            others,
        })
    }
}
