//! Two texts as hunks with lines of context around what differs.

use super::Options;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use varve_delta::blocks;

/// The longest name of a function behind a hunk's place.
const LONGEST_NAME: usize = 41;

/// A stretch of both texts, in lines, from the first to behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    a: (usize, usize),
    b: (usize, usize),
}

/// The lines of a text, each with what ends it.
pub(crate) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Appends the hunks that make `new` of `old`.
pub(super) fn push_hunks(old: &[u8], new: &[u8], options: &Options, out: &mut Vec<u8>) {
    let (a, b) = (lines(old), lines(new));
    let changes = changes(&a, &b, options);
    let mut rest = changes.as_slice();
    let mut name = None;
    let mut name_from = 0;
    while let Some(first) = rest.first() {
        let mut count = 1;
        while rest.get(count).is_some_and(|next| {
            next.a.0.saturating_sub(options.context) <= rest[count - 1].a.1 + options.context
        }) {
            count += 1;
        }
        let start = first.a.0.saturating_sub(options.context);
        if options.functions {
            let found = a[name_from.min(start)..start].iter().rev();
            let found = found.copied().find(|line| line[0].is_ascii_alphanumeric());
            name = found.or(name);
            name_from = start;
        }
        push_hunk(&rest[..count], (&a, &b), options.context, name, out);
        rest = &rest[count..];
    }
}

/// What differs, as far as the options let it count.
fn changes(a: &[&[u8]], b: &[&[u8]], options: &Options) -> Vec<Change> {
    let mut numbers = HashMap::new();
    let mut number = |lines: &[&'_ [u8]]| -> Vec<u32> {
        let numbered = lines.iter().map(|line| {
            let next = numbers.len() as u32;
            *numbers
                .entry(options.cleaned(line).into_owned())
                .or_insert(next)
        });
        numbered.collect()
    };
    let (numbers_a, numbers_b) = (number(a), number(b));
    let (mut changes, mut end_a, mut end_b) = (Vec::new(), 0, 0);
    for same in blocks(&numbers_a, &numbers_b) {
        let change = Change {
            a: (end_a, same.a),
            b: (end_b, same.b),
        };
        (end_a, end_b) = (same.a + same.len, same.b + same.len);
        let (old, new) = (&a[change.a.0..change.a.1], &b[change.b.0..change.b.1]);
        let is_blank = |line: &&[u8]| options.cleaned(line).trim_ascii().is_empty();
        let counts = !options.ignore_blank_lines || !old.iter().chain(new).all(is_blank);
        if !(old.is_empty() && new.is_empty()) && counts {
            changes.push(change);
        }
    }
    changes
}

impl Options {
    /// A line as it is compared.
    fn cleaned<'l>(&self, line: &'l [u8]) -> Cow<'l, [u8]> {
        let blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\r');
        if self.ignore_all_space {
            let kept = line.iter().copied().filter(|byte| !blank(*byte));
            return Cow::Owned(kept.collect());
        }
        if self.ignore_space_change {
            let mut out: Vec<u8> = Vec::with_capacity(line.len());
            for byte in line {
                let space = blank(*byte);
                if *byte == b'\n' && out.last() == Some(&b' ') {
                    out.pop();
                }
                if !(space && out.last() == Some(&b' ')) {
                    out.push(if space { b' ' } else { *byte });
                }
            }
            return Cow::Owned(out);
        }
        if self.ignore_space_at_end {
            let body = line.strip_suffix(b"\n").unwrap_or(line);
            let end = body.iter().rposition(|byte| !blank(*byte) && *byte != 12);
            let mut out = body[..end.map_or(0, |end| end + 1)].to_vec();
            out.extend_from_slice(&line[body.len()..]);
            return Cow::Owned(out);
        }
        Cow::Borrowed(line)
    }
}

fn push_hunk(
    changes: &[Change],
    (a, b): (&[&[u8]], &[&[u8]]),
    context: usize,
    name: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return;
    };
    let before = first.a.0.min(context).min(first.b.0);
    let start = (
        first.a.0 - first.a.0.min(context),
        first.b.0 - first.b.0.min(context),
    );
    let after = context.min(a.len() - last.a.1);
    let place = |start: usize, len: usize| if len == 0 { start } else { start + 1 };
    let len = (
        last.a.1 + after - start.0,
        last.b.1 + context.min(b.len() - last.b.1) - start.1,
    );
    // Writing to memory does not fail.
    let _ = write!(
        out,
        "@@ -{},{} +{},{} @@",
        place(start.0, len.0),
        len.0,
        place(start.1, len.1),
        len.1
    );
    if let Some(name) = name {
        let name = name.trim_ascii_end();
        let shown = if name.is_ascii() {
            &name[..name.len().min(LONGEST_NAME - 1)]
        } else {
            name
        };
        out.push(b' ');
        out.extend_from_slice(shown);
    }
    out.push(b'\n');
    let mut at = first.a.0 - before;
    for change in changes {
        push_lines(b' ', &a[at..change.a.0], out);
        push_lines(b'-', &a[change.a.0..change.a.1], out);
        push_lines(b'+', &b[change.b.0..change.b.1], out);
        at = change.a.1;
    }
    push_lines(b' ', &a[at..at + after], out);
}

fn push_lines(sign: u8, lines: &[&[u8]], out: &mut Vec<u8>) {
    for line in lines {
        out.push(sign);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}
