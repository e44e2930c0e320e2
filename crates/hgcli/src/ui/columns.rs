//! Widths of text on a terminal.

use crate::ui::environment;
use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthStr;

/// Columns of a terminal whose width is unknown.
const USUAL: usize = 80;

/// Columns that output for people may take: `$COLUMNS`, or those of the terminal.
pub fn of_terminal() -> usize {
    if environment::is_plain(None) {
        return USUAL;
    }
    let said = environment::variable("COLUMNS");
    if let Some(said) = said
        && let Ok(columns) = String::from_utf8_lossy(&said).trim().parse::<i64>()
    {
        return usize::try_from(columns).unwrap_or_default();
    }
    let sizes = [
        tcgetwinsize(std::io::stderr()),
        tcgetwinsize(std::io::stdout()),
        tcgetwinsize(std::io::stdin()),
    ];
    let known = sizes.into_iter().flatten().map(|size| size.ws_col);
    known
        .map(usize::from)
        .find(|columns| *columns > 0)
        .unwrap_or(USUAL)
}

/// A text that is cut off, with three dots, so that it takes at most this many columns.
pub fn shortened(text: &[u8], columns: usize) -> Vec<u8> {
    const DOTS: &[u8] = b"...";
    if width(text) <= columns {
        return text.to_vec();
    }
    if columns <= DOTS.len() {
        return DOTS[..columns].to_vec();
    }
    let shown = String::from_utf8_lossy(text);
    let mut kept = Vec::new();
    for character in shown.chars() {
        let mut buffer = [0; 4];
        let bytes = character.encode_utf8(&mut buffer).as_bytes();
        if width(&kept) + width(bytes) > columns - DOTS.len() {
            break;
        }
        kept.extend_from_slice(bytes);
    }
    kept.extend_from_slice(DOTS);
    kept
}

/// Columns that a text takes; bytes that are no UTF-8 take one each.
pub fn width(text: &[u8]) -> usize {
    let chunks = text.utf8_chunks();
    chunks
        .map(|chunk| chunk.valid().width() + chunk.invalid().len())
        .sum()
}

/// Spaces that fill a text up to `columns`.
pub fn padding(text: &[u8], columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}
