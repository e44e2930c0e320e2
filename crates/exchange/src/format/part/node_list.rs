//! `check:heads` and `check:updated-heads`: changesets, 20 bytes each.

use super::{PartType, damaged};
use crate::ExchangeError;
use varve_repo::Node;

pub(crate) fn encode(nodes: &[Node]) -> Vec<u8> {
    nodes.iter().flat_map(|node| node.0).collect()
}

/// # Errors
/// [`ExchangeError::DamagedBundle`] for a cut node; `part_type` is named in it.
pub(crate) fn decode(bytes: &[u8], part_type: PartType) -> Result<Vec<Node>, ExchangeError> {
    match bytes.as_chunks::<{ Node::LEN }>() {
        (nodes, []) => Ok(nodes.iter().map(|node| Node(*node)).collect()),
        _ => Err(damaged(part_type)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_one_after_the_other() {
        let nodes = [Node([1; 20]), Node([2; 20])];
        let bytes = [[1; 20], [2; 20]].concat();
        assert_eq!(encode(&nodes), bytes);
        for len in 0..=bytes.len() {
            let decoded = decode(&bytes[..len], PartType::CheckHeads);
            match len % 20 {
                0 => assert_eq!(decoded.unwrap(), nodes[..len / 20]),
                _ => {
                    let words =
                        "the bundle is damaged: the part check:heads is cut or makes no sense";
                    assert_eq!(decoded.unwrap_err().to_string(), words);
                }
            }
        }
    }
}
