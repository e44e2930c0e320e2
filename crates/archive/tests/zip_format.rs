//! Any files in a zip archive, read back through the directory at its end.

use super::{OwnedEntry, entries, write};
use flate2::read::DeflateDecoder;
use proptest::prelude::*;
use std::io::Read;
use varve_archive::ArchiveKind;

/// Reads numbers with the lowest byte first.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    fn short(&mut self) -> usize {
        usize::from(u16::from_le_bytes(self.bytes(2).try_into().unwrap()))
    }

    fn long(&mut self) -> usize {
        u32::from_le_bytes(self.bytes(4).try_into().unwrap()) as usize
    }
}

/// Days since 1980-01-01 of a date of DOS, counted year by year.
fn days(date: usize) -> i64 {
    let (year, month, day) = (1980 + (date >> 9), date >> 5 & 15, date & 31);
    let is_leap = |year: usize| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let lengths = |year| {
        [
            31,
            28 + i64::from(is_leap(year)),
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ]
    };
    let of_years: i64 = (1980..year).flat_map(lengths).sum();
    let of_months: i64 = lengths(year)[..month - 1].iter().sum();
    of_years + of_months + day as i64 - 1
}

/// Seconds since 1970 of a clock and a date of DOS.
fn seconds(clock: usize, date: usize) -> i64 {
    let of_day = (clock >> 11) * 3600 + (clock >> 5 & 63) * 60 + (clock & 31) * 2;
    (days(date) + 3652) * 86_400 + of_day as i64
}

/// The fields that both headers of a file have, and the name that follows them.
fn common<'a>(fields: &mut Fields<'a>, between: usize) -> (&'a [u8], &'a [u8], &'a [u8], &'a [u8]) {
    let fixed = fields.bytes(26);
    let own = fields.bytes(between);
    let mut lengths = Fields(&fixed[22..]);
    let (name_len, extra_len) = (lengths.short(), lengths.short());
    (fixed, own, fields.bytes(name_len), fields.bytes(extra_len))
}

/// All entries in the order of the directory, each of which is checked against the header beside its content.
fn read(archive: &[u8], time: i64) -> Vec<OwnedEntry> {
    let mut end = Fields(&archive[archive.len() - 22..]);
    assert_eq!(end.long(), 0x0605_4b50);
    end.bytes(4);
    let (count, on_all_disks, len, at) = (end.short(), end.short(), end.long(), end.long());
    assert_eq!((count, at + len), (on_all_disks, archive.len() - 22));
    let mut directory = Fields(&archive[at..at + len]);
    let read = (0..count).map(|_| entry(archive, &mut directory, time));
    let out = read.collect();
    assert!(directory.0.is_empty());
    out
}

fn entry(archive: &[u8], directory: &mut Fields<'_>, time: i64) -> OwnedEntry {
    assert_eq!(directory.long(), 0x0201_4b50);
    assert_eq!(directory.short() >> 8, 3, "made by Unix");
    let (fixed, own, name, extra) = common(directory, 14);
    let offset = Fields(&own[10..]).long();
    let mut local = Fields(&archive[offset..]);
    assert_eq!(local.long(), 0x0403_4b50);
    assert_eq!(common(&mut local, 0), (fixed, &b""[..], name, extra));
    let mut fields = Fields(fixed);
    fields.short();
    let (flags, method) = (fields.short(), fields.short());
    let (clock, date) = (fields.short(), fields.short());
    let (sum, packed, len) = (fields.long(), fields.long(), fields.long());
    let is_utf8 = !name.is_ascii() && str::from_utf8(name).is_ok();
    assert_eq!(flags, if is_utf8 { 0x800 } else { 0 });
    assert_eq!(seconds(clock, date), time / 2 * 2);
    assert_eq!(Fields(&extra[5..]).long() as i64, time);
    let packed = local.bytes(packed);
    let mut content = packed.to_vec();
    if method == 8 {
        content.clear();
        let mut decoder = DeflateDecoder::new(packed);
        decoder.read_to_end(&mut content).unwrap();
    }
    let mut found = flate2::Crc::new();
    found.update(&content);
    assert_eq!((found.sum() as usize, content.len()), (sum, len));
    let attributes = Fields(&own[6..]).long() >> 16;
    OwnedEntry {
        name: name.to_vec(),
        mode: attributes as u32 & 0o7777,
        is_link: attributes >> 12 == 0o12,
        content,
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        entries in entries(),
        time in 315_532_800_i64..4_294_967_295,
        is_stored in any::<bool>(),
    ) {
        let kind = if is_stored { ArchiveKind::StoredZip } else { ArchiveKind::Zip };
        let archive = write(kind, time, "", &entries);
        let as_stored = |entry: &OwnedEntry| OwnedEntry {
            mode: if entry.is_link { 0o777 } else { entry.mode },
            ..entry.clone()
        };
        let expected: Vec<OwnedEntry> = entries.iter().map(as_stored).collect();
        prop_assert_eq!(read(&archive, time), expected);
    }
}

#[test]
fn the_last_days_of_months_and_years_are_right() {
    // Around 2000-02-29, 2023-02-28, 2024-02-29, 2100-02-28 and the turns of years.
    for day in [
        11_015, 11_016, 11_017, 19_416, 19_417, 19_781, 19_782, 47_540, 47_541, 10_956, 10_957,
    ] {
        for second in [0, 86_399] {
            let time = day * 86_400 + second;
            let entries = [OwnedEntry::file("f", "")];
            read(&write(ArchiveKind::StoredZip, time, "", &entries), time);
        }
    }
}

#[test]
fn names_and_counts_that_do_not_fit_are_refused() {
    let mut archive =
        varve_archive::ArchiveWriter::begin(ArchiveKind::StoredZip, std::io::sink(), 0, b"")
            .unwrap();
    let name = vec![b'n'; 65_536];
    let mut add = |name: &[u8]| {
        archive.add(&varve_archive::ArchiveEntry {
            name,
            mode: 0o644,
            is_link: false,
            content: b"",
        })
    };
    let error = add(&name).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    assert!(add(&name[1..]).is_ok());
    // One file is in it; one more than fits is refused.
    let added = (0..70_000).take_while(|_| add(b"n").is_ok()).count();
    assert_eq!(added, 65_534);
}
