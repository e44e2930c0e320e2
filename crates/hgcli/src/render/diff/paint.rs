//! Labels of the lines of differences.

use super::words;
use crate::ui::paint::Painter;

/// Beginnings of lines of git's headers.
const EXTENDED: &[&[u8]] = &[
    b"old mode",
    b"new mode",
    b"deleted file",
    b"new file",
    b"copy ",
    b"rename ",
    b"similarity ",
    b"dissimilarity ",
    b"index ",
    b"GIT binary patch",
];

/// Differences with labels; `by_words` those within lines too.
pub(crate) fn painted(painter: &Painter, text: Vec<u8>, by_words: bool) -> Vec<u8> {
    if !painter.is_on() {
        return text;
    }
    let mut out = Vec::with_capacity(2 * text.len());
    let mut is_head = true;
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut rest = &lines[..];
    while let Some((line, below)) = rest.split_first() {
        if line.starts_with(b"diff ") {
            is_head = true;
        } else if line.starts_with(b"@@") {
            is_head = false;
        }
        let replaced = match by_words && !is_head {
            true => replaced_lines(rest),
            false => 0,
        };
        if replaced > 0 {
            words::push_replaced(painter, &rest[..replaced], &mut out);
            rest = &rest[replaced..];
        } else {
            push_line(painter, line, is_head, &mut out);
            rest = below;
        }
    }
    out
}

/// Number of the first lines that were taken away, with those in their place; 0 if either is missing.
fn replaced_lines(lines: &[&[u8]]) -> usize {
    let begins = |sign: u8| move |line: &&&[u8]| line.first() == Some(&sign);
    let deleted = lines.iter().take_while(begins(b'-')).count();
    let inserted = lines[deleted..].iter().take_while(begins(b'+')).count();
    match deleted > 0 && inserted > 0 {
        true => deleted + inserted,
        false => 0,
    }
}

fn push_line(painter: &Painter, line: &[u8], is_head: bool, out: &mut Vec<u8>) {
    let body = line.strip_suffix(b"\n").unwrap_or(line);
    let begins = |begin: &&&[u8]| body.starts_with(begin);
    let label = match body {
        _ if is_head && body.starts_with(b"diff") => "diff.diffline",
        _ if is_head && body.starts_with(b"---") => "diff.file_a",
        _ if is_head && body.starts_with(b"+++") => "diff.file_b",
        _ if is_head && EXTENDED.iter().any(|begin| begins(&begin)) => "diff.extended",
        _ if is_head => "",
        [b'@', ..] => "diff.hunk",
        [b'-', ..] => "diff.deleted",
        [b'+', ..] => "diff.inserted",
        _ => "",
    };
    if matches!(label, "diff.deleted" | "diff.inserted") {
        push_changed(painter, body, label, out);
    } else {
        painter.push(label, body, out);
    }
    out.extend_from_slice(&line[body.len()..]);
}

/// A changed line: tabs, and blanks at its end, have labels of their own.
fn push_changed(painter: &Painter, body: &[u8], label: &str, out: &mut Vec<u8>) {
    let kept = 1 + body[1..].trim_ascii_end().len();
    // Carriage returns belong to the end of the line.
    let end = body
        .iter()
        .rposition(|byte| *byte != b'\r')
        .map_or(0, |last| last + 1);
    let (text, blanks) = body[..end].split_at(kept);
    for run in text.chunk_by(|one, next| (*one == b'\t') == (*next == b'\t')) {
        let label = if run[0] == b'\t' { "diff.tab" } else { label };
        painter.push(label, run, out);
    }
    painter.push("diff.trailingwhitespace", blanks, out);
    out.extend_from_slice(&body[end..]);
}
