//! Tar archives in the form of POSIX.1-2001, as Python writes them.
//!
//! Each file has two headers. The first is of a block of records `LENGTH KEY=VALUE`, which hold what the second
//! cannot: a long name or one beyond ASCII, and the time as a number with a fraction.

use crate::kind::ArchiveEntry;
use std::io::{self, Write};

const BLOCK: usize = 512;
/// An archive is a multiple of this long.
const RECORD: u64 = 10_240;
/// Bytes of a name in a header.
const NAME: usize = 100;
/// The name of the header before the records.
const RECORDS_NAME: &[u8] = b"././@PaxHeader";

const FILE: u8 = b'0';
const LINK: u8 = b'2';
const RECORDS: u8 = b'x';

/// Writes a tar archive.
pub struct TarWriter<W> {
    out: W,
    time: i64,
    written: u64,
}

/// The fields of a header that differ.
struct Header<'a> {
    name: &'a [u8],
    mode: u32,
    size: u64,
    time: u64,
    kind: u8,
    link: &'a [u8],
}

impl<W: Write> TarWriter<W> {
    pub(crate) fn new(out: W, time: i64) -> Self {
        TarWriter {
            out,
            time,
            written: 0,
        }
    }

    pub(crate) fn add(&mut self, entry: &ArchiveEntry<'_>) -> io::Result<()> {
        let (link, content) = match entry.is_link {
            true => (entry.content, &b""[..]),
            false => (&b""[..], entry.content),
        };
        let mut records = Vec::new();
        let names = [(&b"path"[..], entry.name), (b"linkpath", link)];
        // Records are UTF-8 unless they say otherwise.
        if names
            .iter()
            .any(|(_, value)| str::from_utf8(value).is_err())
        {
            push_record(b"hdrcharset", b"BINARY", &mut records);
        }
        for (key, value) in names {
            if value.len() > NAME || !value.is_ascii() {
                push_record(key, value, &mut records);
            }
        }
        let time = format!("{}.0", self.time);
        push_record(b"mtime", time.as_bytes(), &mut records);
        self.block(
            &Header {
                name: RECORDS_NAME,
                mode: 0,
                size: records.len() as u64,
                time: 0,
                kind: RECORDS,
                link: b"",
            },
            &records,
        )?;
        let fits = |time: &u64| *time < 1 << 33;
        self.block(
            &Header {
                name: &in_ascii(entry.name),
                mode: if entry.is_link { 0o777 } else { entry.mode },
                size: content.len() as u64,
                time: u64::try_from(self.time).ok().filter(fits).unwrap_or(0),
                kind: if entry.is_link { LINK } else { FILE },
                link: &in_ascii(link),
            },
            content,
        )
    }

    /// A header and what follows it, filled up to whole blocks.
    fn block(&mut self, header: &Header<'_>, content: &[u8]) -> io::Result<()> {
        self.put(&header.encode())?;
        self.put(content)?;
        self.fill_up(BLOCK as u64)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn fill_up(&mut self, unit: u64) -> io::Result<()> {
        let missing = self.written.next_multiple_of(unit) - self.written;
        self.put(&vec![0; missing as usize])
    }

    /// Ends the archive, and returns what it was written to.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.put(&[0; 2 * BLOCK])?;
        self.fill_up(RECORD)?;
        Ok(self.out)
    }
}

/// A name as a header may hold it: `?` for each character beyond ASCII, and for each byte that is no UTF-8.
fn in_ascii(name: &[u8]) -> Vec<u8> {
    let ascii = |c: char| u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or(b'?');
    let mut out = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        out.extend(chunk.valid().chars().map(ascii));
        out.extend(chunk.invalid().iter().map(|_| b'?'));
    }
    out
}

/// Appends a record, whose length counts itself.
fn push_record(key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let rest = key.len() + value.len() + 3;
    let mut len = 0;
    loop {
        let next = rest + len.to_string().len();
        if next == len {
            break;
        }
        len = next;
    }
    let len = len.to_string();
    out.extend_from_slice(&[len.as_bytes(), b" ", key, b"=", value, b"\n"].concat());
}

impl Header<'_> {
    fn encode(&self) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        let mut at = 0;
        let mut put = |bytes: &[u8], width: usize| {
            let len = bytes.len().min(width);
            block[at..at + len].copy_from_slice(&bytes[..len]);
            at += width;
        };
        let number = |value: u64, width: usize| format!("{value:0digits$o}\0", digits = width - 1);
        put(self.name, NAME);
        put(number(u64::from(self.mode), 8).as_bytes(), 8);
        put(number(0, 8).as_bytes(), 8);
        put(number(0, 8).as_bytes(), 8);
        put(number(self.size, 12).as_bytes(), 12);
        put(number(self.time, 12).as_bytes(), 12);
        put(b"        ", 8);
        put(&[self.kind], 1);
        put(self.link, NAME);
        put(b"ustar\x0000", 8);
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        block[148..155].copy_from_slice(&format!("{sum:06o}\0").as_bytes()[..7]);
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn other_programs_read_it() {
        let long = b"x".repeat(250);
        let names = [&b"d/a"[..], "é".as_bytes(), &long];
        let mut writer = TarWriter::new(Vec::new(), 1_000_000_002);
        for name in names {
            let entry = ArchiveEntry {
                name,
                mode: 0o755,
                is_link: false,
                content: b"content",
            };
            writer.add(&entry).unwrap();
        }
        let link = ArchiveEntry {
            name: b"l",
            mode: 0o644,
            is_link: true,
            content: b"target",
        };
        writer.add(&link).unwrap();
        let bytes = writer.finish().unwrap();
        assert_eq!(bytes.len() as u64 % RECORD, 0);
        let mut archive = tar::Archive::new(&bytes[..]);
        let mut read = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            assert_eq!(entry.header().mtime().unwrap(), 1_000_000_002);
            let link = entry.link_name_bytes().map(|name| name.into_owned());
            read.push((entry.path_bytes().into_owned(), text, link));
        }
        assert_eq!(read.len(), 4);
        for (entry, name) in read.iter().zip(names) {
            assert_eq!((&entry.0[..], &entry.1[..]), (name, "content"));
        }
        assert_eq!(read[3].2.as_deref(), Some(&b"target"[..]));
    }

    #[test]
    fn records_count_their_own_length() {
        let mut out = Vec::new();
        push_record(b"mtime", b"1000000002.0", &mut out);
        assert_eq!(out, b"22 mtime=1000000002.0\n");
        out.clear();
        push_record(b"k", &b"v".repeat(94), &mut out);
        assert_eq!(out.len(), 101);
    }
}
