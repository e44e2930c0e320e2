//! Filling paragraphs.

use crate::ui::columns;

/// Columns of a line if the width leaves no room behind the indentation.
const ROOMY: usize = 78;

/// Fills each paragraph of a text up to `width` columns.
pub(super) fn fill(text: &[u8], width: usize, first: &[u8], hanging: &[u8]) -> Vec<u8> {
    let indent = first.len().max(hanging.len());
    let width = if width <= indent {
        ROOMY.max(indent + 1)
    } else {
        width
    };
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        let (paragraph, between, behind) = match separator(rest) {
            Some((start, end)) => (&rest[..start], &rest[start..end], Some(&rest[end..])),
            None => {
                let end = rest.trim_ascii_end().len();
                (&rest[..end], &rest[end..], None)
            }
        };
        // As in Mercurial words that are too long are cut before there is an indentation.
        let unindented = wrap(&single_spaced(paragraph), width, b"", b"").join(&b'\n');
        let paragraph = single_spaced(&unindented);
        out.extend(wrap(&paragraph, width, first, hanging).join(&b'\n'));
        out.extend_from_slice(between);
        match behind {
            Some(behind) => rest = behind,
            None => return out,
        }
    }
}

/// Where a paragraph ends: at a blank line, or before a line that begins with `-` or `*`.
fn separator(text: &[u8]) -> Option<(usize, usize)> {
    for start in (0..text.len()).filter(|at| text[*at] == b'\n') {
        if text.get(start + 1) == Some(&b'\n') {
            return Some((start, start + 2));
        }
        let blanks = |from: usize| {
            let rest = text[from..].iter();
            from + rest.take_while(|byte| byte.is_ascii_whitespace()).count()
        };
        let mark = blanks(start + 1);
        if matches!(text.get(mark), Some(b'-' | b'*')) {
            return Some((start, blanks(mark + 1)));
        }
    }
    None
}

/// Lines become blanks, and several blanks one.
fn single_spaced(text: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    for byte in text {
        if *byte != b' ' || out.last() != Some(&b' ') {
            out.push(*byte);
        }
    }
    for byte in &mut out {
        if byte.is_ascii_whitespace() {
            *byte = b' ';
        }
    }
    out
}

fn wrap(text: &[u8], width: usize, first: &[u8], hanging: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces: std::collections::VecDeque<Vec<u8>> = pieces(text).into();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let is_blank = |piece: &Vec<u8>| piece.trim_ascii().is_empty();
    while !pieces.is_empty() {
        let indent = if lines.is_empty() { first } else { hanging };
        let room = width.saturating_sub(indent.len()).max(1);
        if !lines.is_empty() && pieces.front().is_some_and(is_blank) {
            pieces.pop_front();
        }
        let (mut line, mut used): (Vec<Vec<u8>>, usize) = (Vec::new(), 0);
        while let Some(piece) = pieces.pop_front() {
            let wide = columns::width(&piece);
            if used + wide <= room {
                used += wide;
                line.push(piece);
                continue;
            }
            if wide > room {
                let (cut, rest) = cut(&piece, room - used);
                if !cut.is_empty() {
                    line.push(cut);
                }
                pieces.push_front(rest);
            } else {
                pieces.push_front(piece);
            }
            break;
        }
        line.pop_if(|last| is_blank(last));
        if !line.is_empty() {
            lines.push([indent, &line.concat()].concat());
        }
    }
    lines
}

/// As much of a text as fits, but at least a letter, and the rest.
fn cut(piece: &[u8], room: usize) -> (Vec<u8>, Vec<u8>) {
    let mut end = 0;
    for chunk in piece.utf8_chunks() {
        let letters = chunk.valid().chars().map(char::len_utf8);
        for len in letters.chain(chunk.invalid().iter().map(|_| 1)) {
            let fits = columns::width(&piece[..end + len]) <= room;
            if !fits && end > 0 {
                return (piece[..end].to_vec(), piece[end..].to_vec());
            }
            end += len;
        }
    }
    (piece.to_vec(), Vec::new())
}

/// Words and the blanks between them; a word is cut behind hyphens between letters.
fn pieces(text: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    for run in text.chunk_by(|a, b| (*a == b' ') == (*b == b' ')) {
        if run[0] == b' ' {
            pieces.push(run.to_vec());
            continue;
        }
        let mut start = 0;
        let letter = |at: usize| {
            let byte = run.get(at);
            byte.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80)
        };
        for at in 0..run.len() {
            if run[at] != b'-' || at < 2 || at < start + 2 {
                continue;
            }
            let before = letter(at - 1)
                && (letter(at - 2) || (run[at - 2] == b'-' && at >= 3 && letter(at - 3)));
            let dash = usize::from(run.get(at + 2) == Some(&b'-'));
            if before && letter(at + 1) && letter(at + 2 + dash) {
                pieces.push(run[start..=at].to_vec());
                start = at + 1;
            }
        }
        pieces.push(run[start..].to_vec());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_lists_are_filled() {
        let filled = |text: &str, width, first: &str, hanging: &str| {
            let filled = fill(text.as_bytes(), width, first.as_bytes(), hanging.as_bytes());
            String::from_utf8(filled).unwrap()
        };
        let text = "aa  bb\ncc foo-bar\n  - item one two three\n  - other\n\nlongwordlonger a--b";
        let expected = "Iaa bb cc\n  foo-bar\n  - Iitem one\n  two three\n  - Iother\n\n\
                        Ilongwordlon\n  g er a--b";
        assert_eq!(filled(text, 12, "I", "  "), expected);
        assert_eq!(filled("a\n", 8, "", ""), "a\n");
        assert_eq!(filled("aaa bbb ccc ddd", 8, "", ""), "aaa bbb\nccc ddd");
    }
}
