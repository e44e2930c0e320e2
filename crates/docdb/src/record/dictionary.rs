//! What the user header knows of one dictionary.
//!
//! ```text
//! +--------+-------+---------+-----------+-------+
//! | number | place | trained | documents | share |
//! +--------+-------+---------+-----------+-------+
//! ```
//! Payloads name the dictionary by its number. The place is that of a chunk with its bytes. It was
//! trained so many microseconds after the beginning of 1970, when there were so many documents, and
//! made of 1000 bytes of such documents `share` bytes.

use crate::record::fields::{self, Malformed, Reader};
use crate::revtree::{chunk, put_chunk};
use varve_btree::ChunkRef;

/// A dictionary that stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DictionaryRecord {
    pub(crate) number: u32,
    pub(crate) place: ChunkRef,
    pub(crate) trained: u64,
    pub(crate) documents: u64,
    pub(crate) share: u64,
}

impl DictionaryRecord {
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

/// Reads what [`put_all`] wrote.
pub(super) fn read_all(reader: &mut Reader<'_>) -> Result<Vec<DictionaryRecord>, Malformed> {
    let mut dictionaries = Vec::new();
    for _ in 0..reader.number()? {
        dictionaries.push(DictionaryRecord::decode(reader)?);
    }
    Ok(dictionaries)
}
