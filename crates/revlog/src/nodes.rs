//! From node to revision, also by prefix.

use crate::index::Index;
use crate::{Node, Rev, ids};

/// Revisions sorted by node. The first eight bytes stand beside the number, so that a search
/// rarely looks into the index.
#[derive(Debug)]
pub(crate) struct NodeTable(Vec<(u64, u32)>);

/// Result of looking up a prefix of a node in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixMatch {
    /// No revision, or not hexadecimal.
    None,
    /// Exactly one.
    One(Rev),
    /// Several.
    Ambiguous,
}

fn key(node: &Node) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = node.0;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl NodeTable {
    pub fn new(index: &Index) -> NodeTable {
        let revs = 0..index.len() as u32;
        let mut table: Vec<_> = revs.map(|rev| (key(&index.node(Rev(rev))), rev)).collect();
        table.sort_unstable();
        NodeTable(table)
    }

    pub fn rev(&self, index: &Index, node: &Node) -> Option<Rev> {
        let wanted = key(node);
        let from = self.0.partition_point(|(key, _)| *key < wanted);
        self.0[from..]
            .iter()
            .take_while(|(key, _)| *key == wanted)
            .map(|(_, rev)| Rev(*rev))
            .find(|rev| index.node(*rev) == *node)
    }

    pub fn prefix(&self, index: &Index, hex: &[u8]) -> PrefixMatch {
        let Some(lowest) = lowest_with_prefix(hex) else {
            return PrefixMatch::None;
        };
        let wanted = key(&lowest);
        let from = self.0.partition_point(|(key, _)| *key < wanted);
        // Within equal keys the order is that of revisions, hence the filter instead of a stop.
        let last = wanted | u64::MAX.checked_shr(4 * hex.len() as u32).unwrap_or(0);
        let mut matches = self.0[from..]
            .iter()
            .take_while(|(key, _)| *key <= last)
            .map(|(_, rev)| Rev(*rev))
            .filter(|rev| has_prefix(&index.node(*rev), hex));
        match (matches.next(), matches.next()) {
            (None, _) => PrefixMatch::None,
            (Some(rev), None) => PrefixMatch::One(rev),
            (Some(_), Some(_)) => PrefixMatch::Ambiguous,
        }
    }
}

/// The prefix with zeros behind it.
fn lowest_with_prefix(hex: &[u8]) -> Option<Node> {
    let mut padded = [b'0'; 2 * Node::LEN];
    padded.get_mut(..hex.len())?.copy_from_slice(hex);
    Node::from_hex(&padded)
}

fn has_prefix(node: &Node, hex: &[u8]) -> bool {
    hex.iter().enumerate().all(|(i, byte)| {
        let half = if i % 2 == 0 { 4 } else { 0 };
        ids::digit(*byte) == Some(node.0[i / 2] >> half & 15)
    })
}
