//! Documents as clients send them, alone or many in one request: their special members as values,
//! the others as a [`Body`], made in one pass.

mod forms;
#[cfg(test)]
mod tests;
mod transcode;

use crate::lexer::Lexer;
use crate::parse::value;
use crate::{Body, JsonError, Object, Value};
use transcode::Transcoder;

/// Room that documents may take whatever the length of their text.
const LEAST_ROOM: usize = 64 << 20;
/// Room for each byte of text.
const ROOM_FACTOR: usize = 4;
/// In bytes: memory of one of many documents beside its text, as it was read, as an edit, and until it is committed.
const DOCUMENT: usize = 512;

/// In bytes: the memory that a text's documents may take. Many small documents, values and names take many times their
fn room_for(text: &[u8]) -> usize {
    LEAST_ROOM.saturating_add(text.len().saturating_mul(ROOM_FACTOR))
}

/// A document, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The special members, in order.
    pub special: Vec<(String, Value)>,
    /// The others.
    pub body: Body,
}

impl Document {
    /// Reads a document. `is_special` tells by their names which members do not belong to its body.
    ///
    /// # Errors
    /// As [`parse_object`](crate::parse_object).
    pub fn parse(text: &[u8], is_special: fn(&str) -> bool) -> Result<Document, JsonError> {
        let mut lexer = Lexer::bounded(text, room_for(text))?;
        let read = Transcoder::for_document(text.len(), is_special).item(&mut lexer)?;
        lexer.end()?;
        read.map_err(|other| JsonError::NotAnObject {
            found: other.kind(),
        })
    }

    /// Takes an object apart.
    pub fn new(mut object: Object, is_special: fn(&str) -> bool) -> Document {
        let special = object.extract(is_special);
        Document {
            special,
            body: Body::from(&object),
        }
    }
}

/// When the terms of documents are made: revision ids need them, and documents that bring theirs have no use for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// With the texts.
    AtOnce,
    /// When one is asked for.
    OnDemand,
}

/// A request that brings a list of documents.
#[derive(Clone, Debug)]
pub struct Request {
    /// The list; `None` if there is none. An element that is no object stands there as its value.
    pub documents: Option<Vec<Result<Document, Value>>>,
    /// The other members, or the whole value if it is no object.
    pub rest: Value,
}

impl Request {
    /// Reads an object in which the member `list` is a list of documents; anything else in its
    /// place is a member as all others. Of repeated members the last one counts. `terms` says whether the documents'
    /// bodies get their terms at once.
    ///
    /// # Errors
    /// As [`parse`](crate::parse()).
    pub fn parse(
        text: &[u8],
        list: &str,
        is_special: fn(&str) -> bool,
        terms: Terms,
    ) -> Result<Request, JsonError> {
        let mut lexer = Lexer::bounded(text, room_for(text))?;
        let (mut documents, mut rest) = (None, Vec::new());
        if lexer.peek() != Some(b'{') {
            let rest = value(&mut lexer)?;
            lexer.end()?;
            return Ok(Request { documents, rest });
        }
        lexer.enter()?;
        let mut goes_on = !lexer.leave(b'}');
        while goes_on {
            let name = lexer.name()?;
            match lexer.peek() {
                Some(b'[') if *name == *list => {
                    documents = Some(all(&mut lexer, text.len(), is_special, terms)?);
                }
                _ => {
                    documents = documents.filter(|_| *name != *list);
                    rest.push((name.into(), value(&mut lexer)?));
                }
            }
            goes_on = lexer.goes_on(b'}', "',' or '}'")?;
        }
        lexer.end()?;
        if documents.is_some() {
            rest.retain(|(name, _)| name != list);
        }
        let rest = Value::Object(Object::from_members(rest));
        Ok(Request { documents, rest })
    }
}

/// Reads the items of a list; stands on its bracket.
fn all(
    lexer: &mut Lexer<'_>,
    end: usize,
    is_special: fn(&str) -> bool,
    terms: Terms,
) -> Result<Vec<Result<Document, Value>>, JsonError> {
    let mut transcoder = Transcoder::new(is_special, terms == Terms::AtOnce);
    // The first one may be all that there is.
    transcoder.reserve_for(end.saturating_sub(lexer.position()));
    let mut items = Vec::new();
    lexer.enter()?;
    let mut goes_on = !lexer.leave(b']');
    while goes_on {
        lexer.charge(DOCUMENT)?;
        items.push(transcoder.item(lexer)?);
        goes_on = lexer.goes_on(b']', "',' or ']'")?;
    }
    Ok(items)
}
