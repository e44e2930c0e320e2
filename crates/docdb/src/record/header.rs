//! The user header of every commit.
//!
//! ```text
//! byte 0         1       17        25
//!      +---------+-------+---------+------------+-----------+-------+----------------+---------+
//!      | version | uuid  | created | update seq | purge seq | revs  | security       | setting |
//!      | u8      | 16 B  | u64 LE  |            |           | limit | offset, length | bytes   |
//!      +---------+-------+---------+------------+-----------+-------+----------------+---------+
//!      +--------+-------+----------------------------------+------+-------+----------------+-------+
//!      | chosen | forms | per form of chunks, in the order | next | count | per dictionary | holes |
//!      | bytes  |       | of their numbers: chunks, bytes  |      |       |                |       |
//!      +--------+-------+----------------------------------+------+-------+----------------+-------+
//! ```
//! `created` is in microseconds since 1970. The security object is a chunk of JSON text; length 0
//! where none was set. `setting` is how all bodies are compressed, in the words of the configuration;
//! empty where they differ. In version 1 it is missing, and not known. `chosen` is how this database
//! is to be compressed whatever the configuration says; empty where that counts. The counts are of
//! all chunks and nodes in the file; `forms` is 0 where they are not known. Then come the number of
//! the next dictionary and the dictionaries of the file, the one in use last, and how many
//! bytes of the file are holes. Version 3 ends before `holes`, version 2 before `chosen`. Version 5 has one more byte,
//! the properties with which the database was made: bit 0 says that it is partitioned, bit 1 that it has access, and with
//! that a fifth tree. A database without any has version 4, which earlier releases read, too.

use super::dictionary::{self, DictionaryRecord};
use crate::record::fields::{self, Malformed, Reader};
use crate::record::{MOST_TREES, TREES};
use crate::revtree::{chunk, put_chunk};
use varve_btree::{ChunkCount, ChunkForm, ChunkRef, ChunkStats};
use varve_codec::EngineSetting;

const VERSION: u8 = 5;
/// A header of this version ends behind `holes`.
const WITHOUT_PROPERTIES: u8 = 4;
/// The bit of the properties of a partitioned database.
const PARTITIONED: u8 = 1;
/// The bit of the properties of a database with access.
const ACCESS: u8 = 2;
/// A header of this version ends behind `setting`.
const WITHOUT_CHOICE: u8 = 2;
/// A header of this version ends behind the offset of the security object.
const WITHOUT_SETTING: u8 = 1;
const NO_CHUNK: ChunkRef = ChunkRef { offset: 0, len: 0 };

/// State of a database besides its trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) uuid: [u8; 16],
    pub(crate) created: u64,
    pub(crate) update_seq: u64,
    pub(crate) purge_seq: u64,
    pub(crate) revs_limit: u64,
    pub(crate) security: Option<ChunkRef>,
    /// How all bodies are compressed that could be made shorter; `None` if that is not known.
    pub(crate) setting: Option<EngineSetting>,
    /// How this database is to be compressed; `None` if the configuration says it.
    pub(crate) chosen: Option<EngineSetting>,
    /// All chunks and nodes in the file; `None` where an earlier version did not count them.
    pub(crate) chunk_stats: Option<ChunkStats>,
    /// The number that the next dictionary gets, or a higher one.
    pub(crate) next_dictionary: u32,
    /// The dictionaries in the file; new bodies use the last one.
    pub(crate) dictionaries: Vec<DictionaryRecord>,
    /// Bytes of the file that were given back to the system.
    pub(crate) holes: u64,
    /// Ids have a partition; this never changes.
    pub(crate) is_partitioned: bool,
    /// Documents have readers of their own; this never changes.
    pub(crate) has_access: bool,
}

impl Header {
    /// One with a value in every field.
    #[cfg(test)]
    pub(crate) fn sample() -> Header {
        let mut chunk_stats = ChunkStats::default();
        let count = ChunkCount {
            chunks: 2,
            bytes: 300,
        };
        chunk_stats.add(ChunkForm::ALL[1], count);
        Header {
            uuid: *b"0123456789abcdef",
            created: 0x0102_0304_0506_0708,
            update_seq: 300,
            purge_seq: 0,
            revs_limit: 1000,
            security: Some(ChunkRef { offset: 64, len: 9 }),
            setting: Some(EngineSetting::ZSTD),
            chosen: Some(EngineSetting::SNAPPY),
            chunk_stats: Some(chunk_stats),
            next_dictionary: 3,
            dictionaries: vec![DictionaryRecord {
                number: 2,
                place: ChunkRef { offset: 96, len: 7 },
                trained: 9,
                documents: 1000,
                share: 310,
            }],
            holes: 130,
            is_partitioned: false,
            has_access: false,
        }
    }

    /// How many trees the file has.
    pub(crate) fn trees(&self) -> usize {
        match self.has_access {
            true => MOST_TREES,
            false => TREES,
        }
    }

    /// Properties that this release does not know cannot be left aside: they decide what the database may hold.
    fn set_properties(&mut self, properties: u8) -> Result<(), Malformed> {
        if properties & !(PARTITIONED | ACCESS) != 0 {
            return Err(Malformed);
        }
        self.is_partitioned = properties & PARTITIONED != 0;
        self.has_access = properties & ACCESS != 0;
        Ok(())
    }

    fn properties(&self) -> u8 {
        (u8::from(self.is_partitioned) * PARTITIONED) | (u8::from(self.has_access) * ACCESS)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![match self.properties() {
            0 => WITHOUT_PROPERTIES,
            _ => VERSION,
        }];
        out.extend_from_slice(&self.uuid);
        out.extend_from_slice(&self.created.to_le_bytes());
        for number in [self.update_seq, self.purge_seq, self.revs_limit] {
            fields::put(number, &mut out);
        }
        put_chunk(self.security.unwrap_or(NO_CHUNK), &mut out);
        for setting in [self.setting, self.chosen] {
            let setting = setting.map(|setting| setting.to_string());
            fields::put_counted(setting.unwrap_or_default().as_bytes(), &mut out);
        }
        put_chunk_stats(self.chunk_stats.as_ref(), &mut out);
        fields::put(u64::from(self.next_dictionary), &mut out);
        dictionary::put_all(&self.dictionaries, &mut out);
        fields::put(self.holes, &mut out);
        if self.properties() > 0 {
            out.push(self.properties());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Header, Malformed> {
        let mut reader = Reader::new(bytes);
        let version = reader.byte()?;
        if !(WITHOUT_SETTING..=VERSION).contains(&version) {
            return Err(Malformed);
        }
        let has_choice = version > WITHOUT_CHOICE;
        let mut header = Header {
            uuid: *reader.array()?,
            created: u64::from_le_bytes(*reader.array()?),
            update_seq: reader.number()?,
            purge_seq: reader.number()?,
            revs_limit: reader.number()?,
            security: Some(chunk(&mut reader)?).filter(|chunk| chunk.len > 0),
            setting: match version {
                WITHOUT_SETTING => None,
                _ => reader.text()?.parse().ok(),
            },
            chosen: match has_choice {
                true => reader.text()?.parse().ok(),
                false => None,
            },
            chunk_stats: match has_choice {
                true => read_chunk_stats(&mut reader)?,
                false => None,
            },
            next_dictionary: match has_choice {
                true => reader.number_u32()?,
                false => 1,
            },
            dictionaries: match has_choice {
                true => dictionary::read_all(&mut reader)?,
                false => Vec::new(),
            },
            holes: match version {
                WITHOUT_PROPERTIES.. => reader.number()?,
                _ => 0,
            },
            is_partitioned: false,
            has_access: false,
        };
        if version == VERSION {
            header.set_properties(reader.byte()?)?;
        }
        match reader.is_empty() {
            true => Ok(header),
            false => Err(Malformed),
        }
    }
}

fn put_chunk_stats(chunk_stats: Option<&ChunkStats>, out: &mut Vec<u8>) {
    let Some(chunk_stats) = chunk_stats else {
        return fields::put(0, out);
    };
    fields::put(ChunkForm::ALL.len() as u64, out);
    for form in ChunkForm::ALL {
        let count = chunk_stats.of(form);
        fields::put(count.chunks, out);
        fields::put(count.bytes, out);
    }
}

fn read_chunk_stats(reader: &mut Reader<'_>) -> Result<Option<ChunkStats>, Malformed> {
    let forms = reader.number()?;
    if forms == 0 {
        return Ok(None);
    }
    if forms > ChunkForm::ALL.len() as u64 {
        return Err(Malformed);
    }
    let mut chunk_stats = ChunkStats::default();
    for form in ChunkForm::ALL.into_iter().take(forms as usize) {
        let (chunks, bytes) = (reader.number()?, reader.number()?);
        chunk_stats.add(form, ChunkCount { chunks, bytes });
    }
    Ok(Some(chunk_stats))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_database_with_properties_has_a_byte_of_them() {
        let plain = Header::sample();
        let partitioned = Header {
            is_partitioned: true,
            ..plain.clone()
        };
        let mut bytes = plain.encode();
        bytes[0] = 5;
        bytes.push(1);
        assert_eq!(partitioned.encode(), bytes);
        assert_eq!(Header::decode(&bytes).as_ref(), Ok(&partitioned));
        let with_access = Header {
            has_access: true,
            ..Header::sample()
        };
        let encoded = with_access.encode();
        assert_eq!(encoded.last(), Some(&2));
        assert_eq!(Header::decode(&encoded).as_ref(), Ok(&with_access));
        assert_eq!((with_access.trees(), Header::sample().trees()), (5, 4));
        bytes[0] = 4;
        assert_eq!(Header::decode(&bytes), Err(Malformed));
        bytes[0] = 5;
        *bytes.last_mut().unwrap() = 4;
        assert_eq!(Header::decode(&bytes), Err(Malformed));
    }

    #[test]
    fn golden_header() {
        let header = Header::sample();
        let bytes = header.encode();
        let version_2 = b"\x040123456789abcdef\x08\x07\x06\x05\x04\x03\x02\x01\
                          \xac\x02\x00\xe8\x07\x40\x09\x06zstd_3";
        let rest = b"\x06snappy\x06\x00\x00\x02\xac\x02\x00\x00\x00\x00\x00\x00\x00\x00\
                     \x03\x01\x02\x60\x07\x09\xe8\x07\xb6\x02\x82\x01";
        assert_eq!(bytes, [&version_2[..], rest].concat());
        assert_eq!(Header::decode(&bytes).as_ref(), Ok(&header));
        for len in 0..bytes.len() {
            assert_eq!(Header::decode(&bytes[..len]), Err(Malformed), "{len}");
        }
        let mut older = bytes[..bytes.len() - 2].to_vec();
        older[0] = 3;
        let header = Header { holes: 0, ..header };
        assert_eq!(Header::decode(&older).as_ref(), Ok(&header));
        older.truncate(version_2.len());
        older[0] = 2;
        let without_choice = Header {
            chosen: None,
            chunk_stats: None,
            next_dictionary: 1,
            dictionaries: Vec::new(),
            ..header
        };
        assert_eq!(Header::decode(&older).as_ref(), Ok(&without_choice));
        older.truncate(older.len() - 7);
        older[0] = 1;
        let unknown = Header {
            setting: None,
            ..without_choice
        };
        assert_eq!(Header::decode(&older).as_ref(), Ok(&unknown));
        assert_eq!(Header::decode(&unknown.encode()), Ok(unknown));
    }
}
