//! The small files of the store without the removed names, and the name of the backup bundle.

use crate::format::store_path::encode_directories;
use sha1::{Digest, Sha1};
use std::collections::BTreeSet;
use varve_revlog::Node;

/// Mercurial's name for a bundle of changesets: the `first` one that a strip was asked for, a digest of
/// the changesets in it, in the order of their hashes, and the purpose.
pub fn bundle_name(first: &Node, nodes: &[Node], purpose: &str) -> String {
    let mut nodes: Vec<String> = nodes.iter().map(Node::to_string).collect();
    nodes.sort_unstable();
    let [a, b, c, d, ..] = <[u8; 20]>::from(Sha1::digest(nodes.concat()));
    let digest = u32::from_be_bytes([a, b, c, d]);
    let first = &first.to_string()[..12];
    format!("{first}-{digest:08x}-{purpose}.hg")
}

/// The list of the store's files without some names and with others.
pub(super) fn changed(list: &[u8], removed: &[&Vec<u8>], added: &[&Vec<u8>]) -> Vec<u8> {
    let encoded = |names: &[&Vec<u8>]| -> BTreeSet<Vec<u8>> {
        let names = names
            .iter()
            .map(|name| encode_directories(name).into_owned());
        names.collect()
    };
    let (removed, mut added) = (encoded(removed), encoded(added));
    let mut out = Vec::with_capacity(list.len());
    for line in list.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()) {
        if !removed.contains(line) {
            added.remove(line);
            out.extend_from_slice(line);
            out.push(b'\n');
        }
    }
    for name in added {
        out.extend_from_slice(&name);
        out.push(b'\n');
    }
    out
}

/// The file of phases without the changesets that are gone.
pub(super) fn phases_without(roots: &[u8], is_gone: impl Fn(&Node) -> bool) -> Vec<u8> {
    let lines = roots.split_inclusive(|byte| *byte == b'\n');
    let stays = lines.filter(|line| {
        let digits = line.trim_ascii_end().rsplit(|byte| *byte == b' ').next();
        let node = digits.and_then(Node::from_hex);
        !node.is_some_and(|node| is_gone(&node))
    });
    stays.flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_and_come_each_once() {
        let list = b"data/a.i\ndata/b.i\ndata/c.d.hg/x.i\n";
        let out = changed(
            list,
            &[&b"data/a.i".to_vec(), &b"data/c.d/x.i".to_vec()],
            &[&b"data/b.i".to_vec(), &b"data/b.d".to_vec()],
        );
        assert_eq!(out, b"data/b.i\ndata/b.d\n");
    }

    /// As `hg` 7.2.4 called it.
    #[test]
    fn bundles_are_named_by_what_is_in_them() {
        let node = |hex: &str| Node::from_hex(hex.as_bytes()).unwrap();
        let old = node("80ed8bbe3c27b5abf7cee0983b8bd91de7b3cd4c");
        let new = node("6c13e15cfc5fa30851480054bed4e963b80a075a");
        let names = [
            ("amend", old, "80ed8bbe3c27-f411337e-amend.hg"),
            ("temp", new, "80ed8bbe3c27-ad602464-temp.hg"),
        ];
        for (purpose, inside, name) in names {
            assert_eq!(bundle_name(&old, &[inside], purpose), name);
        }
    }

    #[test]
    fn phases_of_what_stays_are_left_as_they_are() {
        let (one, two) = (Node([1; 20]), Node([2; 20]));
        let roots = format!("1 {one}\n96 {two}\n");
        let left = phases_without(roots.as_bytes(), |node| *node == one);
        assert_eq!(left, format!("96 {two}\n").as_bytes());
    }
}
