//! Writing bundle2.

use std::io::{self, Write};

/// First bytes of a bundle2.
pub(crate) const MAGIC: &[u8; 4] = b"HG20";

/// Payload bytes per chunk, except for payloads that arrive in larger pieces.
const CHUNK: usize = 128 << 10;

/// In place of the length of a payload chunk: a whole part follows, then the payload goes on.
const INTERRUPTION: i32 = -1;

/// Writes one bundle2; parts get their numbers in order.
pub(crate) struct BundleWriter<W: Write> {
    out: W,
    next_part: u32,
    chunk: Vec<u8>,
    /// Cut payloads in chunks of exactly so many bytes.
    exact: Option<usize>,
}

/// Key and value.
pub(crate) type Param<'a> = (&'a [u8], &'a [u8]);

/// The parameters of a part, mandatory ones first.
pub(crate) struct PartParams<'a> {
    pub(crate) mandatory: &'a [Param<'a>],
    pub(crate) advisory: &'a [Param<'a>],
}

impl<W: Write> BundleWriter<W> {
    /// Writes the start of a bundle that has no stream parameters.
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        write_start(&mut out, b"")?;
        Ok(BundleWriter::after_start(out))
    }

    /// Goes on behind a start that was written with [`write_start`].
    pub(crate) fn after_start(out: W) -> Self {
        BundleWriter {
            out,
            next_part: 0,
            chunk: Vec::new(),
            exact: None,
        }
    }

    /// Cuts every payload in chunks of `len` bytes, the last one apart.
    pub(crate) fn cutting(self, len: usize) -> Self {
        BundleWriter {
            exact: Some(len),
            ..self
        }
    }

    /// Starts a part; its payload is what is written to the answer.
    pub(crate) fn part(
        &mut self,
        name: &str,
        params: &PartParams<'_>,
    ) -> io::Result<Payload<'_, W>> {
        let header = part_header(name, self.next_part, params)?;
        self.next_part += 1;
        self.out.write_all(&(header.len() as u32).to_be_bytes())?;
        self.out.write_all(&header)?;
        self.chunk.clear();
        Ok(Payload { bundle: self })
    }

    /// The writer below, for a payload that is cut in chunks already.
    pub(crate) fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Writes the end and gives the writer below back.
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

fn length_byte(what: &str, len: usize) -> io::Result<u8> {
    u8::try_from(len).map_err(|_| {
        let reason = format!("{what} of {len} bytes in a bundle2 part; at most 255 fit");
        io::Error::new(io::ErrorKind::InvalidInput, reason)
    })
}

fn part_header(name: &str, id: u32, params: &PartParams<'_>) -> io::Result<Vec<u8>> {
    let mut header = vec![length_byte("a name", name.len())?];
    header.extend_from_slice(name.as_bytes());
    header.extend_from_slice(&id.to_be_bytes());
    header.push(length_byte("a list", params.mandatory.len())?);
    header.push(length_byte("a list", params.advisory.len())?);
    let all = || params.mandatory.iter().chain(params.advisory);
    for (key, value) in all() {
        header.push(length_byte("a key", key.len())?);
        header.push(length_byte("a value", value.len())?);
    }
    for (key, value) in all() {
        header.extend_from_slice(key);
        header.extend_from_slice(value);
    }
    Ok(header)
}

/// The payload of the part being written. [`Payload::end`] must be called.
pub(crate) struct Payload<'a, W: Write> {
    bundle: &'a mut BundleWriter<W>,
}

impl<W: Write> Payload<'_, W> {
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

    /// Writes all of a payload.
    pub(crate) fn whole(mut self, payload: &[u8]) -> io::Result<()> {
        self.write_all(payload)?;
        self.end()
    }

    /// Breaks the payload off with a part that the client reads at once, and whose words it shows
    /// before it stops.
    pub(crate) fn abort(mut self, words: &str) -> io::Result<()> {
        self.send_gathered()?;
        let mut end = words.len().min(usize::from(u8::MAX));
        while !words.is_char_boundary(end) {
            end -= 1;
        }
        let params = PartParams {
            mandatory: &[(b"message", &words.as_bytes()[..end])],
            advisory: &[],
        };
        self.bundle.out.write_all(&INTERRUPTION.to_be_bytes())?;
        self.bundle.part("error:abort", &params)?.end()
    }

    /// Sends what is gathered and the end of the part.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.send_gathered()?;
        self.bundle.out.write_all(&0_u32.to_be_bytes())
    }
}

impl<W: Write> Write for Payload<'_, W> {
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

/// A part whose payload is at hand, with at most the one parameter that such parts have.
pub(crate) struct SmallPart {
    pub(crate) name: &'static str,
    pub(crate) namespace: Option<String>,
    pub(crate) payload: Vec<u8>,
}

/// Writes small parts in order.
pub(crate) fn write_small_parts<W: Write>(
    parts: &[SmallPart],
    bundle: &mut BundleWriter<W>,
) -> io::Result<()> {
    for part in parts {
        let namespace = part.namespace.as_deref();
        let mandatory = namespace.map(|name| (&b"namespace"[..], name.as_bytes()));
        let params = PartParams {
            mandatory: mandatory.as_slice(),
            advisory: &[],
        };
        bundle.part(part.name, &params)?.whole(&part.payload)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start of the answer of a real `hg serve` 7.2.4 to a clone of three changesets.
    const GOLDEN_START: &[u8] = b"HG20\0\0\0\0\
        \0\0\0\x29\x0bCHANGEGROUP\0\0\0\0\x01\x01\x07\x02\x09\x01version03nbchanges3";

    #[test]
    fn golden_header_of_a_changegroup_part() {
        let mut bundle = BundleWriter::new(Vec::new()).unwrap();
        let params = PartParams {
            mandatory: &[(b"version", b"03")],
            advisory: &[(b"nbchanges", b"3")],
        };
        let part = bundle.part("CHANGEGROUP", &params).unwrap();
        part.whole(b"abc").unwrap();
        let bytes = bundle.finish().unwrap();
        let rest = bytes.strip_prefix(GOLDEN_START).unwrap();
        assert_eq!(rest, b"\0\0\0\x03abc\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn an_interruption_holds_its_words_up_to_the_limit() {
        let mut bundle = BundleWriter::new(Vec::new()).unwrap();
        let params = PartParams {
            mandatory: &[],
            advisory: &[],
        };
        let mut part = bundle.part("X", &params).unwrap();
        part.write_all(b"abc").unwrap();
        part.abort(&"\u{e4}".repeat(200)).unwrap();
        let bytes = bundle.finish().unwrap();
        let mut expected = b"HG20\0\0\0\0\0\0\0\x08\x01X\0\0\0\0\0\0".to_vec();
        expected.extend_from_slice(b"\0\0\0\x03abc\xff\xff\xff\xff");
        expected.extend_from_slice(b"\0\0\x01\x19\x0berror:abort\0\0\0\x01\x01\0\x07\xfemessage");
        expected.extend_from_slice("\u{e4}".repeat(127).as_bytes());
        expected.extend_from_slice(&[0; 8]);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn payloads_are_cut_in_equal_chunks_for_files() {
        let mut bundle = BundleWriter::new(Vec::new()).unwrap().cutting(10);
        let params = PartParams {
            mandatory: &[],
            advisory: &[],
        };
        let mut part = bundle.part("X", &params).unwrap();
        part.write_all(b"abc").unwrap();
        part.write_all(&[b'd'; 17]).unwrap();
        part.end().unwrap();
        bundle.part("Y", &params).unwrap().whole(b"e").unwrap();
        let bytes = bundle.finish().unwrap();
        let payload = b"\0\0\0\x0aabcddddddd\0\0\0\x0adddddddddd\0\0\0\0\0\0\0\x08\x01Y";
        assert!(bytes[20..].starts_with(payload), "{bytes:?}");
    }

    #[test]
    fn payloads_are_cut_in_chunks() {
        let mut bundle = BundleWriter::new(Vec::new()).unwrap();
        let params = PartParams {
            mandatory: &[],
            advisory: &[],
        };
        let mut part = bundle.part("X", &params).unwrap();
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
