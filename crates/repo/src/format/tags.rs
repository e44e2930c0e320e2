//! Lines of `.hgtags` and `.hg/localtags`: `<node in hex> <name>`.
//!
//! A later line for a name replaces an earlier one; the null node removes the tag.

use std::collections::BTreeMap;
use varve_revlog::Node;

/// Path of the tracked file.
pub const TAGS_FILE: &[u8] = b".hgtags";

/// All nodes that a name had, oldest first; the last one counts.
pub(crate) type TagHistory = BTreeMap<Vec<u8>, Vec<Node>>;

/// Lines that are not tags are passed over: users edit the file.
pub(crate) fn parse(text: &[u8]) -> TagHistory {
    let mut tags = TagHistory::new();
    for (node, name) in tag_lines(text) {
        tags.entry(name.to_vec()).or_default().push(node);
    }
    tags
}

/// The nodes and names of the lines that are tags.
pub fn tag_lines(text: &[u8]) -> impl Iterator<Item = (Node, &[u8])> {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let node = line.get(..2 * Node::LEN).and_then(Node::from_hex)?;
        Some((node, name_of(line)?.trim_ascii()))
    })
}

fn name_of(line: &[u8]) -> Option<&[u8]> {
    line.get(2 * Node::LEN..)?.strip_prefix(b" ")
}

/// The text with a line that gives each of `names` to `node`. A name with earlier lines, or one of the tags `known`
/// of the repository, first gets a line with its present node, so that a merge of two histories of the name finds
/// the point where they part.
pub fn with_tags(
    mut text: Vec<u8>,
    names: &[Vec<u8>],
    node: &Node,
    known: &BTreeMap<Vec<u8>, Node>,
) -> Vec<u8> {
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for name in names {
        let line = |node: &Node| [&node.to_hex()[..], b" ", name, b"\n"].concat();
        let mut lines = text.split(|byte| *byte == b'\n');
        if known.contains_key(name) || lines.any(|line| name_of(line) == Some(name)) {
            let present = known.get(name).copied().unwrap_or(Node::NULL);
            text.extend_from_slice(&line(&present));
        }
        text.extend_from_slice(&line(node));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Node = Node([0x11; 20]);
    const TWO: Node = Node([0x22; 20]);

    fn names(of: &[&str]) -> Vec<Vec<u8>> {
        of.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    fn line(node: Node, name: &str) -> String {
        format!("{node} {name}\n")
    }

    fn added(text: &str, of: &[&str], node: Node, known: &[(&str, Node)]) -> String {
        let known = known
            .iter()
            .map(|(name, node)| (name.as_bytes().to_vec(), *node));
        let text = with_tags(text.into(), &names(of), &node, &known.collect());
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn new_names_get_one_line_each() {
        let expected = line(ONE, "a") + &line(ONE, "b c");
        assert_eq!(added("", &["a", "b c"], ONE, &[]), expected);
    }

    #[test]
    fn a_missing_line_end_is_added_before_the_new_line() {
        let old = line(ONE, "a");
        let expected = format!("{old}{}", line(TWO, "b"));
        assert_eq!(added(old.trim_end(), &["b"], TWO, &[]), expected);
    }

    #[test]
    fn a_moved_tag_first_repeats_its_present_node() {
        let old = line(ONE, "a");
        let expected = format!("{old}{}{}", line(ONE, "a"), line(TWO, "a"));
        assert_eq!(added(&old, &["a"], TWO, &[("a", ONE)]), expected);
        // The tag comes from another head, whose lines are not in this text.
        let expected = line(ONE, "a") + &line(Node::NULL, "a");
        assert_eq!(added("", &["a"], Node::NULL, &[("a", ONE)]), expected);
    }

    #[test]
    fn a_tag_that_was_removed_repeats_the_null_node() {
        let old = line(ONE, "a") + &line(Node::NULL, "a");
        let expected = format!("{old}{}{}", line(Node::NULL, "a"), line(TWO, "a"));
        assert_eq!(added(&old, &["a"], TWO, &[]), expected);
    }

    #[test]
    fn added_tags_are_the_last_of_their_names() {
        let text = with_tags(
            b"no tag\n".to_vec(),
            &names(&["a", "b"]),
            &ONE,
            &BTreeMap::new(),
        );
        let text = with_tags(
            text,
            &names(&["b"]),
            &TWO,
            &BTreeMap::from([(b"b".to_vec(), ONE)]),
        );
        let parsed = parse(&text);
        assert_eq!(parsed[&b"a"[..]], [ONE]);
        assert_eq!(parsed[&b"b"[..]], [ONE, ONE, TWO]);
        assert_eq!(parsed.len(), 2);
    }
}
