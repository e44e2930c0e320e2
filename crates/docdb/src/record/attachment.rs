//! The list of a revision's attachments: a chunk of its own.
//!
//! ```text
//! +-------+----------------------------------------------------------------------------+
//! | count | per attachment, in the order in which a GET lists them                     |
//! |       | +------+------+------+--------+--------+--------+--------+--------------+ |
//! |       | | name | type | md5  | revpos | coding | length | stored | data chunks: | |
//! |       | |      |      | 16 B |        | u8     |        | length | count, each  | |
//! |       | |      |      |      |        |        |        |        | offset, len  | |
//! |       | +------+------+------+--------+--------+--------+--------+--------------+ |
//! +-------+----------------------------------------------------------------------------+
//! ```
//! Name and type stand behind their lengths. Coding: 0 as it is, 1 gzip. `length` counts bytes
//! before that coding, `stored length` after it; the digest is of the stored form. Data chunks are
//! not compressed again.

use crate::record::fields::{self, Malformed, Reader};
use crate::revtree::{chunk, put_chunk};
use varve_btree::ChunkRef;

/// One attachment of one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Name; may hold slashes.
    pub name: String,
    /// MIME type as given.
    pub content_type: String,
    /// MD5 of the stored form.
    pub md5: [u8; 16],
    /// Generation of the revision that brought it.
    pub revpos: u64,
    /// Whether the stored form is gzip.
    pub is_gzip: bool,
    /// Bytes as clients see them.
    pub length: u64,
    /// Bytes of the stored form.
    pub stored_length: u64,
    /// Where the stored form stands, piece by piece.
    pub(crate) chunks: Vec<ChunkRef>,
}

impl Attachment {
    /// Bytes that the data takes in the file.
    pub(crate) fn active(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.len)).sum()
    }
}

pub(crate) fn encode_attachments(attachments: &[Attachment], out: &mut Vec<u8>) {
    fields::put(attachments.len() as u64, out);
    for attachment in attachments {
        fields::put_counted(attachment.name.as_bytes(), out);
        fields::put_counted(attachment.content_type.as_bytes(), out);
        out.extend_from_slice(&attachment.md5);
        fields::put(attachment.revpos, out);
        out.push(u8::from(attachment.is_gzip));
        fields::put(attachment.length, out);
        fields::put(attachment.stored_length, out);
        fields::put(attachment.chunks.len() as u64, out);
        for at in &attachment.chunks {
            put_chunk(*at, out);
        }
    }
}

pub(crate) fn decode_attachments(bytes: &[u8]) -> Result<Vec<Attachment>, Malformed> {
    let mut reader = Reader::new(bytes);
    let mut attachments = Vec::new();
    for _ in 0..reader.number()? {
        let mut attachment = Attachment {
            name: reader.text()?.to_owned(),
            content_type: reader.text()?.to_owned(),
            md5: *reader.array()?,
            revpos: reader.number()?,
            is_gzip: reader.byte()? != 0,
            length: reader.number()?,
            stored_length: reader.number()?,
            chunks: Vec::new(),
        };
        for _ in 0..reader.number()? {
            attachment.chunks.push(chunk(&mut reader)?);
        }
        attachments.push(attachment);
    }
    match reader.is_empty() {
        true => Ok(attachments),
        false => Err(Malformed),
    }
}
