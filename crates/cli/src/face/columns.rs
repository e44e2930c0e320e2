//! Widths of text on a terminal.

use unicode_width::UnicodeWidthStr;

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
