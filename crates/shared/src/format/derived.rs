//! Derived files: names of their objects, and the list of parts that makes one version.
//!
//! ```text
//! derived/FILE/version/RANK-NONCE   a version; RANK has 20 digits
//! derived/FILE/part/HASH            bytes of versions; HASH is the first half of their SHA-256
//!
//! body of a version: label counted | count varint, then each part: hash 16 | length varint
//! ```

use super::Nonce;
use super::envelope::{self, MAGIC_LEN};
use super::key::{SLOT_DIGITS, hash, hex, parse_hex, parse_slot};
use varve_base::varint::{self, Reader};

const MAGIC: [u8; MAGIC_LEN] = *b"vrv-drv\n";
/// Prefix of the keys of all derived files.
pub(crate) const DERIVED: &str = "derived/";
const VERSION: &str = "version/";
const PART: &str = "part/";

/// Makes the keys of one derived file.
#[derive(Clone, Debug)]
pub(crate) struct DerivedKeys(String);

impl DerivedKeys {
    pub(crate) fn new(file: &str) -> DerivedKeys {
        DerivedKeys(format!("{DERIVED}{file}/"))
    }

    /// Prefix of all keys of the file.
    pub(crate) fn all(&self) -> &str {
        &self.0
    }

    pub(crate) fn version(&self, name: &VersionName) -> String {
        let (rank, nonce) = (name.rank, hex(&name.nonce));
        format!("{}{VERSION}{rank:0SLOT_DIGITS$}-{nonce}", self.0)
    }

    pub(crate) fn version_of(&self, key: &str) -> Option<VersionName> {
        let rest = key.strip_prefix(&self.0)?.strip_prefix(VERSION)?;
        let (rank, nonce) = rest.split_once('-')?;
        Some(VersionName {
            rank: parse_slot(rank)?,
            nonce: parse_hex(nonce)?,
        })
    }

    pub(crate) fn part(&self, hash: &[u8; 16]) -> String {
        format!("{}{PART}{}", self.0, hex(hash))
    }

    /// The hash of a part's key.
    pub(crate) fn part_of(&self, key: &str) -> Option<[u8; 16]> {
        parse_hex(key.strip_prefix(&self.0)?.strip_prefix(PART)?)
    }

    /// The file of any object of one.
    pub(crate) fn file_of(key: &str) -> Option<&str> {
        let (directory, _) = key.strip_prefix(DERIVED)?.rsplit_once('/')?;
        let (file, _) = directory.rsplit_once('/')?;
        Some(file)
    }
}

/// Name of a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VersionName {
    /// One of a higher rank is worth more.
    pub(crate) rank: u64,
    pub(crate) nonce: Nonce,
}

/// A run of bytes of a derived file, an object of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) hash: [u8; 16],
    pub(crate) len: u64,
}

impl Part {
    pub(crate) fn of(bytes: &[u8]) -> Part {
        Part {
            hash: hash(bytes),
            len: bytes.len() as u64,
        }
    }

    pub(crate) fn is_of(&self, bytes: &[u8]) -> bool {
        *self == Part::of(bytes)
    }
}

/// One version of a derived file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DerivedManifest {
    /// Bytes of the process that has stored it.
    pub(crate) label: Vec<u8>,
    /// All of the file, in order.
    pub(crate) parts: Vec<Part>,
}

impl DerivedManifest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = envelope::begin(MAGIC);
        varint::put_counted(&self.label, &mut out);
        varint::put(self.parts.len() as u64, &mut out);
        for part in &self.parts {
            out.extend_from_slice(&part.hash);
            varint::put(part.len, &mut out);
        }
        envelope::seal(&mut out);
        out
    }

    /// # Errors
    /// The rule that the bytes break.
    pub(crate) fn decode(bytes: &[u8]) -> Result<DerivedManifest, &'static str> {
        let (body, _) = envelope::open(bytes, MAGIC)?;
        let mut reader = Reader::new(body);
        let manifest = read(&mut reader).ok_or("its fields are not those of a version")?;
        let lengths = manifest.parts.iter().map(|part| part.len);
        if lengths.into_iter().try_fold(0, u64::checked_add).is_none() {
            return Err("its parts are longer than any file");
        }
        match reader.is_empty() {
            true => Ok(manifest),
            false => Err("it has bytes behind its end"),
        }
    }
}

fn read(reader: &mut Reader<'_>) -> Option<DerivedManifest> {
    let label = reader.counted()?.to_vec();
    let count = reader.u64()?;
    let mut parts = Vec::new();
    for _ in 0..count {
        parts.push(Part {
            hash: *reader.array()?,
            len: reader.u64()?,
        });
    }
    Some(DerivedManifest { label, parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_they_were_made_of() {
        let keys = DerivedKeys::new("db/x/y");
        let name = VersionName {
            rank: 7,
            nonce: [0xab; 16],
        };
        let key = keys.version(&name);
        let digits = "0000000000000000000".to_owned() + "7";
        assert_eq!(
            key,
            format!("derived/db/x/y/version/{digits}-{}", "ab".repeat(16))
        );
        assert_eq!(keys.version_of(&key), Some(name));
        assert_eq!(DerivedKeys::file_of(&key), Some("db/x/y"));
        let part = Part::of(b"bytes");
        let key = keys.part(&part.hash);
        assert_eq!(keys.part_of(&key), Some(part.hash));
        assert_eq!(keys.version_of(&key), None);
        assert_eq!(DerivedKeys::new("db/x").part_of(&key), None);
        assert_eq!(DerivedKeys::file_of("derived/x"), None);
    }

    #[test]
    fn golden_version() {
        let manifest = DerivedManifest {
            label: b"ab".to_vec(),
            parts: vec![Part {
                hash: [5; 16],
                len: 300,
            }],
        };
        let bytes = manifest.encode();
        let golden = b"vrv-drv\n\x01\x02ab\x01\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\xac\x02";
        assert_eq!(&bytes[..bytes.len() - 8], golden);
        assert_eq!(DerivedManifest::decode(&bytes), Ok(manifest.clone()));
        for cut in 0..bytes.len() {
            assert!(DerivedManifest::decode(&bytes[..cut]).is_err(), "{cut}");
        }
        let part = Part {
            hash: [0; 16],
            len: u64::MAX,
        };
        let parts = vec![part, part];
        let endless = DerivedManifest { parts, ..manifest }.encode();
        assert!(DerivedManifest::decode(&endless).is_err());
    }
}
