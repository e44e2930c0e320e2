//! Blocks of a file, and chunks in them.
//!
//! ```text
//! block: +--------+------------+   marker: 0 data, 1 a header begins here
//! 4 KiB  | marker | 4095 bytes |
//!        +--------+------------+
//! chunk: +-------------------+----------+---------+
//!        | flag bit, length  | checksum | payload |   big-endian; the checksum is there if the flag is set
//!        | u32               | 16 B     |         |
//!        +-------------------+----------+---------+
//! ```
//! A chunk begins anywhere and goes on over markers, which do not count for its length. Offsets are those of the file,
//! markers included. The checksum is XXH3-128 (big-endian), in older files MD5.

use super::damage::Damage;
use md5::{Digest, Md5};
use std::sync::Arc;
use varve_base::StorageFile;
use xxhash_rust::xxh3::xxh3_128;

/// Bytes of a block, its marker included.
pub(crate) const BLOCK: u64 = 4096;
/// The marker of a block that begins with a header.
pub(crate) const HEADER: u8 = 1;
/// Bytes of a checksum.
pub(crate) const CHECKSUM: usize = 16;
/// Set in the length of a chunk with a checksum.
const HAS_CHECKSUM: u32 = 1 << 31;
/// Longer chunks are taken for damage: CouchDB's documents have 8 MB by default.
const LONGEST: usize = 256 << 20;

/// Smallest and largest number of bytes that are read at once for chunks that lie together.
const LEAST_WINDOW: usize = 4 << 10;
const MOST_WINDOW: usize = 128 << 10;

/// Reads the data of one file. Clones read side by side.
#[derive(Clone, Debug)]
pub(crate) struct BlockReader {
    file: Arc<dyn StorageFile>,
    /// Bytes that may be read; those written later do not count.
    len: u64,
    window: Vec<u8>,
    /// Offset of the window in the file.
    start: u64,
    next_window: usize,
}

impl BlockReader {
    pub(crate) fn new(file: Arc<dyn StorageFile>, len: u64) -> BlockReader {
        BlockReader {
            file,
            len,
            window: Vec::new(),
            start: 0,
            next_window: LEAST_WINDOW,
        }
    }

    /// Length of the file when it was opened.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The bytes of the file from `offset` on, at least one and at most `wanted`.
    fn raw(&mut self, offset: u64, wanted: usize) -> Result<&[u8], Damage> {
        let end = self.start + self.window.len() as u64;
        if offset < self.start || offset >= end {
            self.fill(offset, wanted)?;
        }
        let from = (offset - self.start) as usize;
        let rest = &self.window[from..];
        Ok(&rest[..rest.len().min(wanted)])
    }

    fn fill(&mut self, offset: u64, wanted: usize) -> Result<(), Damage> {
        if offset >= self.len {
            let reason = format!("the file ends before this, at byte {}", self.len);
            return Err(Damage::new(offset, reason));
        }
        let end = self.start + self.window.len() as u64;
        let is_near = offset >= end && offset - end <= MOST_WINDOW as u64;
        self.next_window = match is_near {
            true => (self.next_window * 2).min(MOST_WINDOW),
            false => LEAST_WINDOW,
        };
        let size = self.next_window.max(wanted.min(MOST_WINDOW)) as u64;
        let size = size.min(self.len - offset) as usize;
        self.window.resize(size, 0);
        self.start = offset;
        let got = self.file.read_at(offset, &mut self.window);
        match got {
            Ok(0) => {
                self.window.clear();
                Err(Damage::new(offset, "the file has become shorter"))
            }
            Ok(got) => {
                self.window.truncate(got);
                Ok(())
            }
            Err(error) => {
                self.window.clear();
                Err(Damage::new(offset, error.to_string()))
            }
        }
    }

    /// The first byte of a block.
    pub(crate) fn marker(&mut self, block: u64) -> Result<u8, Damage> {
        Ok(self.raw(block.saturating_mul(BLOCK), 1)?[0])
    }

    /// Appends `len` bytes of data from `offset` on to `out`, without markers; returns where the data behind begins.
    pub(crate) fn data(
        &mut self,
        offset: u64,
        len: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, Damage> {
        // Before any memory is reserved for a length that is not there.
        if len as u64 > self.len.saturating_sub(offset) {
            let reason = format!(
                "{len} bytes are to be here, and the file ends at {}",
                self.len
            );
            return Err(Damage::new(offset, reason));
        }
        out.reserve(len);
        let (mut at, mut left) = (offset, len);
        while left > 0 {
            let in_block = at % BLOCK;
            if in_block == 0 {
                at += 1;
                continue;
            }
            let here = (BLOCK - in_block).min(left as u64) as usize;
            let bytes = self.raw(at, here)?;
            out.extend_from_slice(bytes);
            let got = bytes.len();
            at += got as u64;
            left -= got;
        }
        Ok(at)
    }

    fn length(&mut self, offset: u64) -> Result<(u32, u64), Damage> {
        let mut word = Vec::new();
        let behind = self.data(offset, size_of::<u32>(), &mut word)?;
        let word = word
            .try_into()
            .map_err(|_| Damage::new(offset, "no length"))?;
        Ok((u32::from_be_bytes(word), behind))
    }

    /// Puts a chunk's payload into `out`, and checks it if it has a checksum.
    pub(crate) fn chunk(&mut self, offset: u64, out: &mut Vec<u8>) -> Result<(), Damage> {
        out.clear();
        let (word, behind) = self.length(offset)?;
        let has_checksum = word & HAS_CHECKSUM != 0;
        let len = (word & !HAS_CHECKSUM) as usize;
        if len > LONGEST {
            let reason = format!("a chunk of {len} bytes is longer than any that are read");
            return Err(Damage::new(offset, reason));
        }
        let sum_len = usize::from(has_checksum) * CHECKSUM;
        let mut sum = Vec::with_capacity(CHECKSUM);
        let behind = self.data(behind, sum_len, &mut sum)?;
        self.data(behind, len, out)?;
        match sum.as_slice().try_into() {
            Ok(sum) if !is_sum(sum, out) => {
                Err(Damage::new(offset, "the checksum does not fit the bytes"))
            }
            _ => Ok(()),
        }
    }

    /// The bytes behind the marker of a block that begins with a header, once their checksum fits.
    pub(crate) fn header(&mut self, block: u64, out: &mut Vec<u8>) -> Result<(), Damage> {
        let offset = block.saturating_mul(BLOCK);
        let (len, behind) = self.length(offset)?;
        let len = (len as usize)
            .checked_sub(CHECKSUM)
            .filter(|len| *len <= LONGEST);
        let len = len.ok_or_else(|| Damage::new(offset, "a header has no such length"))?;
        let mut sum = Vec::with_capacity(CHECKSUM);
        let behind = self.data(behind, CHECKSUM, &mut sum)?;
        out.clear();
        self.data(behind, len, out)?;
        let sum = sum.as_slice().try_into();
        match sum.is_ok_and(|sum| is_sum(sum, out)) {
            true => Ok(()),
            false => Err(Damage::new(offset, "the checksum does not fit the header")),
        }
    }
}

fn is_sum(sum: &[u8; CHECKSUM], bytes: &[u8]) -> bool {
    xxh3_128(bytes).to_be_bytes() == *sum || Md5::digest(bytes).as_slice() == sum.as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use varve_base::{MemoryStorage, OpenMode, Storage};

    fn reader(bytes: &[u8]) -> BlockReader {
        let storage = MemoryStorage::default();
        let file = storage.open(Path::new("f"), OpenMode::CreateNew).unwrap();
        file.append(bytes).unwrap();
        BlockReader::new(file, bytes.len() as u64)
    }

    #[test]
    fn data_goes_on_over_the_marker_of_the_next_block() {
        let mut bytes: Vec<u8> = (0..12_000_u32).map(|at| (at % 251) as u8).collect();
        for block in 0..3 {
            bytes[block * 4096] = 0xff;
        }
        let mut reader = reader(&bytes);
        let mut out = Vec::new();
        assert_eq!(reader.data(4090, 8, &mut out).unwrap(), 4099);
        let expected = [&bytes[4090..4096], &bytes[4097..4099]].concat();
        assert_eq!(out, expected);
        out.clear();
        assert_eq!(reader.data(0, 5000, &mut out).unwrap(), 5002);
        assert!(!out.contains(&0xff) && out.len() == 5000);
    }

    #[test]
    fn chunks_with_either_checksum_are_read_and_wrong_ones_are_not() {
        let payload = b"some payload";
        for sum in [
            xxh3_128(payload).to_be_bytes().to_vec(),
            Md5::digest(payload).to_vec(),
        ] {
            let word = (payload.len() as u32 | HAS_CHECKSUM).to_be_bytes();
            let mut bytes = [b"\0", &word[..], &sum, payload].concat();
            let mut out = Vec::new();
            reader(&bytes).chunk(1, &mut out).unwrap();
            assert_eq!(out, payload);
            *bytes.last_mut().unwrap() ^= 1;
            let damage = reader(&bytes).chunk(1, &mut out).unwrap_err();
            assert_eq!(
                damage.to_string(),
                "byte 1: the checksum does not fit the bytes"
            );
        }
    }

    #[test]
    fn a_length_that_is_not_there_reserves_nothing() {
        let bytes = [
            &b"\0"[..],
            &(HAS_CHECKSUM | 200_000_000).to_be_bytes(),
            &[7; 100],
        ]
        .concat();
        let mut out = Vec::new();
        let damage = reader(&bytes).chunk(1, &mut out).unwrap_err();
        assert!(damage.reason.contains("200000000 bytes"), "{damage}");
        assert!(out.capacity() < 1000);
        assert!(reader(&bytes).chunk(5000, &mut out).is_err());
    }
}
