//! From a document's text to its body, without a value in between.
//!
//! Text and term are written while tokens are read. A list's count stands before its items in a
//! term, so the head is written when the list begins and corrected when it ends.

use super::Document;
use super::forms::Forms;
use crate::lexer::{Lexer, NumberToken};
use crate::object::has_repeated_name;
use crate::parse::value;
use crate::{JsonError, Number, Value, term};
use std::collections::HashSet;
use std::ops::Range;

/// Up to this many names are compared pairwise; above, through a hash set.
const PAIRWISE: usize = 16;
/// A place, and an entry of the hash set that finds repeated names.
const NAME: usize = size_of::<Range<usize>>() + 2 * size_of::<&[u8]>();
const OBJECT_GOES_ON: &str = "',' or '}'";

/// Reads documents one after another.
pub(super) struct Transcoder {
    is_special: fn(&str) -> bool,
    forms: Forms,
    open: Vec<OpenContainer>,
    /// Where in the text the names of open objects stand.
    names: Vec<Range<usize>>,
    /// The most names that stood there so far.
    most_names: usize,
    has_repeated: bool,
}

/// A container whose end has not been read.
struct OpenContainer {
    kind: ContainerKind,
    /// Items or members before the one that is read.
    count: usize,
    /// Where the head of the term's list stands.
    head: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ContainerKind {
    /// Whether all items are integers that fit into a byte.
    Array { is_bytes: bool },
    /// Where its names begin.
    Object { names: usize },
}

/// An object has a name twice: only a tree of values shows which members stay.
struct Repeated;

impl Transcoder {
    pub(super) fn new(is_special: fn(&str) -> bool, has_term: bool) -> Self {
        Transcoder {
            is_special,
            forms: Forms::new(has_term),
            open: Vec::new(),
            names: Vec::new(),
            most_names: 0,
            has_repeated: false,
        }
    }

    /// A transcoder for one document of `len` bytes.
    pub(super) fn for_document(len: usize, is_special: fn(&str) -> bool) -> Self {
        let mut transcoder = Transcoder::new(is_special, true);
        transcoder.reserve_for(len);
        transcoder
    }

    /// Makes room for a document that may take up to `len` bytes.
    pub(super) fn reserve_for(&mut self, len: usize) {
        self.forms.reserve_for(len);
    }

    /// Reads a document, or any other value as it is.
    pub(super) fn item(
        &mut self,
        lexer: &mut Lexer<'_>,
    ) -> Result<Result<Document, Value>, JsonError> {
        if lexer.peek() != Some(b'{') {
            return Ok(Err(value(lexer)?));
        }
        let start = lexer.position();
        match self.document(lexer)? {
            Ok(document) => Ok(Ok(document)),
            Err(Repeated) => {
                lexer.go_back(start);
                Ok(match value(lexer)? {
                    Value::Object(object) => Ok(Document::new(object, self.is_special)),
                    other => Err(other),
                })
            }
        }
    }

    /// Reads an object; stands on its bracket.
    fn document(&mut self, lexer: &mut Lexer<'_>) -> Result<Result<Document, Repeated>, JsonError> {
        self.forms.clear();
        self.names.clear();
        self.has_repeated = false;
        lexer.enter()?;
        self.forms.text.push(b'{');
        self.forms.object();
        let head = self.forms.begin_list();
        let (mut special, mut count) = (Vec::new(), 0);
        let mut goes_on = !lexer.leave(b'}');
        while goes_on {
            let name = lexer.name()?;
            if (self.is_special)(&name) {
                special.push((name.into(), value(lexer)?));
            } else {
                if !self.names.is_empty() {
                    self.forms.text.push(b',');
                }
                let before = self.forms.term_len();
                let place = self.forms.name(&name);
                self.note(place, lexer)?;
                self.value(lexer)?;
                match term::counts(&name) {
                    true => count += 1,
                    false => self.forms.cut_term(before),
                }
            }
            goes_on = lexer.goes_on(b'}', OBJECT_GOES_ON)?;
        }
        self.forms.text.push(b'}');
        self.forms.end_list(head, count);
        self.check_names(0);
        self.has_repeated |= has_repeated_name(&special);
        if self.has_repeated {
            return Ok(Err(Repeated));
        }
        let body = self.forms.body();
        Ok(Ok(Document { special, body }))
    }

    /// Reads a value with all that is in it.
    fn value(&mut self, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        loop {
            match lexer.peek() {
                Some(bracket @ (b'[' | b'{')) => {
                    self.enter(bracket, lexer)?;
                    if !lexer.leave(closing(bracket)) {
                        if bracket == b'{' {
                            self.name(lexer)?;
                        }
                        continue;
                    }
                    self.leave();
                }
                _ => self.scalar(lexer)?,
            }
            loop {
                let Some(open) = self.open.last_mut() else {
                    return Ok(());
                };
                open.count += 1;
                let (bracket, expected) = match open.kind {
                    ContainerKind::Array { .. } => (b']', "',' or ']'"),
                    ContainerKind::Object { .. } => (b'}', OBJECT_GOES_ON),
                };
                if lexer.goes_on(bracket, expected)? {
                    self.forms.text.push(b',');
                    if bracket == b'}' {
                        self.name(lexer)?;
                    }
                    break;
                }
                self.leave();
            }
        }
    }

    /// Begins a container.
    fn enter(&mut self, bracket: u8, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        lexer.enter()?;
        self.is_no_byte();
        self.forms.text.push(bracket);
        let kind = match bracket {
            b'[' => ContainerKind::Array { is_bytes: true },
            _ => {
                self.forms.object();
                let names = self.names.len();
                ContainerKind::Object { names }
            }
        };
        let head = self.forms.begin_list();
        self.open.push(OpenContainer {
            kind,
            count: 0,
            head,
        });
        Ok(())
    }

    /// Ends the innermost container.
    fn leave(&mut self) {
        let Some(OpenContainer { kind, count, head }) = self.open.pop() else {
            return;
        };
        match kind {
            ContainerKind::Array { is_bytes } => {
                self.forms.text.push(b']');
                match is_bytes && (1..=term::LONGEST_BYTE_LIST).contains(&count) {
                    true => self.forms.join_bytes(head, count),
                    false => self.forms.end_list(head, count),
                }
            }
            ContainerKind::Object { names } => {
                self.forms.text.push(b'}');
                self.forms.end_list(head, count);
                self.check_names(names);
            }
        }
    }

    /// Reads the name of a member whose value is yet to come.
    fn name(&mut self, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        let place = self.forms.name(&lexer.name()?);
        self.note(place, lexer)
    }

    /// Remembers where the name of a member of an open object stands.
    fn note(&mut self, place: Range<usize>, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        self.names.push(place);
        if self.names.len() > self.most_names {
            self.most_names = self.names.len();
            return lexer.charge(NAME);
        }
        Ok(())
    }

    /// Notes whether one of the names of an object that ends is there twice, and forgets them.
    fn check_names(&mut self, first: usize) {
        let (names, text) = (&self.names[first..], &self.forms.text);
        let of = |range: &Range<usize>| &text[range.clone()];
        self.has_repeated |= match names.len() > PAIRWISE {
            true => {
                let mut seen = HashSet::with_capacity(names.len());
                !names.iter().all(|name| seen.insert(of(name)))
            }
            false => (1..names.len()).any(|index| {
                let name = of(&names[index]);
                names[..index].iter().any(|known| of(known) == name)
            }),
        };
        self.names.truncate(first);
    }

    fn scalar(&mut self, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        match lexer.peek() {
            Some(b'"') => self.forms.string(&lexer.string()?),
            Some(b'-' | b'0'..=b'9') => return self.number(&lexer.number()?),
            Some(b't') => self.word("true", lexer)?,
            Some(b'f') => self.word("false", lexer)?,
            Some(b'n') => self.word("null", lexer)?,
            _ => return Err(lexer.unexpected("a value")),
        }
        self.is_no_byte();
        Ok(())
    }

    fn word(&mut self, word: &'static str, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        lexer.word(word)?;
        self.forms.word(word);
        Ok(())
    }

    fn number(&mut self, token: &NumberToken<'_>) -> Result<(), JsonError> {
        let number = token.read()?;
        if !matches!(number, Number::Int(0..=255)) {
            self.is_no_byte();
        }
        self.forms.number(&number, token);
        Ok(())
    }

    /// The innermost list has something else than bytes.
    fn is_no_byte(&mut self) {
        if let Some(OpenContainer {
            kind: ContainerKind::Array { is_bytes },
            ..
        }) = self.open.last_mut()
        {
            *is_bytes = false;
        }
    }
}

fn closing(bracket: u8) -> u8 {
    match bracket {
        b'[' => b']',
        _ => b'}',
    }
}
