//! Strings: plain runs are found eight bytes at a time, escapes are read one by one.

use super::Lexer;
use crate::JsonError;
use std::ops::Deref;

/// A string as it was read.
pub(crate) enum StringToken<'t> {
    /// So it stands in the text, without an escape and with no need of one.
    Plain(&'t str),
    /// The text has the string with escapes.
    Escaped(String),
}

impl Deref for StringToken<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            StringToken::Plain(text) => text,
            StringToken::Escaped(text) => text,
        }
    }
}

impl From<StringToken<'_>> for String {
    fn from(token: StringToken<'_>) -> String {
        match token {
            StringToken::Plain(text) => text.to_owned(),
            StringToken::Escaped(text) => text,
        }
    }
}

impl<'t> Lexer<'t> {
    /// Reads a string; stands on its opening quote.
    pub(crate) fn string(&mut self) -> Result<StringToken<'t>, JsonError> {
        self.at += 1;
        let start = self.at;
        self.at += plain_prefix(&self.bytes[start..]);
        if self.bytes.get(self.at) == Some(&b'"') {
            let plain = &self.text[start..self.at];
            self.at += 1;
            return Ok(StringToken::Plain(plain));
        }
        let mut text = self.text[start..self.at].to_owned();
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(StringToken::Escaped(text));
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.unexpected("a character of a string")),
            }
            let start = self.at;
            self.at += plain_prefix(&self.bytes[start..]);
            text.push_str(&self.text[start..self.at]);
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        self.at += 1;
        let plain = match self.bytes.get(self.at) {
            Some(b'u') => return self.unicode_escape(),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            _ => return Err(self.unexpected("an escape")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// Stands on the `u`; reads a second escape where the first is a leading surrogate.
    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let lone = JsonError::LoneSurrogate { at: self.at - 1 };
        let first = self.hex4()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or(lone);
        }
        if first >= 0xdc00 || !self.bytes[self.at..].starts_with(b"\\u") {
            return Err(lone);
        }
        self.at += 1;
        let second = self.hex4()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(lone);
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or(lone)
    }

    /// Stands on the `u`.
    fn hex4(&mut self) -> Result<u32, JsonError> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            let digit = self
                .bytes
                .get(self.at)
                .and_then(|&byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.unexpected("a hex digit"))?;
            self.at += 1;
        }
        Ok(code)
    }
}

/// How many bytes at the beginning need no escape: no quote, no backslash, no control character.
pub(crate) fn plain_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    // Exact for the lowest byte that matches: borrows only travel upwards.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGHS;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let special = quote | backslash | below(word, 0x20);
        if special != 0 {
            return index * 8 + (special.trailing_zeros() / 8) as usize;
        }
    }
    let plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    words.len() * 8 + rest.iter().take_while(|byte| plain(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, parse};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plain_prefix_agrees_with_the_byte_by_byte_search(bytes in any::<Vec<u8>>()) {
            let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
            let expected = bytes.iter().position(special).unwrap_or(bytes.len());
            prop_assert_eq!(plain_prefix(&bytes), expected);
        }

        #[test]
        fn strings_come_back(text in any::<String>()) {
            let mut out = Vec::new();
            crate::write_string(&text, &mut out);
            prop_assert_eq!(parse(&out).unwrap(), Value::String(text));
        }
    }
}
