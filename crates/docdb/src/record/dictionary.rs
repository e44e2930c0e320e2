//! Entry of one dictionary in the user header.
//!
//! ```text
//! +--------+-------+---------+-----------+-------+
//! | number | place | trained | documents | share |
//! +--------+-------+---------+-----------+-------+
//! ```
//! Payloads name the dictionary by its number. The place is that of a chunk with its bytes, behind
//! which stands a copy of that chunk. It was trained so many microseconds after the beginning of
//! 1970, when there were so many documents, and made of 1000 bytes of such documents `share` bytes.

use crate::record::fields::{self, Malformed, Reader};
use crate::revtree::{chunk, put_chunk};
use varve_btree::{ChunkRef, EncodedChunk, Snapshot, Transaction, TreeError};

/// A dictionary that stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DictionaryRecord {
    pub(crate) number: u32,
    pub(crate) place: ChunkRef,
    pub(crate) trained: u64,
    pub(crate) documents: u64,
    pub(crate) share: u64,
}

/// Appends a dictionary's chunk, and a copy right behind it: nearly all bodies may need it, so one
/// damaged byte must not make it unreadable. Returns the chunk's place.
pub(crate) fn append_twice(
    txn: &mut Transaction<'_>,
    chunk: &EncodedChunk,
) -> Result<ChunkRef, TreeError> {
    let place = txn.append_chunk(chunk)?;
    txn.append_chunk(chunk)?;
    Ok(place)
}

impl DictionaryRecord {
    /// Where the copy is, if there is one; files of earlier versions have none.
    pub(crate) fn copy(&self) -> ChunkRef {
        let len = u64::from(self.place.len);
        ChunkRef {
            offset: self.place.offset.saturating_add(len),
            len: self.place.len,
        }
    }

    /// Its chunk, or the copy if that cannot be read.
    pub(crate) fn chunk(&self, of: &Snapshot) -> Result<EncodedChunk, TreeError> {
        let first = of.stored_chunk(self.place);
        first.or_else(|error| of.stored_chunk(self.copy()).map_err(|_| error))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        fields::put(u64::from(self.number), out);
        put_chunk(self.place, out);
        for number in [self.trained, self.documents, self.share] {
            fields::put(number, out);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(DictionaryRecord {
            number: reader.number_u32()?,
            place: chunk(reader)?,
            trained: reader.number()?,
            documents: reader.number()?,
            share: reader.number()?,
        })
    }
}

/// Appends how many there are, and all of them.
pub(super) fn put_all(dictionaries: &[DictionaryRecord], out: &mut Vec<u8>) {
    fields::put(dictionaries.len() as u64, out);
    for dictionary in dictionaries {
        dictionary.encode(out);
    }
}

/// Reads the output of [`put_all`].
pub(super) fn read_all(reader: &mut Reader<'_>) -> Result<Vec<DictionaryRecord>, Malformed> {
    let mut dictionaries = Vec::new();
    for _ in 0..reader.number()? {
        dictionaries.push(DictionaryRecord::decode(reader)?);
    }
    Ok(dictionaries)
}
