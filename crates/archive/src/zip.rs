//! Zip archives, as Python writes them, with an extra field for the time.

use crate::kind::ArchiveEntry;
use std::io::{self, Write};
use varve_codec::deflate::{Level, deflate};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Version 2.0 is needed to extract.
const VERSION: u16 = 20;
/// The system, Unix, in the high byte.
const MADE_BY: u16 = 3 << 8 | VERSION;
/// The name is UTF-8.
const UTF8: u16 = 0x800;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// 1980-01-01, before which there is no time.
const FIRST_TIME: i64 = 315_532_800;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// Writes a zip archive.
pub struct ZipWriter<W> {
    out: W,
    time: i64,
    compresses: bool,
    written: u32,
    /// The directory at the end.
    central: Vec<u8>,
    count: u16,
}

impl<W: Write> ZipWriter<W> {
    pub(crate) fn new(out: W, time: i64, compresses: bool) -> Self {
        ZipWriter {
            out,
            time: time.max(FIRST_TIME),
            compresses,
            written: 0,
            central: Vec::new(),
            count: 0,
        }
    }

    pub(crate) fn add(&mut self, entry: &ArchiveEntry<'_>) -> io::Result<()> {
        let (kind, mode) = match entry.is_link {
            true => (LINK, 0o777),
            false => (FILE, entry.mode),
        };
        let mut sum = flate2::Crc::new();
        sum.update(entry.content);
        let packed = match self.compresses {
            true => deflate(entry.content, Level::SIX, Vec::new()),
            false => entry.content.to_vec(),
        };
        let mut extra = Vec::new();
        extra.extend_from_slice(&0x5455_u16.to_le_bytes());
        extra.extend_from_slice(&[5, 0, 1]);
        extra.extend_from_slice(&(self.time as u32).to_le_bytes());
        let common = self.common(entry, sum.sum(), &packed, extra.len())?;
        let offset = self.written;
        let local = [
            &LOCAL.to_le_bytes()[..],
            &common,
            entry.name,
            &extra,
            &packed,
        ]
        .concat();
        self.put(&local)?;
        self.count = self.count.checked_add(1).ok_or_else(too_large)?;
        let central = &mut self.central;
        central.extend_from_slice(&CENTRAL.to_le_bytes());
        central.extend_from_slice(&MADE_BY.to_le_bytes());
        central.extend_from_slice(&common);
        // No comment, the first disk, no internal attributes.
        central.extend_from_slice(&[0; 6]);
        central.extend_from_slice(&((kind | mode) << 16).to_le_bytes());
        central.extend_from_slice(&offset.to_le_bytes());
        central.extend_from_slice(&[entry.name, &extra].concat());
        Ok(())
    }

    /// The fields that both headers of a file have.
    fn common(
        &self,
        entry: &ArchiveEntry<'_>,
        sum: u32,
        packed: &[u8],
        extra: usize,
    ) -> io::Result<Vec<u8>> {
        let size = |len: usize| u32::try_from(len).map_err(|_| too_large());
        let short = |len: usize| u16::try_from(len).map_err(|_| too_large());
        let (time, date) = dos_time(self.time);
        // A name in another encoding must not be announced as UTF-8.
        let is_utf8 = !entry.name.is_ascii() && str::from_utf8(entry.name).is_ok();
        let flags = if is_utf8 { UTF8 } else { 0 };
        let method = if self.compresses { DEFLATED } else { STORED };
        let mut out = Vec::new();
        for field in [VERSION, flags, method, time, date] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        for field in [sum, size(packed.len())?, size(entry.content.len())?] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        for field in [short(entry.name.len())?, short(extra)?] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        Ok(out)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let len = u32::try_from(bytes.len()).map_err(|_| too_large())?;
        self.written = self.written.checked_add(len).ok_or_else(too_large)?;
        self.out.write_all(bytes)
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        let (offset, central) = (self.written, std::mem::take(&mut self.central));
        self.put(&central)?;
        let mut end = END.to_le_bytes().to_vec();
        end.extend_from_slice(&[0; 4]);
        end.extend_from_slice(&self.count.to_le_bytes());
        end.extend_from_slice(&self.count.to_le_bytes());
        end.extend_from_slice(&(self.written - offset).to_le_bytes());
        end.extend_from_slice(&offset.to_le_bytes());
        end.extend_from_slice(&[0; 2]);
        self.put(&end)?;
        self.out.flush()
    }
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "zip archives hold less than 4 GiB and 65,536 files",
    )
}

/// The time and the date of DOS, in UTC, with a resolution of two seconds.
fn dos_time(time: i64) -> (u16, u16) {
    let (days, second) = (time.div_euclid(86_400), time.rem_euclid(86_400));
    let (year, month, day) = civil_date(days);
    let clock = ((second / 3600) << 11) | ((second / 60 % 60) << 5) | (second % 60 / 2);
    let date = ((year - 1980).clamp(0, 127) << 9) | (month << 5) | day;
    (clock as u16, date as u16)
}

/// Year, month and day of a day since 1970, in the Gregorian calendar.
fn civil_date(days: i64) -> (i64, i64, i64) {
    // Years begin in March here, so that a leap day is the last of its year.
    let from_march = days + 719_468;
    let (era, of_era) = (
        from_march.div_euclid(146_097),
        from_march.rem_euclid(146_097),
    );
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (year + 400 * era + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_dos() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(11_016), (2000, 2, 29));
        // 2001-09-09 01:46:42
        let (time, date) = dos_time(1_000_000_002);
        assert_eq!((time >> 11, time >> 5 & 63, (time & 31) * 2), (1, 46, 42));
        assert_eq!((date >> 9, date >> 5 & 15, date & 31), (21, 9, 9));
    }
}
