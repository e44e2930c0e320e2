//! One hunk of a text: the lines that go, the lines that come, and where.

use crate::error::{PatchError, shown};
use crate::lines::{Lines, number};
use std::borrow::Cow;

/// Line behind a line that has no end.
const NO_NEWLINE: &[u8] = b"\\ No newline at end of file\n";

/// The lines of one side with the number of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HunkSide<'a> {
    /// From 1 on; 0 for an empty side.
    pub(crate) start: usize,
    /// How many lines the hunk announces.
    pub(crate) len: usize,
    /// The lines with their ends.
    pub(crate) lines: Vec<Cow<'a, [u8]>>,
}

/// One hunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextHunk<'a> {
    /// Counted from 1 in each file.
    pub(crate) number: usize,
    /// The line `@@`.
    pub(crate) heading: Cow<'a, [u8]>,
    pub(crate) old: HunkSide<'a>,
    pub(crate) new: HunkSide<'a>,
    /// The lines of both with the signs before them, in the order of the patch.
    pub(crate) marked: Vec<Cow<'a, [u8]>>,
}

impl<'a> TextHunk<'a> {
    /// Reads a unified hunk, whose line `@@` is `heading`.
    pub(crate) fn read_unified(
        heading: &'a [u8],
        number: usize,
        lines: &mut Lines<'a>,
    ) -> Result<TextHunk<'a>, PatchError> {
        let bad = PatchError::BadHunk { number };
        let [old, new] = ranges(heading).ok_or(bad)?;
        let mut hunk = TextHunk {
            number,
            heading: Cow::Borrowed(heading),
            old,
            new,
            marked: Vec::new(),
        };
        while hunk.old.lines.len() < hunk.old.len || hunk.new.lines.len() < hunk.new.len {
            let line = lines.next();
            let line = line.ok_or(PatchError::IncompleteHunk { number })?;
            match line {
                _ if line == NO_NEWLINE => hunk.drop_newline(),
                // Mail programs cut off blanks at the ends of lines.
                b"\n" | b"\r\n" => hunk.push(Cow::Owned([b" ", line].concat())),
                _ => hunk.push(Cow::Borrowed(line)),
            }
        }
        if lines.peek().is_some_and(|line| line.starts_with(b"\\ ")) {
            lines.next();
            hunk.drop_newline();
        }
        Ok(hunk)
    }

    fn push(&mut self, line: Cow<'a, [u8]>) {
        let content = match &line {
            Cow::Borrowed(line) => Cow::Borrowed(&line[1..]),
            Cow::Owned(line) => Cow::Owned(line[1..].to_vec()),
        };
        match line[0] {
            b'+' => self.new.lines.push(content),
            b'-' => self.old.lines.push(content),
            _ => {
                self.new.lines.push(content.clone());
                self.old.lines.push(content);
            }
        }
        self.marked.push(line);
    }

    /// The last line has no end.
    fn drop_newline(&mut self) {
        let Some(last) = self.marked.last_mut() else {
            return;
        };
        let cut = match last.ends_with(b"\r\n") {
            true => 2,
            false => usize::from(last.ends_with(b"\n")),
        };
        if cut == 0 {
            return;
        }
        let sign = last[0];
        shorten(last, cut);
        let sides = [(sign != b'-', &mut self.new), (sign != b'+', &mut self.old)];
        for (_, side) in sides.into_iter().filter(|(has_line, _)| *has_line) {
            if let Some(line) = side.lines.last_mut() {
                shorten(line, cut);
            }
        }
    }

    /// Checks that there are as many lines as announced.
    pub(crate) fn check(&self) -> Result<(), PatchError> {
        let lengths = |side: &HunkSide<'_>| (side.lines.len(), side.len);
        let (old, new) = (lengths(&self.old), lengths(&self.new));
        match old.0 == old.1 && new.0 == new.1 {
            true => Ok(()),
            false => Err(PatchError::WrongLengths {
                number: self.number,
                line: shown(&self.heading),
                old,
                new,
            }),
        }
    }

    /// Lines of context that may be left out at the start and at the end, at most `fuzz` each.
    pub(crate) fn context(&self, fuzz: usize, only_start: bool) -> (usize, usize) {
        let fuzz = fuzz.min(self.old.lines.len());
        let is_context = |line: &&Cow<'_, [u8]>| line.starts_with(b" ");
        let start = self.marked.iter().take_while(is_context).count();
        let end = match only_start {
            true => 0,
            false => self.marked.iter().rev().take_while(is_context).count(),
        };
        (start.min(fuzz), end.min(fuzz))
    }

    /// The hunk as it stands in a file of rejects.
    pub(crate) fn push_rejected(&self, out: &mut Vec<u8>) {
        for line in std::iter::once(&self.heading).chain(&self.marked) {
            out.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                out.push(b'\n');
                out.extend_from_slice(NO_NEWLINE);
            }
        }
    }
}

fn shorten(line: &mut Cow<'_, [u8]>, cut: usize) {
    let len = line.len().saturating_sub(cut);
    match line {
        Cow::Borrowed(bytes) => *bytes = &bytes[..len],
        Cow::Owned(bytes) => bytes.truncate(len),
    }
}

/// Both ranges of `@@ -1,2 +3,4 @@`; a length of one may be left out.
fn ranges<'a>(heading: &[u8]) -> Option<[HunkSide<'a>; 2]> {
    let rest = heading.strip_prefix(b"@@ -")?;
    let (old, rest) = range(rest)?;
    let (new, rest) = range(rest.strip_prefix(b" +")?)?;
    rest.starts_with(b" @@").then_some([old, new])
}

fn range<'a>(text: &[u8]) -> Option<(HunkSide<'a>, &[u8])> {
    let (digits, start) = number(text)?;
    let mut rest = &text[digits..];
    let mut len = 1;
    if let Some(behind) = rest.strip_prefix(b",") {
        let (digits, found) = number(behind)?;
        (len, rest) = (found, &behind[digits..]);
    }
    let lines = Vec::new();
    Some((HunkSide { start, len, lines }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<TextHunk<'_>, PatchError> {
        let mut lines = Lines::new(text.as_bytes());
        let heading = lines.next().unwrap();
        TextHunk::read_unified(heading, 1, &mut lines)
    }

    #[test]
    fn sides_are_read() {
        let hunk = read("@@ -3,2 +4 @@ fn\n-a\n b\n\\ No newline at end of file\n").unwrap();
        assert_eq!((hunk.old.start, hunk.new.start), (3, 4));
        assert_eq!(hunk.old.lines, [&b"a\n"[..], b"b"]);
        assert_eq!(hunk.new.lines, [&b"b"[..]]);
        assert!(hunk.check().is_ok());
        assert_eq!(hunk.context(2, true), (0, 0));
        assert_eq!(hunk.context(2, false), (0, 1));
    }

    #[test]
    fn empty_lines_are_context() {
        let hunk = read("@@ -1,2 +1,1 @@\n\n-a\n").unwrap();
        assert_eq!(hunk.marked, [&b" \n"[..], b"-a\n"]);
    }

    #[test]
    fn faults_are_named() {
        let bad = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(bad("@@ -1,2 zzz\n-x\n+y\n"), "bad hunk #1");
        assert_eq!(bad("@@ -1,99999999999999999999 +1 @@\n"), "bad hunk #1");
        assert_eq!(
            bad("@@ -1,3 +1,3 @@\n x\n-y\n"),
            "bad hunk #1: incomplete hunk"
        );
        let too_long = read("@@ -1,1 +1,2 @@\n-a\n-b\n+c\n+d\n").unwrap();
        let error = too_long.check().unwrap_err().to_string();
        assert_eq!(error, "bad hunk #1 @@ -1,1 +1,2 @@\n (2 1 2 2)");
    }
}
