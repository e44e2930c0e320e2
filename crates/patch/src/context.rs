//! Hunks in the context form of `diff -c`, which become unified ones.
//!
//! ```text
//! ***************
//! *** 1,3 ****        old lines, none of them if only lines come
//!   a
//! ! b                 changed, "- " for one that goes
//!   c
//! --- 1,3 ----        new lines, none of them if only lines go
//!   a
//! ! bb                changed, "+ " for one that comes
//!   c
//! ```

use crate::error::PatchError;
use crate::hunk::{HunkSide, TextHunk};
use crate::lines::{Lines, number};
use std::borrow::Cow;

/// The line before each hunk.
pub(crate) const SEPARATOR: &[u8] = b"***************";

/// Reads a hunk behind its [`SEPARATOR`].
pub(crate) fn read<'a>(number: usize, lines: &mut Lines<'a>) -> Result<TextHunk<'a>, PatchError> {
    let bad = PatchError::BadHunk { number };
    let mut old = lines.next().and_then(range).ok_or(bad.clone())?;
    let old_marked = old_lines(number, old.len, lines)?;
    let mut new = lines.next().and_then(range).ok_or(bad)?;
    let new_marked = new_lines(number, new.len, lines)?;
    let marked = match new_marked.is_empty() {
        true => old_marked,
        false => interleave(old_marked, new_marked),
    };
    let side = |left_out: u8| {
        let lines = marked.iter().filter(|line| line[0] != left_out);
        lines.map(|line| Cow::Owned(line[1..].to_vec())).collect()
    };
    (old.lines, new.lines) = (side(b'+'), side(b'-'));
    let heading = format!(
        "@@ -{},{} +{},{} @@\n",
        old.start, old.len, new.start, new.len
    );
    Ok(TextHunk {
        number,
        heading: Cow::Owned(heading.into_bytes()),
        old,
        new,
        marked: marked.into_iter().map(Cow::Owned).collect(),
    })
}

/// `*** 1,3 ****` or `--- 1,3 ----`: the numbers of the first and last lines.
fn range<'a>(line: &[u8]) -> Option<HunkSide<'a>> {
    let is_rule = |text: &[u8]| text.starts_with(b"---") || text.starts_with(b"***");
    let rest = line.get(4..).filter(|_| is_rule(line) && line[3] == b' ')?;
    let (digits, start) = number(rest)?;
    let (mut rest, mut end) = (&rest[digits..], start);
    if let Some(behind) = rest.strip_prefix(b",") {
        let (digits, last) = number(behind)?;
        (rest, end) = (&behind[digits..], last);
    }
    let len = end.saturating_sub(start) + usize::from(start > 0);
    let lines = Vec::new();
    let is_whole = rest.first() == Some(&b' ') && is_rule(&rest[1..]);
    is_whole.then_some(HunkSide { start, len, lines })
}

/// A line with a sign of the unified form; `changed` is what the line begins with that this side alone has.
fn marked(line: &[u8], changed: u8, sign: u8) -> Option<Vec<u8>> {
    let [first, b' ', rest @ ..] = line else {
        return None;
    };
    let sign = match *first {
        b' ' => b' ',
        b'!' => sign,
        other if other == changed => sign,
        _ => return None,
    };
    Some([&[sign], rest].concat())
}

fn old_lines(number: usize, len: usize, lines: &mut Lines<'_>) -> Result<Vec<Vec<u8>>, PatchError> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    for at in 0..len {
        let line = lines.peek().unwrap_or_default();
        // Only lines come: the old ones are left out.
        if line.starts_with(b"---") {
            break;
        }
        let read = marked(line, b'-', b'-');
        out.push(read.ok_or(PatchError::BadContextLine { number, line: at })?);
        lines.next();
    }
    drop_newline_if_marked(&mut out, lines);
    Ok(out)
}

fn new_lines(number: usize, len: usize, lines: &mut Lines<'_>) -> Result<Vec<Vec<u8>>, PatchError> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    for at in 0..len {
        let Some(line) = lines.peek() else {
            break;
        };
        match marked(line, b'+', b'+') {
            Some(line) => out.push(line),
            // Only lines go: the new ones are left out.
            None if out.is_empty() => break,
            None => return Err(PatchError::BadContextLine { number, line: at }),
        }
        lines.next();
    }
    drop_newline_if_marked(&mut out, lines);
    Ok(out)
}

fn drop_newline_if_marked(out: &mut [Vec<u8>], lines: &mut Lines<'_>) {
    if !lines.peek().is_some_and(|line| line.starts_with(b"\\ ")) {
        return;
    }
    lines.next();
    if let Some(last) = out.last_mut().filter(|last| last.ends_with(b"\n")) {
        last.pop();
    }
}

/// Both sides in one list: lines that go stand before those that come in their place.
fn interleave(old: Vec<Vec<u8>>, new: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut old = old.into_iter().peekable();
    for line in new {
        while let Some(gone) = old.next_if(|before| *before != line && before[0] == b'-') {
            out.push(gone);
        }
        old.next_if(|before| *before == line);
        out.push(line);
    }
    out.extend(old);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unified(text: &str) -> Result<String, PatchError> {
        let hunk = read(1, &mut Lines::new(text.as_bytes()))?;
        hunk.check()?;
        let mut out = Vec::new();
        hunk.push_rejected(&mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn context_hunks_become_unified_ones() {
        let text = "*** 1,3 ****\n  x\n! y\n  z\n--- 1,4 ----\n  x\n! yy\n+ more\n  z\n";
        let expected = "@@ -1,3 +1,4 @@\n x\n-y\n+yy\n+more\n z\n";
        assert_eq!(unified(text).unwrap(), expected);
        let added = "*** 1,2 ****\n--- 1,3 ----\n  x\n+ y\n  z\n";
        assert_eq!(unified(added).unwrap(), "@@ -1,2 +1,3 @@\n x\n+y\n z\n");
        let removed = "*** 1,3 ****\n  x\n- y\n  z\n--- 1,2 ----\n";
        assert_eq!(unified(removed).unwrap(), "@@ -1,3 +1,2 @@\n x\n-y\n z\n");
        let unended = "*** 1 ****\n! a\n\\ No newline\n--- 1 ----\n! b\n";
        assert_eq!(
            unified(unended).unwrap(),
            "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n"
        );
    }

    #[test]
    fn faults_are_named() {
        let bad = |text: &str| unified(text).unwrap_err().to_string();
        assert_eq!(bad("*** zz ****\n"), "bad hunk #1");
        assert_eq!(bad("*** 1,2 ****\n  x\n  y\n--- a ----\n"), "bad hunk #1");
        assert_eq!(
            bad("*** 1,2 ****\n  x\n? y\n--- 1,2 ----\n"),
            "bad hunk #1 old text line 1"
        );
    }
}
