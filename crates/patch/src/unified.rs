//! Two texts as hunks with lines of context around the differences.

use std::io::Write;
use varve_delta::{Blanks, same_lines};

/// Options of a comparison of two texts, and of its hunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HunkOptions {
    /// Lines around each difference.
    pub context: usize,
    /// With the line before the hunk at which a function begins.
    pub functions: bool,
    /// Blanks that do not count.
    pub blanks: Blanks,
}

/// The longest name of a function behind a hunk's place.
const LONGEST_NAME: usize = 41;

/// A stretch of both texts, in lines, from the first to behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineChange {
    a: (usize, usize),
    b: (usize, usize),
    /// Where it stands in the new text if no change before it is made that does not count.
    place: usize,
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Appends the hunks that make `new` of `old`, which are shorter than 4 GiB.
pub fn push_hunks(old: &[u8], new: &[u8], options: &HunkOptions, out: &mut Vec<u8>) {
    let (a, b) = (lines(old), lines(new));
    let changes = changes((old, &a), (new, &b), options);
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
            name = found.copied().find(|line| begins_function(line)).or(name);
            name_from = start;
        }
        push_hunk(&rest[..count], (&a, &b), options.context, name, out);
        rest = &rest[count..];
    }
}

fn begins_function(line: &[u8]) -> bool {
    line.first()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$'))
}

/// Differing lines, as far as the options let them count.
fn changes(
    (old, a): (&[u8], &[&[u8]]),
    (new, b): (&[u8], &[&[u8]]),
    options: &HunkOptions,
) -> Vec<LineChange> {
    // A new or removed file is shown whole.
    let blanks = match a.is_empty() || b.is_empty() {
        true => Blanks::default(),
        false => options.blanks,
    };
    let (mut changes, mut end_a, mut end_b) = (Vec::new(), 0, 0);
    let (mut hidden_old, mut hidden_new) = (0, 0);
    for same in same_lines(&blanks.cleaned(old), &blanks.cleaned(new)) {
        let change = LineChange {
            a: (end_a, same.a),
            b: (end_b, same.b),
            place: end_b + hidden_old - hidden_new,
        };
        (end_a, end_b) = (same.a + same.len, same.b + same.len);
        let (old, new) = (&a[change.a.0..change.a.1], &b[change.b.0..change.b.1]);
        if old.is_empty() && new.is_empty() {
            continue;
        }
        if blanks.ignore_lines && !blanks.is_change(&old.concat(), &new.concat()) {
            (hidden_old, hidden_new) = (hidden_old + old.len(), hidden_new + new.len());
        } else {
            changes.push(change);
        }
    }
    changes
}

fn push_hunk(
    changes: &[LineChange],
    (a, b): (&[&[u8]], &[&[u8]]),
    context: usize,
    name: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return;
    };
    let before = first.a.0.min(context);
    let after = context.min(a.len() - last.a.1);
    let start = (first.a.0 - before, first.place - before.min(first.place));
    let old = last.a.1 + after - start.0;
    let (mut came, mut went) = (0, 0);
    for change in changes {
        came += change.b.1 - change.b.0;
        went += change.a.1 - change.a.0;
    }
    let len = (old, old + came - went);
    let place = |start: usize, len: usize| if len == 0 { start } else { start + 1 };
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
        let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'\x0b';
        let end = name.iter().rposition(|byte| !is_space(byte));
        let name = &name[..end.map_or(0, |end| end + 1)];
        let shown = if name.is_ascii() {
            &name[..name.len().min(LONGEST_NAME - 1)]
        } else {
            name
        };
        out.push(b' ');
        out.extend_from_slice(shown);
    }
    out.push(b'\n');
    let mut lines: Vec<(u8, &[u8])> = Vec::new();
    let mut at = first.a.0 - before;
    for change in changes {
        lines.extend(a[at..change.a.0].iter().map(|line| (b' ', *line)));
        lines.extend(a[change.a.0..change.a.1].iter().map(|line| (b'-', *line)));
        lines.extend(b[change.b.0..change.b.1].iter().map(|line| (b'+', *line)));
        at = change.a.1;
    }
    lines.extend(a[at..at + after].iter().map(|line| (b' ', *line)));
    let marked = ends_without_newline(&lines, (a, start.0 + len.0), (b, start.1 + len.1));
    for (at, (sign, line)) in lines.into_iter().enumerate() {
        out.push(sign);
        out.extend_from_slice(line);
        if marked.contains(&Some(at)) {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Lines of a hunk at which each text ends without a newline. Mercurial goes by where the hunk says
/// that it ends, which is wrong behind a change that does not count; its output is the one that
/// people compare with.
fn ends_without_newline(
    lines: &[(u8, &[u8])],
    (a, end_a): (&[&[u8]], usize),
    (b, end_b): (&[&[u8]], usize),
) -> [Option<usize>; 2] {
    let is_open = |text: &[&[u8]]| text.last().is_some_and(|line| !line.ends_with(b"\n"));
    let last = |signs: &[u8]| lines.iter().rposition(|(sign, _)| signs.contains(sign));
    let mut marked = [None; 2];
    if is_open(a) && end_a == a.len() {
        marked[0] = last(b" -");
    }
    let is_shared = marked[0].is_some_and(|at| lines[at].0 == b' ');
    if is_open(b) && end_b == b.len() && !is_shared {
        marked[1] = last(b"+");
    }
    marked
}
