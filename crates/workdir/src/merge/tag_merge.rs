//! Merging the tags of two versions of `.hgtags`.
//!
//! Each tag has a history of nodes, whose last one counts. A tag that a side has no lines of any more, although the base
//! has, counts as removed there. Histories of a tag are joined behind what they have in common: first the rest of the
//! shorter one, then that of the longer one. If they have the same length and end with different nodes, neither side is
//! newer: that is a conflict. Our lines keep their order; tags that only they have come first.

use std::collections::BTreeMap;
use varve_repo::{Node, tag_lines};

/// One line of a tag, and its number among our lines, if it is one of them.
type TagLine = (Node, Option<usize>);

/// Lines by tag, and the tags in the order of their first lines.
#[derive(Default)]
struct TagLines {
    lines: BTreeMap<Vec<u8>, Vec<TagLine>>,
    order: Vec<Vec<u8>>,
}

impl TagLines {
    fn read(text: &[u8], number: impl Fn(usize) -> Option<usize>) -> TagLines {
        let mut read = TagLines::default();
        for (index, (node, tag)) in tag_lines(text).enumerate() {
            if !read.lines.contains_key(tag) {
                read.order.push(tag.to_vec());
            }
            let lines = read.lines.entry(tag.to_vec()).or_default();
            lines.push((node, number(index)));
        }
        read
    }

    fn remove_missing(&mut self, base: &TagLines) {
        for (tag, lines) in &base.lines {
            let removed = || {
                let removal = (Node::NULL, None);
                lines.iter().copied().chain([removal]).collect()
            };
            self.lines.entry(tag.clone()).or_insert_with(removed);
        }
    }
}

/// The merged text of base, ours and theirs, or the tags in conflict, sorted.
pub(crate) fn merge_tags([base, ours, theirs]: [&[u8]; 3]) -> Result<Vec<u8>, Vec<Vec<u8>>> {
    let base = TagLines::read(base, |_| None);
    let mut ours = TagLines::read(ours, Some);
    let mut theirs = TagLines::read(theirs, |_| None);
    let is_ours = |tag: &&Vec<u8>| ours.lines.contains_key(*tag);
    let only_theirs = theirs.order.iter().filter(|tag| !is_ours(tag));
    let is_lost = |tag: &&Vec<u8>| !is_ours(tag) && !theirs.lines.contains_key(*tag);
    let lost = base.order.iter().filter(is_lost);
    let order = only_theirs.chain(lost).chain(&ours.order);
    let order: Vec<Vec<u8>> = order.cloned().collect();
    ours.remove_missing(&base);
    theirs.remove_missing(&base);
    let (mut groups, mut conflicts) = (Vec::new(), Vec::new());
    for tag in order {
        let none = Vec::new();
        let sides = [&ours, &theirs].map(|side| side.lines.get(&tag).unwrap_or(&none));
        match joined(sides) {
            Some(lines) => push_groups(&tag, &lines, &mut groups),
            None => conflicts.push(tag),
        }
    }
    if !conflicts.is_empty() {
        conflicts.sort_unstable();
        return Err(conflicts);
    }
    groups.sort_by_key(|(number, _)| *number);
    Ok(groups.into_iter().flat_map(|(_, text)| text).collect())
}

/// The joined history of a tag; `None` if neither side is newer.
fn joined([ours, theirs]: [&Vec<TagLine>; 2]) -> Option<Vec<TagLine>> {
    let newest = |lines: &[TagLine]| lines.last().map(|(node, _)| *node);
    if ours.len() == theirs.len() && newest(ours) != newest(theirs) {
        return None;
    }
    let (longer, shorter) = match ours.len() >= theirs.len() {
        true => (ours, theirs),
        false => (theirs, ours),
    };
    let pairs = longer.iter().zip(shorter);
    let common = pairs.take_while(|((a, _), (b, _))| a == b).count();
    let rests = shorter[common..].iter().chain(&longer[common..]);
    Some(ours[..common].iter().chain(rests).copied().collect())
}

/// Appends the lines of one tag. A line that is not ours stays with the one before.
fn push_groups(tag: &[u8], lines: &[TagLine], groups: &mut Vec<(Option<usize>, Vec<u8>)>) {
    let start = groups.len();
    for (node, number) in lines {
        let line = [&node.to_hex()[..], b" ", tag, b"\n"].concat();
        match groups[start..].last_mut() {
            Some((_, text)) if number.is_none() => text.extend(line),
            _ => groups.push((*number, line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines such as `1a`: node and tag.
    fn text(lines: &[&str]) -> Vec<u8> {
        let line = |line: &&str| {
            let digit = line.as_bytes()[0] - b'0';
            format!("{} {}\n", Node([digit; 20]), &line[1..])
        };
        lines.iter().map(line).collect::<String>().into_bytes()
    }

    fn merged(base: &[&str], ours: &[&str], theirs: &[&str]) -> Result<Vec<u8>, Vec<Vec<u8>>> {
        merge_tags([&text(base), &text(ours), &text(theirs)])
    }

    /// The results are those of Mercurial 7.2.4.
    #[test]
    fn tags_are_merged_as_mercurial_merges_them() {
        let (a, both): (&[&str], &[&str]) = (&["1a"], &["1a", "2b"]);
        type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str], &'a [&'a str]);
        let cases: &[Case<'_>] = &[
            (a, &["1a", "2b"], &["1a", "3c"], &["3c", "1a", "2b"]),
            (
                a,
                &["1a", "3c"],
                &["1a", "2b", "1a", "3a"],
                &["2b", "1a", "1a", "3a", "3c"],
            ),
            (
                both,
                &["2b"],
                &["1a", "2b", "1a", "3a"],
                &["1a", "0a", "1a", "3a", "2b"],
            ),
            (
                both,
                &["1a", "2b", "1a", "3a"],
                &["2b"],
                &["1a", "0a", "2b", "1a", "3a"],
            ),
            (both, &["2b"], &["1a"], &["1a", "0a", "2b", "0b"]),
            (a, &["2b"], &["3c"], &["3c", "1a", "0a", "2b"]),
            (
                &[],
                &["2b", "2b", "3b"],
                &["3b", "1c"],
                &["1c", "3b", "2b", "2b", "3b"],
            ),
            (
                a,
                &["1a", "1a", "2a"],
                &["1a", "1a", "3a", "3a", "2a"],
                &["1a", "1a", "2a", "3a", "3a", "2a"],
            ),
        ];
        for (base, ours, theirs, expected) in cases {
            let result = merged(base, ours, theirs);
            assert_eq!(result, Ok(text(expected)), "{base:?} {ours:?} {theirs:?}");
        }
    }

    #[test]
    fn histories_of_one_length_that_end_differently_conflict() {
        let result = merged(&["1a"], &["1a", "2z", "2b"], &["1a", "3b", "3z"]);
        assert_eq!(result, Err(vec![b"b".to_vec(), b"z".to_vec()]));
        let changed = merged(&["1a"], &["1a", "1a", "2a"], &["1a", "1a", "0a"]);
        assert_eq!(changed, Err(vec![b"a".to_vec()]));
    }

    #[test]
    fn other_lines_are_left_out() {
        let ours = [&b"# note\n\nzz x\n"[..], &text(&["1a"])].concat();
        let result = merge_tags([b"", &ours, b"binary\0\xff"]);
        assert_eq!(result, Ok(text(&["1a"])));
    }
}
