//! Differences of two texts as hunks of lines.

use std::ops::Range;
use varve_delta::same_lines;
use varve_json::{Object, Value};

/// Lines around a change that are the same.
const CONTEXT: usize = 3;

/// Neighbouring changes with the lines around them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// Lines of the old text, from 0.
    pub(crate) old: Range<usize>,
    /// Lines of the new text, from 0.
    pub(crate) new: Range<usize>,
    /// Each with ` `, `-` or `+` in front, and without its newline.
    pub(crate) lines: Vec<Vec<u8>>,
}

impl Hunk {
    /// `{"old": …, "old_lines": …, "new": …, "new_lines": …, "lines": […]}`; lines are counted from 1.
    pub(crate) fn to_object(&self) -> Object {
        let texts = self.lines.iter();
        let lines = texts.map(|line| Value::from(crate::text::text(line)));
        let mut object = Object::new();
        object.insert("old", self.old.start as u64 + 1);
        object.insert("old_lines", self.old.len() as u64);
        object.insert("new", self.new.start as u64 + 1);
        object.insert("new_lines", self.new.len() as u64);
        object.insert("lines", lines.collect::<Value>());
        object
    }
}

/// The hunks that lead from one text to another.
pub(crate) fn hunks(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let changes = changes(old, new, (old_lines.len(), new_lines.len()));
    let mut hunks: Vec<Hunk> = Vec::new();
    for (at, (removed, added)) in changes.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| changes.get(at));
        let shared = removed.start - before.map_or(0, |(removed, _)| removed.end);
        let is_near = before.is_some() && shared <= 2 * CONTEXT;
        if !is_near {
            let context = shared.min(CONTEXT);
            let (old, new) = (removed.start - context, added.start - context);
            hunks.push(Hunk {
                old: old..old,
                new: new..new,
                lines: Vec::new(),
            });
        }
        let Some(hunk) = hunks.last_mut() else {
            continue;
        };
        keep(hunk, &old_lines, removed.start);
        for line in &old_lines[removed.clone()] {
            hunk.lines.push([b"-", *line].concat());
        }
        for line in &new_lines[added.clone()] {
            hunk.lines.push([b"+", *line].concat());
        }
        (hunk.old.end, hunk.new.end) = (removed.end, added.end);
        let next = changes
            .get(at + 1)
            .map_or(old_lines.len(), |(next, _)| next.start);
        let follows = next - removed.end;
        if follows > 2 * CONTEXT || at + 1 == changes.len() {
            keep(hunk, &old_lines, removed.end + follows.min(CONTEXT));
        }
    }
    hunks
}

/// Appends lines that are the same, up to line `end` of the old text.
fn keep(hunk: &mut Hunk, old_lines: &[&[u8]], end: usize) {
    let kept = hunk.old.end..end;
    hunk.new.end += kept.len();
    hunk.old.end = end;
    for line in &old_lines[kept] {
        hunk.lines.push([b" ", *line].concat());
    }
}

/// Runs of lines of both texts that differ, in order.
fn changes(
    old: &[u8],
    new: &[u8],
    (old_end, new_end): (usize, usize),
) -> Vec<(Range<usize>, Range<usize>)> {
    let (mut at, mut found) = ((0, 0), Vec::new());
    let blocks = same_lines(old, new);
    let blocks = blocks.iter().map(|block| (block.a, block.b, block.len));
    for (a, b, len) in blocks.chain([(old_end, new_end, 0)]) {
        if (a, b) != at {
            found.push((at.0..a, at.1..b));
        }
        at = (a + len, b + len);
    }
    found
}

/// Lines without their newlines; what stands behind the last newline is a line, too.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn near_changes_are_one_hunk() {
        let old = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let shown = |new: &[u8]| {
            let hunks = hunks(old, new);
            let shown = hunks.iter().map(|hunk| {
                let lines = hunk.lines.concat();
                format!(
                    "{}+{} {}",
                    hunk.old.start,
                    hunk.old.len(),
                    String::from_utf8_lossy(&lines)
                )
            });
            shown.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            shown(b"1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
            "1+7  2 3 4-5+x 6 7 8"
        );
        assert_eq!(shown(b"x\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), "0+3 +x 1 2 3");
        assert_eq!(
            shown(b"2\n3\n4\n5\n6\n7\n8\n"),
            "0+4 -1 2 3 4; 5+4  6 7 8-9"
        );
        assert_eq!(shown(b"2\n3\n4\n5\n6\n7\n9\n"), "0+9 -1 2 3 4 5 6 7-8 9");
        assert_eq!(shown(old), "");
    }

    fn patched(old: &[u8], hunks: &[Hunk]) -> Vec<Vec<u8>> {
        let (old, mut at, mut out) = (lines(old), 0, Vec::new());
        for hunk in hunks {
            out.extend(old[at..hunk.old.start].iter().map(|line| line.to_vec()));
            assert_eq!(out.len(), hunk.new.start);
            at = hunk.old.start;
            for line in &hunk.lines {
                match line[0] {
                    b'+' => out.push(line[1..].to_vec()),
                    sign => {
                        assert_eq!(old[at], &line[1..]);
                        at += 1;
                        out.extend((sign == b' ').then(|| line[1..].to_vec()));
                    }
                }
            }
            assert_eq!((at, out.len()), (hunk.old.end, hunk.new.end));
        }
        out.extend(old[at..].iter().map(|line| line.to_vec()));
        out
    }

    proptest! {
        #[test]
        fn hunks_lead_to_the_new_text(
            old in proptest::collection::vec(0_u8..4, 0..40),
            new in proptest::collection::vec(0_u8..4, 0..40),
        ) {
            let text = |lines: &[u8]| lines.iter().flat_map(|line| [b'a' + line, b'\n']).collect::<Vec<u8>>();
            let (old, new) = (text(&old), text(&new));
            let hunks = hunks(&old, &new);
            let wanted: Vec<Vec<u8>> = lines(&new).iter().map(|line| line.to_vec()).collect();
            prop_assert_eq!(patched(&old, &hunks), wanted);
        }
    }
}
