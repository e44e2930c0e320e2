//! The first bytes of a tree file: kind and identity.
//!
//! ```text
//! byte 0         5         6       7      8        16        32         40
//!      +---------+---------+-------+------+--------+---------+----------+
//!      | "varve" | version | trees | zero | kind   | file id | checksum |
//!      | 5 B     | u8      | u8    | 1 B  | 8 B    | 16 B    | xxh3 u64 |
//!      +---------+---------+-------+------+--------+---------+----------+
//! ```
//! Numbers are little-endian. The kind is ASCII, filled up with zeros. The checksum covers all
//! bytes before it. A header with one flipped bit is read as it was: of all headers that differ in
//! one bit, the checksum fits only that one.

use crate::TreeError;
use std::path::Path;
use varve_base::StorageFile;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

mod at {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = MAGIC + 5;
    pub const TREES: usize = VERSION + 1;
    pub const ZERO: usize = TREES + 1;
    pub const KIND: usize = ZERO + 1;
    pub const ID: usize = KIND + 8;
    pub const CHECKSUM: usize = ID + 16;
}

/// Length of the header; chunks begin behind it.
pub(crate) const HEADER_LEN: usize = at::CHECKSUM + 8;
const _: () = assert!(at::KIND == 8 && at::ID == 16 && HEADER_LEN == 40);

const MAGIC: &[u8; 5] = b"varve";
const VERSION: u8 = 1;

/// The header's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: [u8; 8],
    pub(crate) trees: u8,
    /// Random, so that no document can hold a commit record of the file that it is put into.
    pub(crate) id: [u8; 16],
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[at::MAGIC..at::VERSION].copy_from_slice(MAGIC);
        out[at::VERSION] = VERSION;
        out[at::TREES] = self.trees;
        out[at::KIND..at::ID].copy_from_slice(&self.kind);
        out[at::ID..at::CHECKSUM].copy_from_slice(&self.id);
        let checksum = xxh3_64(&out[..at::CHECKSUM]);
        out[at::CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads the header of `file`; also returns whether a bit of it had to be flipped back.
    ///
    /// # Errors
    /// [`TreeError::Foreign`], [`TreeError::Version`], [`TreeError::Damaged`], and
    /// [`TreeError::Unfinished`] for a file that ends inside its header.
    pub(crate) fn read(file: &dyn StorageFile) -> Result<(Header, bool), TreeError> {
        let mut bytes = [0; HEADER_LEN];
        let got = file.read_at(0, &mut bytes)?;
        match Header::read_as_it_is(file, &bytes, got) {
            Err(error) if got == HEADER_LEN => {
                let mended = Header::mended(bytes, file.path());
                mended.map(|header| (header, true)).ok_or(error)
            }
            read => read.map(|header| (header, false)),
        }
    }

    /// Whether these may be the first bytes of a header, of which the last one was torn.
    pub(crate) fn is_torn(bytes: &[u8]) -> bool {
        bytes
            .split_last()
            .is_some_and(|(_, before)| MAGIC.starts_with(before))
    }

    /// The header that differs in one bit.
    fn mended(mut bytes: [u8; HEADER_LEN], path: &Path) -> Option<Header> {
        for bit in 0..HEADER_LEN * 8 {
            let mask = 1 << (bit % 8);
            bytes[bit / 8] ^= mask;
            if let (true, Ok(header)) = (bytes.starts_with(MAGIC), Header::decode(&bytes, path)) {
                return Some(header);
            }
            bytes[bit / 8] ^= mask;
        }
        None
    }

    fn read_as_it_is(
        file: &dyn StorageFile,
        bytes: &[u8; HEADER_LEN],
        got: usize,
    ) -> Result<Header, TreeError> {
        let magic = got.min(MAGIC.len());
        if bytes[..magic] != MAGIC[..magic] {
            let path = file.path().to_owned();
            return Err(TreeError::Foreign { path });
        }
        if got < HEADER_LEN {
            let path = file.path().to_owned();
            return Err(TreeError::Unfinished { path });
        }
        Header::decode(bytes, file.path())
    }

    fn decode(bytes: &[u8; HEADER_LEN], path: &Path) -> Result<Header, TreeError> {
        if bytes[at::VERSION] != VERSION {
            return Err(TreeError::Version {
                path: path.to_owned(),
                found: bytes[at::VERSION],
                known: VERSION,
            });
        }
        let checksum = xxh3_64(&bytes[..at::CHECKSUM]).to_le_bytes();
        if bytes[at::CHECKSUM..] != checksum || bytes[at::ZERO] != 0 {
            return Err(TreeError::damaged(
                path,
                0,
                "the file header's checksum does not match",
            ));
        }
        let mut header = Header {
            kind: [0; 8],
            trees: bytes[at::TREES],
            id: [0; 16],
        };
        header.kind.copy_from_slice(&bytes[at::KIND..at::ID]);
        header.id.copy_from_slice(&bytes[at::ID..at::CHECKSUM]);
        Ok(header)
    }

    /// The kind for a message.
    pub(crate) fn kind_name(kind: &[u8; 8]) -> String {
        let end = kind.iter().position(|&b| b == 0).unwrap_or(kind.len());
        kind[..end].escape_ascii().to_string()
    }

    /// Ties a commit record to this file and this place in it.
    pub(crate) fn seed(&self, offset: u64) -> u64 {
        xxh3_64_with_seed(&self.id, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        kind: *b"database",
        trees: 4,
        id: *b"0123456789abcdef",
    };

    #[test]
    fn golden_header() {
        let bytes = HEADER.encode();
        assert_eq!(&bytes[..32], b"varve\x01\x04\x00database0123456789abcdef");
        assert_eq!(bytes[32..], [43, 139, 175, 193, 3, 222, 56, 15]);
        assert_eq!(Header::decode(&bytes, Path::new("f")).unwrap(), HEADER);
    }

    #[test]
    fn one_flipped_bit_is_flipped_back_and_two_are_refused() {
        let read = |bytes: [u8; HEADER_LEN]| {
            let storage = varve_base::MemoryStorage::with_files([("f".into(), bytes.to_vec())]);
            let file =
                varve_base::Storage::open(&storage, Path::new("f"), varve_base::OpenMode::Read);
            Header::read(file.unwrap().as_ref())
        };
        assert_eq!(read(HEADER.encode()).unwrap(), (HEADER, false));
        for bit in 0..HEADER_LEN * 8 {
            let mut bytes = HEADER.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(bytes).unwrap(), (HEADER, true), "bit {bit}");
            let other = bit / 2;
            if other != bit {
                bytes[other / 8] ^= 1 << (other % 8);
                assert!(read(bytes).is_err(), "bits {bit} and {other}");
            }
        }
    }
}
