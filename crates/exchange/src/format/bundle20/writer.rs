//! Writing bundle2.

use super::{INTERRUPTION, MAGIC};
use crate::format::part::{Part, PartHeader};
use std::io::{self, Write};

/// Payload bytes per chunk, except for payloads that arrive in larger pieces.
const CHUNK: usize = 128 << 10;

/// Writes one bundle2; parts get their numbers in order.
pub(crate) struct BundleWriter<W: Write> {
    out: W,
    next_part: u32,
    chunk: Vec<u8>,
    /// Length of all payload chunks but the last one of a part.
    exact: Option<usize>,
}

impl<W: Write> BundleWriter<W> {
    /// Writes the start of a bundle that has no stream parameters.
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        write_start(&mut out, b"")?;
        Ok(BundleWriter::after_start(out))
    }

    /// Continues behind a start that was written with [`write_start`].
    pub(crate) fn after_start(out: W) -> Self {
        BundleWriter {
            out,
            next_part: 0,
            chunk: Vec::new(),
            exact: None,
        }
    }

    /// Cuts every payload into chunks of `len` bytes.
    pub(crate) fn with_chunk_len(self, len: usize) -> Self {
        BundleWriter {
            exact: Some(len),
            ..self
        }
    }

    /// Starts a part and gives it its number; its payload goes into the result.
    pub(crate) fn start_part(&mut self, mut header: PartHeader) -> io::Result<PartWriter<'_, W>> {
        header.id = self.next_part;
        let header = header.encode()?;
        self.next_part += 1;
        self.out.write_all(&(header.len() as u32).to_be_bytes())?;
        self.out.write_all(&header)?;
        self.chunk.clear();
        Ok(PartWriter { bundle: self })
    }

    /// Writes a part whose payload is at hand.
    pub(crate) fn write_part(&mut self, part: &Part<Vec<u8>>) -> io::Result<()> {
        let mut payload = self.start_part(part.header.clone())?;
        payload.write_all(&part.payload)?;
        payload.end()
    }

    /// The writer below, for a payload that is cut into chunks already.
    pub(crate) fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Writes the end and returns the writer below.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&0_u32.to_be_bytes())?;
        Ok(self.out)
    }
}

/// Writes the start of a bundle with its stream parameters.
pub(crate) fn write_start(out: &mut impl Write, parameters: &[u8]) -> io::Result<()> {
    out.write_all(MAGIC)?;
    out.write_all(&(parameters.len() as u32).to_be_bytes())?;
    out.write_all(parameters)
}

/// Writes the payload of one part. [`PartWriter::end`] must be called.
pub(crate) struct PartWriter<'a, W: Write> {
    bundle: &'a mut BundleWriter<W>,
}

impl<W: Write> PartWriter<'_, W> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let BundleWriter { out, .. } = &mut *self.bundle;
        out.write_all(&(bytes.len() as u32).to_be_bytes())?;
        out.write_all(bytes)
    }

    fn send_gathered(&mut self) -> io::Result<()> {
        if self.bundle.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::take(&mut self.bundle.chunk);
        let sent = self.send(&chunk);
        self.bundle.chunk = chunk;
        self.bundle.chunk.clear();
        sent
    }

    /// Breaks the payload off with a part without payload, which the client reads at once. Nothing may be
    /// written after it.
    pub(crate) fn interrupt(mut self, header: PartHeader) -> io::Result<()> {
        self.send_gathered()?;
        self.bundle.out.write_all(&INTERRUPTION.to_be_bytes())?;
        self.bundle.start_part(header)?.end()
    }

    /// Sends the gathered bytes and the end of the part.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.send_gathered()?;
        self.bundle.out.write_all(&0_u32.to_be_bytes())
    }
}

impl<W: Write> Write for PartWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(len) = self.bundle.exact {
            let room = len.saturating_sub(self.bundle.chunk.len());
            let piece = bytes.get(..room).unwrap_or(bytes);
            self.bundle.chunk.extend_from_slice(piece);
            if self.bundle.chunk.len() >= len {
                self.send_gathered()?;
            }
            return Ok(piece.len());
        }
        if self.bundle.chunk.len() + bytes.len() > CHUNK {
            self.send_gathered()?;
        }
        if bytes.len() >= CHUNK {
            let piece = bytes.get(..i32::MAX as usize).unwrap_or(bytes);
            self.send(piece)?;
            return Ok(piece.len());
        }
        self.bundle.chunk.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_gathered()?;
        self.bundle.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExchangeError;
    use crate::format::changegroup::ChangegroupVersion;
    use crate::format::part::{changegroup, error};

    /// Start of the answer of a real `hg serve` 7.2.4 to a clone of three changesets.
    const GOLDEN_START: &[u8] = b"HG20\0\0\0\0\
        \0\0\0\x29\x0bCHANGEGROUP\0\0\0\0\x01\x01\x07\x02\x09\x01version03nbchanges3";

    fn named(name: &str) -> PartHeader {
        PartHeader {
            name: name.as_bytes().to_vec(),
            ..PartHeader::default()
        }
    }

    #[test]
    fn golden_start_of_a_bundle() {
        let mut bundle = BundleWriter::new(Vec::new()).unwrap();
        let part = Part {
            header: changegroup::header(ChangegroupVersion::V3, Some(3), None),
            payload: b"abc".to_vec(),
        };
        bundle.write_part(&part).unwrap();
        let bytes = bundle.finish().unwrap();
        let rest = bytes.strip_prefix(GOLDEN_START).unwrap();
        assert_eq!(rest, b"\0\0\0\x03abc\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn an_interruption_holds_its_message_up_to_the_limit() {
        let mut bundle = BundleWriter::new(Vec::new()).unwrap();
        let mut part = bundle.start_part(named("X")).unwrap();
        part.write_all(b"abc").unwrap();
        let failed = ExchangeError::Remote("\u{e4}".repeat(200));
        part.interrupt(error::encode_interruption(&failed)).unwrap();
        let bytes = bundle.finish().unwrap();
        let mut expected = b"HG20\0\0\0\0\0\0\0\x08\x01X\0\0\0\0\0\0".to_vec();
        expected.extend_from_slice(b"\0\0\0\x03abc\xff\xff\xff\xff");
        expected.extend_from_slice(b"\0\0\x01\x19\x0berror:abort\0\0\0\x01\x01\0\x07\xfemessage");
        expected.extend_from_slice(b"remote error:\n");
        expected.extend_from_slice("\u{e4}".repeat(120).as_bytes());
        expected.extend_from_slice(&[0; 8]);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn payloads_are_cut_in_equal_chunks_for_files() {
        let mut bundle = BundleWriter::new(Vec::new()).unwrap().with_chunk_len(10);
        let mut part = bundle.start_part(named("X")).unwrap();
        part.write_all(b"abc").unwrap();
        part.write_all(&[b'd'; 17]).unwrap();
        part.end().unwrap();
        let second = Part {
            header: named("Y"),
            payload: b"e".to_vec(),
        };
        bundle.write_part(&second).unwrap();
        let bytes = bundle.finish().unwrap();
        let payload = b"\0\0\0\x0aabcddddddd\0\0\0\x0adddddddddd\0\0\0\0\0\0\0\x08\x01Y";
        assert!(bytes[20..].starts_with(payload), "{bytes:?}");
    }

    #[test]
    fn payloads_are_cut_in_chunks() {
        let mut bundle = BundleWriter::new(Vec::new()).unwrap();
        let mut part = bundle.start_part(named("X")).unwrap();
        let piece = vec![7; 1000];
        for _ in 0..200 {
            part.write_all(&piece).unwrap();
        }
        part.write_all(&vec![8; CHUNK + 1]).unwrap();
        part.end().unwrap();
        let bytes = bundle.finish().unwrap();
        let mut rest = &bytes[8 + 4 + 8..];
        let mut lens = Vec::new();
        loop {
            let (len, after) = rest.split_first_chunk::<4>().unwrap();
            let len = u32::from_be_bytes(*len) as usize;
            lens.push(len);
            rest = &after[len..];
            if len == 0 {
                break;
            }
        }
        assert_eq!(lens, [131_000, 69_000, CHUNK + 1, 0]);
        assert_eq!(rest, [0; 4]);
    }
}
