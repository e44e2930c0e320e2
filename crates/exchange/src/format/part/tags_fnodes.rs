//! `hgtagsfnodes`: which revision of `.hgtags` changesets have. It fills a cache, nothing depends on it.
//!
//! ```text
//! +--------------+--------------------+----
//! | changeset 20 | .hgtags filenode 20 | …
//! +--------------+--------------------+----
//! ```

use varve_repo::Node;

pub(crate) fn encode(pairs: &[[Node; 2]]) -> Vec<u8> {
    pairs.iter().flatten().flat_map(|node| node.0).collect()
}

/// The changesets. Their `.hgtags` are read from the history itself, since the sender may be wrong; a cut record
/// at the end is passed over.
pub(crate) fn decode(bytes: &[u8]) -> Vec<Node> {
    let (records, _) = bytes.as_chunks::<{ 2 * Node::LEN }>();
    let changesets = records.iter().filter_map(|record| record.first_chunk());
    changesets.map(|node| Node(*node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changesets_come_back_and_a_cut_record_does_not() {
        let pairs = [
            [Node([1; 20]), Node([2; 20])],
            [Node([3; 20]), Node([4; 20])],
        ];
        let bytes = encode(&pairs);
        assert_eq!(bytes, [[1; 20], [2; 20], [3; 20], [4; 20]].concat());
        assert_eq!(decode(&bytes), [Node([1; 20]), Node([3; 20])]);
        assert_eq!(decode(&bytes[..79]), [Node([1; 20])]);
        assert!(decode(&bytes[..39]).is_empty());
    }
}
