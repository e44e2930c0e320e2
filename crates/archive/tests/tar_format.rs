//! Any files in a tar archive, read back by the rules of POSIX.1-2001.

use super::{OwnedEntry, entries, write};
use proptest::prelude::*;
use std::collections::BTreeMap;
use varve_archive::ArchiveKind;

const BLOCK: usize = 512;

/// A header's block, and what follows it.
struct Member<'a> {
    header: &'a [u8],
    content: &'a [u8],
}

impl Member<'_> {
    fn field(&self, at: usize, width: usize) -> &[u8] {
        let field = &self.header[at..at + width];
        let end = field.iter().position(|byte| *byte == 0);
        &field[..end.unwrap_or(width)]
    }

    fn number(&self, at: usize, width: usize) -> u64 {
        let digits = str::from_utf8(self.field(at, width)).unwrap();
        u64::from_str_radix(digits.trim(), 8).unwrap()
    }
}

/// The next member, whose sum and filling are checked; `None` at the zeros of the end.
fn next<'a>(rest: &mut &'a [u8]) -> Option<Member<'a>> {
    let (header, behind) = rest.split_at(BLOCK);
    if header.iter().all(|byte| *byte == 0) {
        return None;
    }
    let mut member = Member {
        header,
        content: b"",
    };
    let blank_sum = header[..148].iter().chain(&header[156..]);
    let sum: u64 = blank_sum.map(|byte| u64::from(*byte)).sum::<u64>() + 8 * u64::from(b' ');
    assert_eq!(member.number(148, 8), sum);
    assert_eq!(&header[257..265], b"ustar\x0000");
    let len = member.number(124, 12) as usize;
    let (filled, behind) = behind.split_at(len.next_multiple_of(BLOCK));
    assert!(filled[len..].iter().all(|byte| *byte == 0));
    member.content = &filled[..len];
    *rest = behind;
    Some(member)
}

/// Records `LENGTH KEY=VALUE`; each length must reach to a line end.
fn records(mut rest: &[u8]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut out = BTreeMap::new();
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ').unwrap();
        let len: usize = str::from_utf8(&rest[..space]).unwrap().parse().unwrap();
        let record = rest[space + 1..len].strip_suffix(b"\n").unwrap();
        let equals = record.iter().position(|byte| *byte == b'=').unwrap();
        out.insert(record[..equals].to_vec(), record[equals + 1..].to_vec());
        rest = &rest[len..];
    }
    out
}

fn read(archive: &[u8], time: i64) -> Vec<OwnedEntry> {
    let mut rest = archive;
    let mut out = Vec::new();
    while let Some(extended) = next(&mut rest) {
        assert_eq!(extended.header[156], b'x');
        let records = records(extended.content);
        assert_eq!(records[&b"mtime"[..]], format!("{time}.0").as_bytes());
        let is_text = records.values().all(|value| str::from_utf8(value).is_ok());
        assert_eq!(records.contains_key(&b"hdrcharset"[..]), !is_text);
        let member = next(&mut rest).unwrap();
        let name = |key: &[u8], at| match records.get(key) {
            Some(value) => value.clone(),
            None => member.field(at, 100).to_vec(),
        };
        let in_header = u64::try_from(time).ok().filter(|time| *time < 1 << 33);
        assert_eq!(member.number(136, 12), in_header.unwrap_or(0));
        let is_link = member.header[156] == b'2';
        let content = match is_link {
            true => name(b"linkpath", 157),
            false => member.content.to_vec(),
        };
        out.push(OwnedEntry {
            name: name(b"path", 0),
            mode: member.number(100, 8) as u32,
            is_link,
            content,
        });
    }
    assert!(rest.len() >= 2 * BLOCK && rest.iter().all(|byte| *byte == 0));
    out
}

proptest! {
    #[test]
    fn what_was_written_is_read(entries in entries(), time in -(1_i64 << 34)..1 << 34) {
        let archive = write(ArchiveKind::Tar, time, "", &entries);
        prop_assert_eq!(archive.len() % 10_240, 0);
        let as_stored = |entry: &OwnedEntry| OwnedEntry {
            mode: if entry.is_link { 0o777 } else { entry.mode },
            ..entry.clone()
        };
        let expected: Vec<OwnedEntry> = entries.iter().map(as_stored).collect();
        prop_assert_eq!(read(&archive, time), expected);
    }
}
