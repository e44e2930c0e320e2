//! Labels of the words that differ between lines that were taken away and lines that came in their place.

use crate::ui::paint::Painter;
use varve_delta::same_lines;

/// A word of a side.
struct Word<'t> {
    bytes: &'t [u8],
    is_changed: bool,
}

/// Appends lines that begin with `-`, and those with `+` behind them, with labels for the words that are the same.
pub(super) fn push_replaced(painter: &Painter, lines: &[&[u8]], out: &mut Vec<u8>) {
    let text = |sign: u8| -> Vec<u8> {
        let of_side = lines.iter().filter(|line| line.first() == Some(&sign));
        of_side.flat_map(|line| &line[1..]).copied().collect()
    };
    let (old, new) = (text(b'-'), text(b'+'));
    let (old_words, new_words) = (words(&old), words(&new));
    let same = same_lines(&as_lines(&old_words), &as_lines(&new_words));
    let old_same = same.iter().map(|block| (block.a, block.len));
    push_side(
        painter,
        ("-", "diff.deleted"),
        &marked(&old_words, old_same),
        out,
    );
    let new_same = same.iter().map(|block| (block.b, block.len));
    push_side(
        painter,
        ("+", "diff.inserted"),
        &marked(&new_words, new_same),
        out,
    );
}

/// The kind of a byte; neighbours of one kind are a word, but for [`WordKind::Single`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Tab,
    Blank,
    Letter,
    Single,
}

fn word_kind(byte: u8) -> WordKind {
    match byte {
        b'\t' => WordKind::Tab,
        b' ' => WordKind::Blank,
        b'_' | 0x80.. => WordKind::Letter,
        byte if byte.is_ascii_alphanumeric() => WordKind::Letter,
        _ => WordKind::Single,
    }
}

fn words(text: &[u8]) -> Vec<&[u8]> {
    let joins = |one: &u8, next: &u8| {
        word_kind(*one) != WordKind::Single && word_kind(*one) == word_kind(*next)
    };
    text.chunk_by(joins).collect()
}

/// One line per word, so that words are compared as lines are.
fn as_lines(words: &[&[u8]]) -> Vec<u8> {
    let mut lines = Vec::new();
    for word in words {
        lines.extend_from_slice(word.strip_suffix(b"\n").unwrap_or(word));
        lines.push(b'\n');
    }
    lines
}

/// Marks the words that are the same on both sides, as `same` tells by position and length.
fn marked<'t>(words: &[&'t [u8]], same: impl Iterator<Item = (usize, usize)>) -> Vec<Word<'t>> {
    let mut found = Vec::new();
    let mut at = 0;
    for (start, len) in same {
        push_words(&words[at..start], true, &mut found);
        push_words(&words[start..start + len], false, &mut found);
        at = start + len;
    }
    found
}

fn push_words<'t>(words: &[&'t [u8]], is_changed: bool, found: &mut Vec<Word<'t>>) {
    found.extend(words.iter().map(|bytes| Word { bytes, is_changed }));
}

fn is_tab(word: &[u8]) -> bool {
    word.first() == Some(&b'\t')
}

fn push_side(
    painter: &Painter,
    (sign, label): (&str, &str),
    words: &[Word<'_>],
    out: &mut Vec<u8>,
) {
    let mut begins_line = true;
    let alike = |one: &Word<'_>, next: &Word<'_>| {
        let is_plain = |word: &Word<'_>| !is_tab(word.bytes) && word.bytes != b"\n";
        is_plain(one) && is_plain(next) && one.is_changed == next.is_changed
    };
    for run in words.chunk_by(alike) {
        if std::mem::take(&mut begins_line) {
            painter.push(label, sign.as_bytes(), out);
        }
        let first = &run[0];
        let bytes: Vec<u8> = run.iter().flat_map(|word| word.bytes).copied().collect();
        match (first.bytes, first.is_changed) {
            (b"\n", _) => {
                out.push(b'\n');
                begins_line = true;
            }
            (word, _) if is_tab(word) => painter.push("diff.tab", &bytes, out),
            (_, true) => painter.push(&format!("{label}.changed"), &bytes, out),
            (_, false) => painter.push(&format!("{label}.unchanged"), &bytes, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_blanks_tabs_or_single_bytes() {
        let text = b"a_1  \t\t(b)\n\xc3\xa4";
        let expected: [&[u8]; 8] = [b"a_1", b"  ", b"\t\t", b"(", b"b", b")", b"\n", b"\xc3\xa4"];
        assert_eq!(words(text), expected);
    }
}
