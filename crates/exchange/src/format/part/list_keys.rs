//! `listkeys`, and the answer to the command of that name: the keys of a namespace.
//!
//! ```text
//! key \t value \n key \t value …       without a line end behind the last one
//! ```
//! The parameter `namespace` of the part is mandatory.

use super::{Part, PartHeader, PartType};
use std::collections::BTreeMap;
use varve_repo::Node;

/// Keys with their values.
pub(crate) type Keys = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn part(namespace: &[u8], keys: &Keys) -> Part<Vec<u8>> {
    let namespace = String::from_utf8_lossy(namespace).into_owned();
    Part {
        header: PartHeader::mandatory(PartType::ListKeys).with("namespace", namespace),
        payload: encode(keys),
    }
}

pub(crate) fn encode(keys: &Keys) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in keys {
        if !bytes.is_empty() {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(key);
        bytes.push(b'\t');
        bytes.extend_from_slice(value);
    }
    bytes
}

/// Lines without a tab are passed over.
pub(crate) fn decode(bytes: &[u8]) -> Keys {
    let lines = bytes.split(|byte| *byte == b'\n');
    let pairs = lines.filter_map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        Some((line[..tab].to_vec(), line[tab + 1..].to_vec()))
    });
    pairs.collect()
}

/// The keys of the namespace `bookmarks`. Values that are not 40 hex digits are passed over, and so is the
/// empty name, whose line in `.hg/bookmarks` nothing could read.
pub(crate) fn bookmarks(keys: Keys) -> BTreeMap<Vec<u8>, Node> {
    let nodes = keys.into_iter().filter(|(name, _)| !name.is_empty());
    let nodes = nodes.filter_map(|(name, hex)| Some((name, Node::from_hex(&hex)?)));
    nodes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_lines() {
        let keys = Keys::from([
            (b"b".to_vec(), b"2".to_vec()),
            (b"a".to_vec(), b"1\t".to_vec()),
        ]);
        assert_eq!(encode(&keys), b"a\t1\t\nb\t2");
        assert_eq!(decode(b"a\t1\t\nb\t2"), keys);
        assert_eq!(decode(b"a\t1\t\nno tab\nb\t2\n"), keys);
        let header = part(b"phases", &keys).header;
        assert_eq!(header.name, b"LISTKEYS");
        assert_eq!(header.value("namespace"), Some(&b"phases"[..]));
    }

    #[test]
    fn bookmarks_need_a_name_and_a_node() {
        let hex = "07".repeat(20);
        let text = format!("main\t{hex}\n\t{hex}\nshort\t07\nupper\t{}", "G".repeat(40));
        let found = bookmarks(decode(text.as_bytes()));
        assert_eq!(found, BTreeMap::from([(b"main".to_vec(), Node([7; 20]))]));
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(
            keys in proptest::collection::btree_map("[^\t\n]{1,9}", "[^\n]{0,9}", 0..9),
        ) {
            let keys: Keys = keys
                .into_iter()
                .map(|(key, value)| (key.into_bytes(), value.into_bytes()))
                .collect();
            prop_assert_eq!(decode(&encode(&keys)), keys);
        }
    }
}
