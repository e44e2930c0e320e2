//! A position in the text of an expression, from which tokens are read.

use super::{SyntaxError, unescape};

/// A position in a text.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Cursor<'t> {
    /// The beginning of `text`.
    pub fn new(text: &'t [u8]) -> Cursor<'t> {
        Cursor { text, at: 0 }
    }

    /// The whole text.
    pub fn text(&self) -> &'t [u8] {
        self.text
    }

    /// The position in bytes.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The text from here on.
    pub fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    /// The next byte.
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Moves forward, at most to the end.
    pub fn advance(&mut self, len: usize) {
        self.at = self.text.len().min(self.at.saturating_add(len));
    }

    /// Moves forward over spaces, tabs and line ends.
    pub fn skip_whitespace(&mut self) {
        self.take_while(|byte| byte.is_ascii_whitespace());
    }

    /// Reads the bytes up to the first that does not belong.
    pub fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'t [u8] {
        let rest = self.rest();
        let end = rest.iter().position(|byte| !belongs(*byte));
        let found = &rest[..end.unwrap_or(rest.len())];
        self.at += found.len();
        found
    }

    /// Reads one of `operators`, of which longer ones are before their prefixes.
    pub fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        let rest = self.rest();
        let mut operators = operators.iter();
        let found = operators.find(|operator| rest.starts_with(operator.as_bytes()))?;
        self.at += found.len();
        Some(found)
    }

    /// Reads a string in single or double quotation marks, with the position behind the first mark,
    /// where Mercurial places errors; `None` if none begins here. Escapes are decoded; in a raw string,
    /// which has an `r` before it, they only keep quotation marks from ending it.
    ///
    /// # Errors
    /// The string has no end, or a malformed escape.
    pub fn string(&mut self) -> Result<Option<(usize, Vec<u8>)>, SyntaxError> {
        let is_raw = match self.rest() {
            [b'"' | b'\'', ..] => false,
            [b'r', b'"' | b'\'', ..] => true,
            _ => return Ok(None),
        };
        let open = self.at + usize::from(is_raw);
        let (mark, start) = (self.text[open], open + 1);
        let mut end = start;
        loop {
            match self.text.get(end) {
                None => return Err(SyntaxError::at(start, "unterminated string")),
                Some(byte) if *byte == mark => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        self.at = end + 1;
        let text = &self.text[start..end];
        let text = if is_raw {
            text.to_vec()
        } else {
            unescape(text)?
        };
        Ok(Some((start, text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Result<Option<(Vec<u8>, usize)>, SyntaxError> {
        let mut cursor = Cursor::new(text.as_bytes());
        let found = cursor.string()?;
        Ok(found.map(|(_, text)| (text, cursor.position())))
    }

    #[test]
    fn strings_end_at_their_own_quotation_mark() {
        assert_eq!(string("a'b'"), Ok(None));
        assert_eq!(string("'a\"b' c"), Ok(Some((b"a\"b".to_vec(), 5))));
        assert_eq!(string(r"'a\'b'"), Ok(Some((b"a'b".to_vec(), 6))));
        assert_eq!(string(r"r'a\'b'"), Ok(Some((br"a\'b".to_vec(), 7))));
        assert_eq!(string("r\"\""), Ok(Some((Vec::new(), 3))));
    }

    #[test]
    fn a_string_without_an_end_is_reported_behind_its_quotation_mark() {
        let error = |text| string(text).unwrap_err().at;
        assert_eq!(error("'abc"), Some(1));
        assert_eq!(error("r'abc"), Some(2));
        assert_eq!(error(r"'abc\'"), Some(1));
        assert_eq!(error(r"'abc\"), Some(1));
    }

    #[test]
    fn the_longest_operator_is_read() {
        let mut cursor = Cursor::new(b"::: a");
        assert_eq!(cursor.operator(&["::", ":"]), Some("::"));
        assert_eq!(cursor.operator(&["::", ":"]), Some(":"));
        assert_eq!(cursor.operator(&["::", ":"]), None);
        cursor.skip_whitespace();
        assert_eq!((cursor.position(), cursor.rest()), (4, &b"a"[..]));
        cursor.advance(9);
        assert_eq!((cursor.position(), cursor.peek()), (5, None));
    }
}
