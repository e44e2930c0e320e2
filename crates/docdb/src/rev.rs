//! Revision ids: `3-7fcc6aa4ca3d4ec1b8957cd4b9c00a01`.

use std::fmt;
use std::str::FromStr;

/// Longest digest that is accepted, in bytes.
const MAX_DIGEST: usize = 1024;

/// The part of a revision id behind the generation: 16 bytes as a rule.
///
/// Replicated edits may bring any text, also none; one of 32 hex digits is kept as 16 bytes. Compared as
/// bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Digest(Bytes);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Bytes {
    Md5([u8; 16]),
    Other(Box<[u8]>),
}

impl Digest {
    /// The digest with these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match <[u8; 16]>::try_from(bytes) {
            Ok(md5) => Digest(Bytes::Md5(md5)),
            Err(_) => Digest(Bytes::Other(bytes.into())),
        }
    }

    /// The bytes that are compared and hashed.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Md5(md5) => md5,
            Bytes::Other(bytes) => bytes,
        }
    }

    /// Appends the text that clients see.
    pub fn write(&self, out: &mut Vec<u8>) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        match &self.0 {
            Bytes::Md5(md5) => {
                let mut text = [0; 32];
                for (pair, byte) in text.chunks_exact_mut(2).zip(md5) {
                    pair[0] = HEX[usize::from(byte >> 4)];
                    pair[1] = HEX[usize::from(byte & 15)];
                }
                out.extend_from_slice(&text);
            }
            Bytes::Other(bytes) => out.extend_from_slice(bytes),
        }
    }
}

impl From<[u8; 16]> for Digest {
    fn from(md5: [u8; 16]) -> Self {
        Digest(Bytes::Md5(md5))
    }
}

impl PartialOrd for Digest {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Digest {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.write(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = RevError;

    fn from_str(text: &str) -> Result<Self, RevError> {
        if text.len() > MAX_DIGEST {
            return Err(RevError);
        }
        Ok(from_hex(text.as_bytes())
            .map_or_else(|| Digest::from_bytes(text.as_bytes()), Digest::from))
    }
}

fn from_hex(text: &[u8]) -> Option<[u8; 16]> {
    let mut md5 = [0; 16];
    if text.len() != 2 * md5.len() {
        return None;
    }
    for (byte, pair) in md5.iter_mut().zip(text.chunks_exact(2)) {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(md5)
}

/// A revision: how many edits lead to it, and the digest of the last of them.
///
/// Ordered by generation, then digest, as CouchDB chooses among conflicts.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rev {
    /// 1 for the first revision of a document.
    pub generation: u64,
    /// Tells revisions of one generation apart.
    pub digest: Digest,
}

/// A text is no revision id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid rev format")]
pub struct RevError;

impl Rev {
    /// Appends the text that clients see, such as `1-967a00dff5e02add41819138abb3284d`.
    pub fn write(&self, out: &mut Vec<u8>) {
        varve_json::Number::from(self.generation).write(out);
        out.push(b'-');
        self.digest.write(out);
    }
}

impl FromStr for Rev {
    type Err = RevError;

    fn from_str(text: &str) -> Result<Self, RevError> {
        let (generation, digest) = text.split_once('-').ok_or(RevError)?;
        let all_digits = generation.bytes().all(|byte| byte.is_ascii_digit());
        let generation: u64 = generation.parse().map_err(|_| RevError)?;
        // Half the range is left, so that no chain of edits overflows.
        if !all_digits || generation == 0 || generation > u64::MAX / 2 {
            return Err(RevError);
        }
        Ok(Rev {
            generation,
            digest: digest.parse()?,
        })
    }
}

impl fmt::Display for Rev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.generation, self.digest)
    }
}

impl fmt::Debug for Rev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_ids_read_back() {
        for text in ["1-967a00dff5e02add41819138abb3284d", "12-x", "3-a-b", "1-"] {
            assert_eq!(text.parse::<Rev>().unwrap().to_string(), text);
        }
        let upper: Rev = "1-967A00DFF5E02ADD41819138ABB3284D".parse().unwrap();
        assert_eq!(upper.to_string(), "1-967a00dff5e02add41819138abb3284d");
        for wrong in ["", "abc", "x-1", "+1-a", "0-a", "18446744073709551615-a"] {
            assert_eq!(wrong.parse::<Rev>(), Err(RevError), "{wrong:?}");
        }
    }
}
