//! Blanks that do not count.

use std::borrow::Cow;

/// Which blanks do not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whitespace {
    /// `-w`: none.
    pub(super) ignore_all: bool,
    /// `-b`: their number.
    pub(super) ignore_amount: bool,
    /// `-B`: lines that are empty.
    pub(super) ignore_blank_lines: bool,
    /// `-Z`: those at the ends of lines.
    pub(super) ignore_at_end: bool,
}

impl Whitespace {
    /// A text as its lines are compared. It has as many lines, but for a last one of blanks alone
    /// that no newline ends.
    pub(super) fn cleaned<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let mut text = Cow::Borrowed(text);
        if self.ignore_all {
            let kept = text.iter().copied().filter(|byte| !is_blank(*byte));
            text = Cow::Owned(kept.collect());
        } else if self.ignore_amount {
            text = Cow::Owned(with_single_blanks(&text));
        }
        if self.ignore_at_end {
            text = Cow::Owned(without_blanks_at_end(&text));
        }
        text
    }

    /// Whether lines differ in blanks that do not count, and in nothing else.
    pub(super) fn hides(&self, old: &[&[u8]], new: &[&[u8]]) -> bool {
        self.ignore_blank_lines && self.without_blank_lines(old) == self.without_blank_lines(new)
    }

    fn without_blank_lines(&self, lines: &[&[u8]]) -> Vec<u8> {
        let text = lines.concat();
        let text = Whitespace {
            ignore_at_end: false,
            ..*self
        }
        .cleaned(&text);
        let lines = text.split(|byte| *byte == b'\n');
        let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>();
        let text = text.join(&b'\n');
        if self.ignore_at_end {
            return without_blanks_at_end(&text);
        }
        text
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn with_single_blanks(text: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    for byte in text {
        let blank = is_blank(*byte);
        if *byte == b'\n' && out.last() == Some(&b' ') {
            out.pop();
        }
        if !(blank && out.last() == Some(&b' ')) {
            out.push(if blank { b' ' } else { *byte });
        }
    }
    out
}

/// Only where a newline follows.
fn without_blanks_at_end(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let Some(body) = line.strip_suffix(b"\n") else {
            out.extend_from_slice(line);
            break;
        };
        let end = body
            .iter()
            .rposition(|byte| !is_blank(*byte) && *byte != b'\x0c');
        out.extend_from_slice(&body[..end.map_or(0, |end| end + 1)]);
        out.push(b'\n');
    }
    out
}
