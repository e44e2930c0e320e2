//! Binary hunks of git's form: a whole content, or a delta against the old one.
//!
//! ```text
//! GIT binary patch
//! literal 9              or "delta 9"; the length of the content or of the delta
//! Tc$@<...               a letter for the number of bytes, and the bytes as digits of base 85
//!                        an empty line
//! ```
//! The bytes are a zlib stream.

use crate::error::{PatchError, shown};
use crate::lines::{Lines, number, trim_end};
use flate2::read::ZlibDecoder;
use std::io::Read;
use varve_base::base85;

/// Most bytes of the content of a binary patch.
pub const MAX_BINARY: u64 = 1 << 30;

/// Bytes that are first reserved for a content.
const RESERVED: usize = 1 << 16;

/// A binary hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryHunk<'a> {
    /// All of its lines.
    text: &'a [u8],
    path: Vec<u8>,
    is_delta: bool,
    /// The content or the delta.
    data: Vec<u8>,
}

impl<'a> BinaryHunk<'a> {
    /// Reads the hunk that begins in `text`, behind whose first line `lines` stand.
    pub(crate) fn read(
        text: &'a [u8],
        path: &[u8],
        lines: &mut Lines<'a>,
    ) -> Result<BinaryHunk<'a>, PatchError> {
        let (is_delta, expected) = form(path, lines)?;
        let mut packed = Vec::new();
        let mut read = text.len();
        for line in lines.by_ref() {
            let line = trim_end(line);
            if line.len() < 2 {
                break;
            }
            push_line(path, line, &mut packed)?;
        }
        if let Some(next) = lines.peek() {
            read = next.as_ptr().addr() - text.as_ptr().addr();
        }
        Ok(BinaryHunk {
            text: &text[..read],
            path: path.to_vec(),
            is_delta,
            data: expand(path, &packed, expected)?,
        })
    }

    /// The new content.
    pub(crate) fn content(self, old: &[u8]) -> Result<Vec<u8>, PatchError> {
        match self.is_delta {
            true => apply_delta(&self.path, &self.data, old),
            false => Ok(self.data),
        }
    }

    pub(crate) fn push_rejected(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text);
    }
}

/// The line that tells the form and the length.
fn form(path: &[u8], lines: &mut Lines<'_>) -> Result<(bool, u64), PatchError> {
    loop {
        let line = lines.next().map(trim_end).unwrap_or_default();
        if line.is_empty() {
            return Err(PatchError::NoBinary(shown(path)));
        }
        let literal = line.strip_prefix(b"literal ");
        let delta = line.strip_prefix(b"delta ");
        if let Some(length) = literal.or(delta) {
            let bad = || PatchError::BadBinary {
                path: shown(path),
                reason: "no length".to_owned(),
            };
            let (_, length) = number(length).ok_or_else(bad)?;
            return Ok((delta.is_some(), length as u64));
        }
    }
}

/// Decodes one line.
fn push_line(path: &[u8], line: &[u8], out: &mut Vec<u8>) -> Result<(), PatchError> {
    let bad = |reason: String| PatchError::BadBinary {
        path: shown(path),
        reason,
    };
    let len = match line[0] {
        letter @ b'A'..=b'Z' => usize::from(letter - b'A') + 1,
        letter @ b'a'..=b'z' => usize::from(letter - b'a') + 27,
        _ => return Err(bad("bad length of a line".to_owned())),
    };
    let digits = &line[1..];
    let is_bad = |digit: &u8| base85::decode(&[b'0', *digit]).is_none();
    if let Some(at) = digits.iter().position(is_bad) {
        return Err(bad(format!("bad base85 character at position {at}")));
    }
    let mut bytes = base85::decode(digits).ok_or_else(|| bad("base85 overflow".to_owned()))?;
    bytes.truncate(len);
    out.append(&mut bytes);
    Ok(())
}

/// Unpacks a stream, whose content has the length that was announced.
fn expand(path: &[u8], packed: &[u8], expected: u64) -> Result<Vec<u8>, PatchError> {
    if expected > MAX_BINARY {
        return Err(PatchError::TooLarge(shown(path)));
    }
    let damaged = |_| PatchError::BadStream(shown(path));
    let mut decoder = ZlibDecoder::new(packed);
    let mut out = Vec::with_capacity(RESERVED.min(expected as usize));
    let mut limited = decoder.by_ref().take(expected);
    let found = limited.read_to_end(&mut out).map_err(damaged)? as u64;
    // Bytes beyond are only counted.
    let more = std::io::copy(&mut decoder, &mut std::io::sink()).map_err(damaged)?;
    match found + more == expected {
        true => Ok(out),
        false => Err(PatchError::BinaryLength {
            path: shown(path),
            found: (found + more) as usize,
            expected,
        }),
    }
}

/// Applies a delta of git's: two lengths, then pieces to copy from the old content or to insert.
fn apply_delta(path: &[u8], delta: &[u8], old: &[u8]) -> Result<Vec<u8>, PatchError> {
    let bad = || PatchError::BadDelta(shown(path));
    let mut rest = delta;
    let mut byte = || {
        let (first, behind) = rest.split_first()?;
        rest = behind;
        Some(*first)
    };
    for _ in 0..2 {
        while byte().ok_or_else(bad)? & 0x80 != 0 {}
    }
    let mut out = Vec::new();
    while let Some(command) = byte() {
        if command & 0x80 == 0 {
            let len = usize::from(command);
            if len == 0 {
                return Err(bad());
            }
            for _ in 0..len {
                out.push(byte().ok_or_else(bad)?);
            }
            continue;
        }
        let mut field = |bits: u8| {
            let mut value = 0_usize;
            for bit in (0..4).filter(|bit| bits & 1 << bit != 0) {
                value |= usize::from(byte()?) << (8 * bit);
            }
            Some(value)
        };
        let from = field(command & 0x0f).ok_or_else(bad)?;
        let len = match field(command >> 4 & 0x07).ok_or_else(bad)? {
            0 => 0x1_0000,
            len => len,
        };
        let piece = from.checked_add(len).and_then(|end| old.get(from..end));
        out.extend_from_slice(piece.ok_or_else(bad)?);
        if out.len() as u64 > MAX_BINARY {
            return Err(PatchError::TooLarge(shown(path)));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BinaryHunk<'_>, PatchError> {
        let mut lines = Lines::new(text.as_bytes());
        lines.next();
        BinaryHunk::read(text.as_bytes(), b"bin", &mut lines)
    }

    const LITERAL: &str = "GIT binary patch\nliteral 5\nMc$`bh%wu2x00i9uIsgCw\n\n";

    #[test]
    fn contents_are_read() {
        let more = format!("{LITERAL}diff\n");
        let hunk = read(&more).unwrap();
        let mut rejected = Vec::new();
        hunk.push_rejected(&mut rejected);
        assert_eq!(rejected, LITERAL.as_bytes());
        assert_eq!(hunk.content(b"old").unwrap(), b"bin\0\0");
        let empty = read("GIT binary patch\nliteral 0\nHc$@<O00001\n\n").unwrap();
        assert!(empty.content(b"x").unwrap().is_empty());
    }

    #[test]
    fn deltas_are_applied() {
        let delta = b"\x05\x07\x90\x03\x04more";
        assert_eq!(apply_delta(b"f", delta, b"abcde").unwrap(), b"abcmore");
        let copied = b"\x05\x03\x91\x02\x03";
        assert_eq!(apply_delta(b"f", copied, b"abcde").unwrap(), b"cde");
        for bad in [
            &b"\x05\x03\x91\x03\x03"[..],
            b"\x05\x03\x00",
            b"\x80",
            b"\x05\x03\x04abc",
        ] {
            assert!(apply_delta(b"f", bad, b"abcde").is_err());
        }
    }

    #[test]
    fn faults_are_named() {
        let bad = |text: &str| read(text).unwrap_err().to_string();
        let longer = LITERAL.replace("literal 5", "literal 7");
        assert_eq!(bad(&longer), "\"bin\" length is 5 bytes, should be 7");
        let shorter = LITERAL.replace("literal 5", "literal 3");
        assert_eq!(bad(&shorter), "\"bin\" length is 5 bytes, should be 3");
        let digit = LITERAL.replace("Mc$`", "Mc$\"");
        assert_eq!(
            bad(&digit),
            "could not decode \"bin\" binary patch: bad base85 character at position 2"
        );
        let none = "GIT binary patch\nfoo\n\n";
        assert_eq!(bad(none), "could not extract \"bin\" binary data");
        // The last byte of the stream's checksum is missing.
        let cut = LITERAL.replace("Mc$`", "Lc$`");
        assert_eq!(bad(&cut), "could not decompress \"bin\" binary patch");
        let huge = LITERAL.replace("literal 5", "literal 5000000000");
        assert_eq!(bad(&huge), "binary patch of \"bin\" is too large");
    }
}
