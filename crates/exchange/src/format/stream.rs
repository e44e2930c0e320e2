//! Headers of the store's files in a stream clone. The contents follow each header.
//!
//! ```text
//! version 1:  name \0 size in decimal digits \n
//!
//! version 2:  +------------+---------------------+--------------+------+
//!             | "s" or "c" | uvarint name length | uvarint size | name |
//!             +------------+---------------------+--------------+------+
//! ```
//!
//! "s" is a file of the store, "c" one of `.hg/cache`; version 1 has only the former. Directories in
//! names are encoded in version 1, as in `fncache`, and not in version 2.
//!
//! Source: Mercurial `streamclone.py` (the format only).

use super::input::{read_array, read_into};
use crate::ExchangeError;
use std::io::Read;
use varve_base::varint;
use varve_repo::{decode_directories, encode_directories};

/// Longest name of a file, and longest line before a file of version 1.
const LONGEST_NAME: usize = 64 << 10;

/// Directory that a file of a stream belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamLocation {
    /// `.hg/store`.
    Store,
    /// `.hg/cache`.
    Cache,
}

impl StreamLocation {
    /// First byte of a header of version 2.
    pub fn letter(self) -> u8 {
        match self {
            StreamLocation::Store => b's',
            StreamLocation::Cache => b'c',
        }
    }
}

/// Form of the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamVersion {
    V1,
    V2,
}

/// One file of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamFileHeader {
    pub(crate) location: StreamLocation,
    /// Without any encoding.
    pub(crate) name: Vec<u8>,
    /// Bytes of contents that follow.
    pub(crate) len: u64,
}

impl StreamVersion {
    /// Appends the header of a file of the store; version 1 has no other files.
    pub(crate) fn encode(
        self,
        location: StreamLocation,
        (name, len): (&[u8], u64),
        out: &mut Vec<u8>,
    ) {
        match self {
            StreamVersion::V1 => {
                out.extend_from_slice(&encode_directories(name));
                out.push(0);
                out.extend_from_slice(len.to_string().as_bytes());
                out.push(b'\n');
            }
            StreamVersion::V2 => {
                out.push(location.letter());
                varint::put(name.len() as u64, out);
                varint::put(len, out);
                out.extend_from_slice(name);
            }
        }
    }

    /// Reads one header.
    ///
    /// # Errors
    /// [`ExchangeError::DamagedBundle`], or that the stream is cut.
    pub(crate) fn decode(self, input: &mut impl Read) -> Result<StreamFileHeader, ExchangeError> {
        match self {
            StreamVersion::V1 => decode_v1(input),
            StreamVersion::V2 => decode_v2(input),
        }
    }
}

fn decode_v1(input: &mut impl Read) -> Result<StreamFileHeader, ExchangeError> {
    let mut line = Vec::new();
    loop {
        match read_array::<1>(input)? {
            [b'\n'] => break,
            _ if line.len() == LONGEST_NAME => return Err(damaged("a name never ends")),
            [byte] => line.push(byte),
        }
    }
    let zero = line.iter().position(|byte| *byte == 0);
    let header = zero.and_then(|zero| {
        let len = std::str::from_utf8(line.get(zero + 1..)?).ok()?;
        Some(StreamFileHeader {
            location: StreamLocation::Store,
            name: decode_directories(line.get(..zero)?).into_owned(),
            len: len.parse().ok()?,
        })
    });
    header.ok_or_else(|| damaged("a file has no sound name and length"))
}

fn decode_v2(input: &mut impl Read) -> Result<StreamFileHeader, ExchangeError> {
    let location = match read_array::<1>(input)? {
        [b's'] => StreamLocation::Store,
        [b'c'] => StreamLocation::Cache,
        [other] => return Err(damaged(&format!("a file belongs to {other:#04x}"))),
    };
    let name_len = usize::try_from(read_uvarint(input)?).unwrap_or(usize::MAX);
    if name_len > LONGEST_NAME {
        return Err(damaged(&format!("a name has {name_len} bytes")));
    }
    let len = read_uvarint(input)?;
    let mut name = Vec::new();
    read_into(input, name_len, &mut name)?;
    Ok(StreamFileHeader {
        location,
        name,
        len,
    })
}

fn read_uvarint(input: &mut impl Read) -> Result<u64, ExchangeError> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let [byte] = read_array::<1>(input)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(damaged("a length never ends"))
}

fn damaged(reason: &str) -> ExchangeError {
    ExchangeError::DamagedBundle(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(version: StreamVersion, location: StreamLocation, name: &[u8], len: u64) -> Vec<u8> {
        let mut out = Vec::new();
        version.encode(location, (name, len), &mut out);
        out
    }

    /// As `hg` 7.2.4 writes them, the second one with the encoded directory of version 1.
    #[test]
    fn golden_headers() {
        let store = StreamLocation::Store;
        let v1 = |name: &[u8]| encoded(StreamVersion::V1, store, name, 300);
        assert_eq!(v1(b"00changelog.i"), b"00changelog.i\x00300\n");
        assert_eq!(v1(b"data/a.i/b.i"), b"data/a.i.hg/b.i\x00300\n");
        let v2 = encoded(StreamVersion::V2, store, b"data/a.i/b.i", 300);
        assert_eq!(v2, b"s\x0c\xac\x02data/a.i/b.i");
        let cache = encoded(StreamVersion::V2, StreamLocation::Cache, b"tags2", 1);
        assert_eq!(cache, b"c\x05\x01tags2");
    }

    #[test]
    fn damaged_headers_are_refused() {
        for bad in [
            &b""[..],
            b"name",
            b"name\n",
            b"name\x00\n",
            b"name\x00-1\n",
            b"name\x0018446744073709551616\n",
        ] {
            assert!(StreamVersion::V1.decode(&mut &bad[..]).is_err(), "{bad:?}");
        }
        let endless = vec![b'a'; LONGEST_NAME + 2];
        assert!(StreamVersion::V1.decode(&mut &endless[..]).is_err());
        for bad in [
            &b""[..],
            b"x\x01\x01a",
            b"s\x05\x01tag",
            b"s\x81\x80\x04\x01",
            b"s\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
        ] {
            assert!(StreamVersion::V2.decode(&mut &bad[..]).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(name in "[a-zA-Z0-9_./ ]{0,40}", len in 0..=u64::MAX >> 1, cache: bool) {
            let location = match cache {
                true => StreamLocation::Cache,
                false => StreamLocation::Store,
            };
            let bytes = encoded(StreamVersion::V2, location, name.as_bytes(), len);
            let mut rest = &bytes[..];
            let header = StreamVersion::V2.decode(&mut rest).unwrap();
            let expected = StreamFileHeader { location, name: name.clone().into_bytes(), len };
            prop_assert_eq!(header, expected);
            prop_assert!(rest.is_empty());
            let bytes = encoded(StreamVersion::V1, StreamLocation::Store, name.as_bytes(), len);
            let header = StreamVersion::V1.decode(&mut &bytes[..]).unwrap();
            prop_assert_eq!((header.name, header.len), (name.into_bytes(), len));
        }

        #[test]
        fn hostile_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            for version in [StreamVersion::V1, StreamVersion::V2] {
                if let Ok(header) = version.decode(&mut &bytes[..]) {
                    prop_assert!(header.name.len() <= bytes.len());
                }
            }
        }
    }
}
