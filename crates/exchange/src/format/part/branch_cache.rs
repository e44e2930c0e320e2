//! `cache:rev-branch-cache`: the branches of changesets. Readers here pass it over.
//!
//! ```text
//! +-----------------+----------------+------------------+------+-------------------------+----
//! | u32 length of   | u32 changesets | u32 changesets   | name | nodes of the open ones, | …
//! | the branch name | that stay open | that close it    |      | then of the others      |
//! +-----------------+----------------+------------------+------+-------------------------+----
//! ```
//! Branches and nodes are sorted.

use std::collections::BTreeMap;
use varve_repo::Node;

/// By branch, the changesets that leave it open and those that close it.
pub(crate) type Branches = BTreeMap<Vec<u8>, [Vec<Node>; 2]>;

pub(crate) fn encode(branches: Branches) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, mut nodes) in branches {
        for len in [name.len(), nodes[0].len(), nodes[1].len()] {
            bytes.extend_from_slice(&(len as u32).to_be_bytes());
        }
        bytes.extend_from_slice(&name);
        for nodes in &mut nodes {
            nodes.sort_unstable();
        }
        for node in nodes.iter().flatten() {
            bytes.extend_from_slice(&node.0);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of Mercurial's `rbcstruct`: `>III`, name, open nodes, closing nodes.
    #[test]
    fn golden_records() {
        let open = vec![Node([2; 20]), Node([1; 20])];
        let branches = Branches::from([
            (b"stable".to_vec(), [Vec::new(), vec![Node([9; 20])]]),
            (b"default".to_vec(), [open, Vec::new()]),
        ]);
        let mut expected = b"\0\0\0\x07\0\0\0\x02\0\0\0\0default".to_vec();
        expected.extend([[1; 20], [2; 20]].concat());
        expected.extend(b"\0\0\0\x06\0\0\0\0\0\0\0\x01stable");
        expected.extend([9; 20]);
        assert_eq!(encode(branches), expected);
        assert!(encode(Branches::new()).is_empty());
    }
}
