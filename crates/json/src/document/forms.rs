//! The two forms of a body while they grow.

use crate::lexer::{NumberToken, StringToken};
use crate::{Body, Number, term, write_string};
use std::ops::Range;

/// In bytes; shorter documents are read into buffers that the one before has left.
const LONG: usize = 1 << 20;

/// Text and term of the part read so far.
pub(super) struct Forms {
    pub(super) text: Vec<u8>,
    term: Vec<u8>,
    /// Whether there will be a term.
    has_term: bool,
}

impl Forms {
    pub(super) fn new(has_term: bool) -> Self {
        Forms {
            text: Vec::new(),
            term: Vec::new(),
            has_term,
        }
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.term.clear();
    }

    /// Makes room for a long document of `len` bytes, whose forms would be copied several times while they grow. It is
    /// about as much as they will take.
    pub(super) fn reserve_for(&mut self, len: usize) {
        if len >= LONG {
            self.text.reserve(len);
            if self.has_term {
                self.term.reserve(len.saturating_add(len / 2));
            }
        }
    }

    pub(super) fn body(&mut self) -> Body {
        match self.has_term {
            true => Body::take(&mut self.text, &mut self.term),
            false => Body::take_text(&mut self.text),
        }
    }

    /// Begins an object's term.
    pub(super) fn object(&mut self) {
        self.with_term(|out| out.extend_from_slice(term::OBJECT));
    }

    /// Where the term ends so far.
    pub(super) fn term_len(&self) -> usize {
        self.term.len()
    }

    /// Takes back what was added to the term since it ended at `len`.
    pub(super) fn cut_term(&mut self, len: usize) {
        self.term.truncate(len);
    }

    fn with_term(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.has_term {
            write(&mut self.term);
        }
    }

    /// A member's name; returns where it stands in the text.
    pub(super) fn name(&mut self, name: &StringToken<'_>) -> Range<usize> {
        let start = self.text.len();
        self.write(name);
        let end = self.text.len();
        self.text.push(b':');
        self.with_term(|out| term::member_head(name, out));
        start..end
    }

    pub(super) fn string(&mut self, string: &StringToken<'_>) {
        self.write(string);
        self.with_term(|out| term::binary(string.as_bytes(), out));
    }

    /// `true`, `false` or `null`.
    pub(super) fn word(&mut self, word: &str) {
        self.text.extend_from_slice(word.as_bytes());
        self.with_term(|out| term::atom(word, out));
    }

    /// A number, which the token means.
    pub(super) fn number(&mut self, number: &Number, token: &NumberToken<'_>) {
        match token.is_written_so(number) {
            true => self.text.extend_from_slice(token.text().as_bytes()),
            false => number.write(&mut self.text),
        }
        self.with_term(|out| term::number(number, out));
    }

    /// Writes a string; one that was read without an escape needs none.
    fn write(&mut self, string: &StringToken<'_>) {
        match string {
            StringToken::Plain(plain) => {
                self.text.reserve(plain.len() + 2);
                self.text.push(b'"');
                self.text.extend_from_slice(plain.as_bytes());
                self.text.push(b'"');
            }
            StringToken::Escaped(other) => write_string(other, &mut self.text),
        }
    }

    /// Leaves room for a list's head; returns where.
    pub(super) fn begin_list(&mut self) -> usize {
        let head = self.term.len();
        self.with_term(|out| out.extend_from_slice(&[0; term::LIST_HEAD]));
        head
    }

    pub(super) fn end_list(&mut self, head: usize, count: usize) {
        self.with_term(|out| {
            match count {
                0 => out.truncate(head),
                _ => out[head..head + term::LIST_HEAD].copy_from_slice(&term::head_of_list(count)),
            }
            out.push(term::END);
        });
    }

    /// Makes a list of integers, two bytes each, a string of bytes.
    pub(super) fn join_bytes(&mut self, head: usize, count: usize) {
        let bytes = head + term::LIST_HEAD;
        let short = term::head_of_bytes(count);
        self.with_term(|out| {
            out[head..head + short.len()].copy_from_slice(&short);
            for index in 0..count {
                out[head + short.len() + index] = out[bytes + 2 * index + 1];
            }
            out.truncate(head + short.len() + count);
        });
    }
}
