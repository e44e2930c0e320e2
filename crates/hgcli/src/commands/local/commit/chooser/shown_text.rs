//! Bytes of files as text that a terminal cannot mistake for commands, cut into rows.

use unicode_width::UnicodeWidthChar;

/// Columns between tabulator stops.
const TAB: usize = 8;

/// Cuts texts into rows of a width.
#[derive(Debug)]
pub(super) struct Wrapped {
    width: usize,
    /// The terminal shows all characters of Unicode.
    is_utf8: bool,
    column: usize,
    rows: Vec<String>,
}

impl Wrapped {
    /// Begins at a column.
    pub(super) fn new(width: usize, column: usize, is_utf8: bool) -> Wrapped {
        Wrapped {
            width: width.max(1),
            is_utf8,
            column,
            rows: vec![String::new()],
        }
    }

    /// The rows of a text without line ends. What is no text stands as an escape, control characters as `^` and a letter.
    pub(super) fn rows(mut self, text: &[u8]) -> Vec<String> {
        let mut text_column = 0;
        for chunk in text.utf8_chunks() {
            for sign in chunk.valid().chars() {
                text_column += self.push_char(sign, text_column);
            }
            for byte in chunk.invalid() {
                text_column += self.push_str(&format!("\\x{byte:02x}"));
            }
        }
        self.rows
    }

    /// Returns the columns that it takes.
    fn push_char(&mut self, sign: char, text_column: usize) -> usize {
        match sign {
            '\t' => self.push_str(&" ".repeat(TAB - text_column % TAB)),
            '\0'..='\x1f' => self.push_str(&format!("^{}", char::from(sign as u8 + b'@'))),
            '\x7f' => self.push_str("^?"),
            _ if !self.is_utf8 && !sign.is_ascii() => {
                self.push_str(&sign.escape_unicode().to_string())
            }
            _ if is_deceptive(sign) => self.push_str(&sign.escape_unicode().to_string()),
            _ => {
                let width = sign.width().unwrap_or(0);
                self.push(sign, width);
                width
            }
        }
    }

    /// Text of ASCII alone.
    fn push_str(&mut self, text: &str) -> usize {
        for sign in text.chars() {
            self.push(sign, 1);
        }
        text.len()
    }

    fn push(&mut self, sign: char, width: usize) {
        if self.column + width > self.width {
            self.rows.push(String::new());
            self.column = 0;
        }
        self.column += width;
        if let Some(row) = self.rows.last_mut() {
            row.push(sign);
        }
    }
}

/// Control characters beyond ASCII, and those that change the direction of the text around them.
fn is_deceptive(sign: char) -> bool {
    matches!(sign, '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(width: usize, column: usize, text: &[u8]) -> Vec<String> {
        Wrapped::new(width, column, true).rows(text)
    }

    #[test]
    fn control_characters_and_bytes_are_spelled() {
        let text = b"a\x1b[31m\r\0\x7f\xff\xc3\xa9\xc2\x9b\xe2\x80\xae";
        assert_eq!(
            rows(80, 0, text),
            ["a^[[31m^M^@^?\\xff\u{e9}\\u{9b}\\u{202e}"]
        );
        let ascii = Wrapped::new(80, 0, false).rows("\u{e9}".as_bytes());
        assert_eq!(ascii, ["\\u{e9}"]);
    }

    #[test]
    fn tabs_are_counted_from_the_beginning_of_the_text() {
        assert_eq!(rows(80, 3, b"\tx\ty"), ["        x       y"]);
        assert_eq!(rows(80, 3, b"+\tx"), ["+       x"]);
    }

    #[test]
    fn long_texts_go_on_in_the_next_row() {
        assert_eq!(rows(4, 2, b"abcdefg"), ["ab", "cdef", "g"]);
        // A wide sign is not cut in two.
        assert_eq!(rows(4, 1, "ab中中x".as_bytes()), ["ab", "中中", "x"]);
        assert_eq!(rows(4, 0, b""), [""]);
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_the_screen(text in proptest::collection::vec(any::<u8>(), 0..60), width in 2..20_usize) {
            for row in rows(width, 0, &text) {
                let columns: usize = row.chars().map(|sign| sign.width().unwrap_or(99)).sum();
                prop_assert!(columns <= width, "{row:?}");
            }
        }
    }
}
