//! Obsolescence markers: which changesets were rewritten or dropped, from `store/obsstore`.
//!
//! ```text
//! byte 0         then, repeated:
//!      +---------+  +--------+---------+-------+-------+------+------+------+-----------+-----+
//!      | version |  | marker | date    | zone  | flags | succ | par  | meta | old node  | …   |
//!      | 1       |  | len u32| 8 bytes | 2 B   | u16   | u8   | u8   | u8   | 20 B      |     |
//!      +---------+  +--------+---------+-------+-------+------+------+------+-----------+-----+
//! ```
//! The length counts the whole marker. With flag bit 2 nodes have 32 bytes; such markers speak of
//! no changeset that this program can store and are passed over.

use crate::RepoError;
use std::path::Path;
use varve_base::Storage;
use varve_base::storage::read_if_there;
use varve_revlog::Node;

mod at {
    pub const LEN: usize = 0;
    pub const DATE: usize = LEN + 4;
    pub const ZONE: usize = DATE + 8;
    pub const FLAGS: usize = ZONE + 2;
    pub const SUCCESSORS: usize = FLAGS + 2;
    pub const PARENTS: usize = SUCCESSORS + 1;
    pub const METADATA: usize = PARENTS + 1;
    pub const OLD_NODE: usize = METADATA + 1;
    pub const END: usize = OLD_NODE + 20;
}

const _: () = assert!(at::OLD_NODE == 19);

const VERSION: u8 = 1;
const LONG_NODES: u16 = 2;

/// Nodes that have become obsolete, in no order, perhaps several times.
pub(crate) fn read(storage: &dyn Storage, store: &Path) -> Result<Vec<Node>, RepoError> {
    let path = store.join("obsstore");
    let bytes = read_if_there(storage, &path)?.unwrap_or_default();
    parse(&bytes).map_err(|(line, reason)| RepoError::DamagedLine { path, line, reason })
}

/// The error is the number of the marker, from 1, and what is wrong.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Node>, (usize, &'static str)> {
    let mut nodes = Vec::new();
    let mut rest = match bytes.split_first() {
        None => return Ok(nodes),
        Some((&VERSION, rest)) => rest,
        Some(_) => return Err((1, "markers are of an unknown version")),
    };
    let mut count = 0;
    while !rest.is_empty() {
        count += 1;
        let cut = (count, "the marker is cut");
        let head = rest.first_chunk::<{ at::END }>().ok_or(cut)?;
        let len = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if len < at::END {
            return Err((count, "the marker claims to be shorter than one can be"));
        }
        let flags = u16::from_be_bytes([head[at::FLAGS], head[at::FLAGS + 1]]);
        if flags & LONG_NODES == 0 {
            let mut node = Node::NULL;
            node.0.copy_from_slice(&head[at::OLD_NODE..]);
            nodes.push(node);
        }
        rest = rest.get(len..).ok_or(cut)?;
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_read_and_cuts_are_noticed() {
        let mut bytes = vec![VERSION];
        for (number, more) in [(7_u8, 0_usize), (9, 20)] {
            let mut marker = vec![0; at::END + more];
            marker[..4].copy_from_slice(&((at::END + more) as u32).to_be_bytes());
            marker[at::OLD_NODE..at::END].fill(number);
            bytes.extend(marker);
        }
        assert_eq!(parse(&bytes).unwrap(), [Node([7; 20]), Node([9; 20])]);
        for len in 2..bytes.len() {
            assert_eq!(parse(&bytes[..len]).is_ok(), len == 1 + at::END, "{len}");
        }
        assert!(parse(&[]).unwrap().is_empty());
        assert!(parse(&[0, 1]).is_err());
    }
}
