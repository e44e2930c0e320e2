//! Widths of text on a terminal.

use unicode_width::UnicodeWidthStr;

/// Columns of a terminal that does not say how wide it is.
const USUAL: usize = 80;

/// Columns of the terminal: those of `$COLUMNS`, or the usual ones.
pub(crate) fn of_terminal() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    columns
        .and_then(|columns| columns.trim().parse().ok())
        .filter(|columns| *columns > 0)
        .unwrap_or(USUAL)
}

/// Columns that a text takes; bytes that are no UTF-8 take one each.
pub(crate) fn width(text: &[u8]) -> usize {
    let chunks = text.utf8_chunks();
    chunks
        .map(|chunk| chunk.valid().width() + chunk.invalid().len())
        .sum()
}

/// Spaces that fill a text up to `columns`.
pub(crate) fn padding(text: &[u8], columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}
