//! The tokens of JSON: blanks, names, strings, numbers, words, and how deep the text is nested.

mod numbers;
mod strings;

pub(crate) use numbers::NumberToken;
pub(crate) use strings::{StringToken, plain_prefix};

use crate::{JsonError, MAX_DEPTH};

/// Reads tokens one after another.
pub(crate) struct Lexer<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// How many containers are open.
    depth: usize,
    /// How many may be.
    deepest: usize,
    /// Bytes that what is read may still take in memory.
    room: usize,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(bytes: &'t [u8]) -> Result<Self, JsonError> {
        Self::bounded(bytes, usize::MAX)
    }

    /// Values that are read take at most `room` bytes in memory, as far as the readers [charge](Self::charge) for them.
    pub(crate) fn bounded(bytes: &'t [u8], room: usize) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes).map_err(|error| JsonError::InvalidUtf8 {
            at: error.valid_up_to(),
        })?;
        Ok(Lexer {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            deepest: MAX_DEPTH,
            room,
        })
    }

    /// Allows for containers that were put around a value whose depth was checked.
    pub(crate) fn allow_deeper(&mut self, levels: usize) {
        self.deepest = MAX_DEPTH + levels;
    }

    /// Takes room for what is kept of the text.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), JsonError> {
        let room = self.room.checked_sub(bytes);
        self.room = room.ok_or(JsonError::TooLarge { at: self.at })?;
        Ok(())
    }

    /// Where the next token begins, or the blanks before it.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Goes back to a place where as many containers were open.
    pub(crate) fn go_back(&mut self, position: usize) {
        self.at = position;
    }

    /// The next byte that is not blank.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Skips the byte that [`Lexer::peek`] has shown, if it is this one.
    pub(crate) fn skip(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    /// Skips the opening bracket that [`Lexer::peek`] has shown.
    pub(crate) fn enter(&mut self) -> Result<(), JsonError> {
        if self.depth >= self.deepest {
            return Err(JsonError::TooDeep { at: self.at });
        }
        self.at += 1;
        self.depth += 1;
        Ok(())
    }

    /// Skips a closing bracket, if one stands here.
    pub(crate) fn leave(&mut self, bracket: u8) -> bool {
        let is_it = self.skip(bracket);
        self.depth -= usize::from(is_it);
        is_it
    }

    /// Behind a member or item: whether another one follows. If not, skips the closing bracket.
    pub(crate) fn goes_on(
        &mut self,
        bracket: u8,
        expected: &'static str,
    ) -> Result<bool, JsonError> {
        if self.skip(b',') {
            return Ok(true);
        }
        match self.leave(bracket) {
            true => Ok(false),
            false => Err(self.unexpected(expected)),
        }
    }

    /// Checks that nothing but blanks is left.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the text")),
        }
    }

    /// Reads `"name" :`.
    pub(crate) fn name(&mut self) -> Result<StringToken<'t>, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a name in quotes"));
        }
        let name = self.string()?;
        match self.skip(b':') {
            true => Ok(name),
            false => Err(self.unexpected("':'")),
        }
    }

    /// Reads a word such as `null`.
    pub(crate) fn word(&mut self, word: &'static str) -> Result<(), JsonError> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.unexpected(word));
        }
        self.at += word.len();
        Ok(())
    }

    pub(crate) fn unexpected(&self, expected: &'static str) -> JsonError {
        match self.bytes.get(self.at) {
            Some(&byte) => JsonError::Unexpected {
                at: self.at,
                expected,
                found: char::from(byte),
            },
            None => JsonError::Truncated {
                at: self.at,
                expected,
            },
        }
    }
}
