//! The value of the tree of local documents.
//!
//! ```text
//! +----------+------+--------------------------------+
//! | revision | kind | 0: JSON text to the end        |
//! |          | u8   | 1: offset and length of a chunk|
//! +----------+------+--------------------------------+
//! ```

use crate::record::fields::{self, Malformed, Reader};
use crate::revtree::{chunk, put_chunk};
use varve_btree::ChunkRef;

/// Longer bodies stand in a chunk of their own.
const LONGEST_INLINE: usize = 2048;

/// One local document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalRecord {
    /// The number behind `0-`.
    pub(crate) rev: u64,
    pub(crate) body: LocalBody,
}

/// Where a local document's JSON text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LocalBody {
    Inline(Vec<u8>),
    Chunk(ChunkRef),
}

impl LocalBody {
    /// Whether a body of that many bytes stands in the tree.
    pub(crate) fn is_inline(len: usize) -> bool {
        len <= LONGEST_INLINE
    }
}

impl LocalRecord {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        fields::put(self.rev, out);
        match &self.body {
            LocalBody::Inline(text) => {
                out.push(0);
                out.extend_from_slice(text);
            }
            LocalBody::Chunk(at) => {
                out.push(1);
                put_chunk(*at, out);
            }
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let rev = reader.number()?;
        let body = match reader.byte()? {
            0 => LocalBody::Inline(reader.rest().to_vec()),
            1 => LocalBody::Chunk(chunk(&mut reader)?),
            _ => return Err(Malformed),
        };
        Ok(LocalRecord { rev, body })
    }
}
