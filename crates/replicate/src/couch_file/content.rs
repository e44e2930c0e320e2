//! Content of revisions: bodies and lists of attachments.
//!
//! ```text
//! {body, attachments}; each a binary that holds a stored term, or in the oldest files the term itself
//! attachment: {name, type, stream, stored length, length, revpos, md5, encoding}
//!             {name, type, stream, stored length, revpos, md5} in older files
//! stream:     [{offset, length}], or a list of offsets: chunks one after the other
//! ```

use super::blocks::BlockReader;
use super::compressed::{TermForm, expand};
use super::damage::{Damage, Malformed};
use super::json;
use super::term::{List, TermReader, tag};
use std::collections::VecDeque;
use std::io::{self, Read};

/// Content of one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// JSON text without the members that begin with `_`.
    pub body: Vec<u8>,
    /// Its attachments in the order in which they are listed.
    pub attachments: Vec<AttachmentInfo>,
    /// How the body is compressed.
    pub form: TermForm,
    /// Bytes of the body as it is stored.
    pub stored: u64,
}

/// One attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentInfo {
    /// File name of the attachment.
    pub name: String,
    /// MIME type.
    pub content_type: String,
    /// Generation of the revision that brought it.
    pub revpos: u64,
    /// Digest of the stored form, if there is one.
    pub md5: Option<[u8; 16]>,
    /// Whether the stored form is gzip.
    pub is_gzip: bool,
    /// Chunks of the stored form: offset, and length where it is said.
    pub(crate) stream: Vec<(u64, Option<u64>)>,
}

/// Reads contents; keeps room for the next one.
#[derive(Debug)]
pub(crate) struct ContentReader {
    pub(crate) reader: BlockReader,
    chunk: Vec<u8>,
    room: Vec<u8>,
}

impl ContentReader {
    pub(crate) fn new(reader: BlockReader) -> ContentReader {
        ContentReader {
            reader,
            chunk: Vec::new(),
            room: Vec::new(),
        }
    }

    /// Reads the content whose chunk begins at `offset`.
    pub(crate) fn read(&mut self, offset: u64) -> Result<Content, Damage> {
        self.reader.chunk(offset, &mut self.chunk)?;
        content(&self.chunk, &mut self.room).map_err(|malformed| malformed.at(offset))
    }

    /// Reads an object that stands in a chunk of its own, such as the security object.
    pub(crate) fn object(&mut self, offset: u64) -> Result<Vec<u8>, Damage> {
        self.reader.chunk(offset, &mut self.chunk)?;
        let mut read = || {
            let (term, _) = expand(&self.chunk, &mut self.room)?;
            let mut text = Vec::new();
            json::members(&mut TermReader::new(term)?, &mut text)?;
            Ok(text)
        };
        read().map_err(|malformed: Malformed| malformed.at(offset))
    }

    /// Calls `read` with the term in the chunk at `offset`.
    pub(crate) fn term<T>(
        &mut self,
        offset: u64,
        read: impl FnOnce(&mut TermReader<'_>) -> Result<T, Malformed>,
    ) -> Result<T, Damage> {
        self.reader.chunk(offset, &mut self.chunk)?;
        let (term, _) = expand(&self.chunk, &mut self.room).map_err(|error| error.at(offset))?;
        let read = TermReader::new(term).and_then(|mut reader| read(&mut reader));
        read.map_err(|malformed| malformed.at(offset))
    }
}

/// Reads a chunk with a body and its attachments.
pub(crate) fn content(chunk: &[u8], room: &mut Vec<u8>) -> Result<Content, Malformed> {
    let mut reader = TermReader::new(chunk)?;
    reader.tuple_of(2)?;
    let (mut body, mut form) = (Vec::new(), TermForm::Plain);
    let before = reader.clone().raw()?;
    let mut stored = before.len() as u64;
    match reader.peek()? {
        tag::BINARY => {
            let packed = reader.binary()?;
            stored = packed.len() as u64;
            let (term, found) = expand(packed, room)?;
            form = found;
            body.reserve(term.len());
            json::object(&mut TermReader::new(term)?, &mut body)?;
        }
        _ => json::object(&mut reader, &mut body)?,
    }
    let attachments = match reader.peek()? {
        tag::BINARY => {
            let (term, _) = expand(reader.binary()?, room)?;
            attachments(&mut TermReader::new(term)?)?
        }
        _ => attachments(&mut reader)?,
    };
    Ok(Content {
        body,
        attachments,
        form,
        stored,
    })
}

fn attachments(reader: &mut TermReader<'_>) -> Result<Vec<AttachmentInfo>, Malformed> {
    let mut all = Vec::new();
    for _ in 0..reader.items()? {
        all.push(attachment(reader)?);
    }
    Ok(all)
}

fn attachment(reader: &mut TermReader<'_>) -> Result<AttachmentInfo, Malformed> {
    let arity = reader.tuple()?;
    if arity != 8 && arity != 6 {
        return Err(Malformed("an attachment has another size than expected"));
    }
    let name = reader.text()?.to_owned();
    let content_type = reader.text()?.to_owned();
    let stream = stream(reader)?;
    // The lengths are found while the data is read.
    reader.skip()?;
    if arity == 8 {
        reader.skip()?;
    }
    let revpos = reader.unsigned()?;
    let md5 = <[u8; 16]>::try_from(reader.binary()?).ok();
    let is_gzip = arity == 8 && matches!(reader.atom()?, b"gzip" | b"true");
    Ok(AttachmentInfo {
        name,
        content_type,
        revpos,
        md5,
        is_gzip,
        stream,
    })
}

fn stream(reader: &mut TermReader<'_>) -> Result<Vec<(u64, Option<u64>)>, Malformed> {
    if reader.is_atom() {
        return reader.skip().map(|()| Vec::new());
    }
    let count = match reader.list()? {
        List::Items(count) => count,
        List::Bytes(offsets) => {
            let offsets = offsets.iter().map(|offset| (u64::from(*offset), None));
            return Ok(offsets.collect());
        }
    };
    let mut chunks = Vec::new();
    for _ in 0..count {
        chunks.push(match reader.peek()? {
            tag::SMALL_TUPLE => {
                reader.tuple_of(2)?;
                (reader.unsigned()?, Some(reader.unsigned()?))
            }
            _ => (reader.unsigned()?, None),
        });
    }
    if count > 0 {
        reader.end_list()?;
    }
    Ok(chunks)
}

/// Reads the stored form of an attachment, chunk by chunk.
#[derive(Debug)]
pub(crate) struct StreamReader {
    reader: BlockReader,
    chunks: VecDeque<(u64, Option<u64>)>,
    bytes: Vec<u8>,
    at: usize,
}

impl StreamReader {
    pub(crate) fn new(reader: BlockReader, attachment: &AttachmentInfo) -> StreamReader {
        StreamReader {
            reader,
            chunks: attachment.stream.iter().copied().collect(),
            bytes: Vec::new(),
            at: 0,
        }
    }

    /// Goes on to the next chunk; `false` at the end.
    fn next(&mut self) -> Result<bool, Damage> {
        let Some((offset, len)) = self.chunks.pop_front() else {
            return Ok(false);
        };
        self.at = 0;
        self.reader.chunk(offset, &mut self.bytes)?;
        let found = self.bytes.len() as u64;
        match len.is_none_or(|len| len == found) {
            true => Ok(true),
            false => {
                self.bytes.clear();
                Err(Damage::new(
                    offset,
                    "a piece has another length than was noted for it",
                ))
            }
        }
    }
}

impl Read for StreamReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.bytes.len() {
            if !self
                .next()
                .map_err(|damage| io::Error::other(damage.to_string()))?
            {
                return Ok(0);
            }
        }
        let rest = &self.bytes[self.at..];
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}
