//! A document's body in the two forms in which CouchDB has it.

use crate::{JsonError, Object, parse_object, term, write_object};
use std::borrow::Cow;

/// The JSON text of an object, and the term of it that counts for a revision's digest.
///
/// ```text
/// +-----------+------+
/// | JSON text | term |
/// +-----------+------+
/// ```
/// Both are made while the object is read, so that there is never a tree of values. They stand in one allocation, or,
/// where they are long, in those in which they were made, so that they are never in memory twice. The term is left out
/// where it is not expected to be asked for.
#[derive(Clone, Debug)]
pub struct Body {
    forms: BodyForms,
}

#[derive(Clone, Debug)]
enum BodyForms {
    TextOnly(Vec<u8>),
    /// The two forms, and the length of the text.
    Joined(Box<[u8]>, usize),
    Apart {
        text: Vec<u8>,
        term: Vec<u8>,
    },
}

/// Bytes of both forms from which on they are not copied.
const LONG: usize = 1 << 20;

impl Body {
    /// Takes the two forms, or copies them and leaves the memory for the next body.
    pub(crate) fn take(text: &mut Vec<u8>, term: &mut Vec<u8>) -> Self {
        let forms = match text.len() + term.len() < LONG {
            true => BodyForms::Joined([&text[..], &term[..]].concat().into(), text.len()),
            false => BodyForms::Apart {
                text: std::mem::take(text),
                term: std::mem::take(term),
            },
        };
        Body { forms }
    }

    /// Takes the text alone, or copies it and leaves the memory for the next body.
    pub(crate) fn take_text(text: &mut Vec<u8>) -> Self {
        let forms = match text.len() < LONG {
            true => BodyForms::TextOnly(text.as_slice().to_vec()),
            false => BodyForms::TextOnly(std::mem::take(text)),
        };
        Body { forms }
    }

    /// The JSON text as CouchDB writes it.
    pub fn text(&self) -> &[u8] {
        match &self.forms {
            BodyForms::TextOnly(text) => text,
            BodyForms::Joined(forms, text) => &forms[..*text],
            BodyForms::Apart { text, .. } => text,
        }
    }

    /// Whether the term was made with the text.
    pub fn has_term(&self) -> bool {
        !matches!(self.forms, BodyForms::TextOnly(_))
    }

    /// The external term; members that begin with `_` are not in it. Made of the text if it was left out.
    ///
    /// # Errors
    /// None for a body that was read or made; the type is that of reading.
    pub fn term(&self) -> Result<Cow<'_, [u8]>, JsonError> {
        Ok(match &self.forms {
            BodyForms::TextOnly(text) => {
                let mut made = Vec::new();
                term::body(&parse_object(text)?, &mut made);
                Cow::Owned(made)
            }
            BodyForms::Joined(forms, text) => Cow::Borrowed(&forms[*text..]),
            BodyForms::Apart { term, .. } => Cow::Borrowed(term),
        })
    }

    /// The object itself.
    ///
    /// # Errors
    /// None for a body that was read or made; the type is that of reading.
    pub fn to_object(&self) -> Result<Object, JsonError> {
        parse_object(self.text())
    }
}

impl From<&Object> for Body {
    fn from(object: &Object) -> Self {
        let (mut text, mut encoded) = (Vec::new(), Vec::new());
        write_object(object, &mut text);
        term::body(object, &mut encoded);
        Body::take(&mut text, &mut encoded)
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Body) -> bool {
        self.text() == other.text() && self.term() == other.term()
    }
}

impl Eq for Body {}
