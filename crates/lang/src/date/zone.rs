//! The user's time zone.

use super::{DAY, civil_of, seconds_of};
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

/// Rules of daylight saving time that hold where a POSIX zone names none: those of the United
/// States, as in glibc.
const DEFAULT_RULES: &str = ",M3.2.0,M11.1.0";

/// A time zone: the offset of local clocks from UTC at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Zone {
        Zone(TimeZone::UTC)
    }
}

impl Zone {
    /// A zone that is always `east` seconds ahead of UTC. An offset of more than 25 hours is
    /// taken as none.
    pub fn fixed_east(east: i32) -> Zone {
        let offset = Offset::from_seconds(east).unwrap_or(Offset::UTC);
        Zone(TimeZone::fixed(offset))
    }

    /// Reads a POSIX rule such as `CET-1CEST,M3.5.0,M10.5.0/3`; `None` if it is malformed.
    pub fn from_posix(rule: &str) -> Option<Zone> {
        let zone = TimeZone::posix(rule);
        let zone = zone.or_else(|_| TimeZone::posix(&format!("{rule}{DEFAULT_RULES}")));
        zone.ok().map(Zone)
    }

    /// Reads a compiled zone file (RFC 8536); `None` if it is damaged.
    pub fn from_file(bytes: &[u8]) -> Option<Zone> {
        TimeZone::tzif("", bytes).ok().map(Zone)
    }

    /// Seconds west of UTC at a time, which is in seconds since 1970.
    pub fn west_at(&self, time: i64) -> i32 {
        let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        let timestamp = Timestamp::from_second(time.clamp(first, last));
        -self.0.to_offset(timestamp.unwrap_or_default()).seconds()
    }

    /// Seconds west of UTC when local clocks are at `local` seconds since 1970. A time that occurs
    /// twice is the first of the two; one that is skipped is taken in the offset before it.
    pub fn west_of_local(&self, local: i64) -> i32 {
        let ambiguous = self.0.to_ambiguous_timestamp(civil_of(local));
        match ambiguous.compatible() {
            Ok(timestamp) => (timestamp.as_second() - seconds_of(civil_of(local))) as i32,
            Err(_) => self.west_at(local.saturating_sub(DAY)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn posix_rules_are_read() {
        let berlin = Zone::from_posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        assert_eq!(berlin.west_at(1_593_597_600), -7200);
        assert_eq!(berlin.west_at(1_606_000_000), -3600);
        assert_eq!(berlin.west_of_local(1_593_604_800), -7200);
        // Clocks went forward at 01:00 UTC on 29 March 2020.
        assert_eq!(berlin.west_at(1_585_443_599), -3600);
        assert_eq!(berlin.west_at(1_585_443_600), -7200);
        let new_york = Zone::from_posix("EST5EDT").unwrap();
        assert_eq!(new_york.west_at(1_593_619_200), 14_400);
        assert_eq!(Zone::from_posix("UTC0").unwrap().west_at(0), 0);
        let nepal = Zone::from_posix("<+0545>-5:45").unwrap();
        assert_eq!(nepal.west_at(0), -20_700);
        assert_eq!(Zone::from_posix("nonsense"), None);
    }

    #[test]
    fn a_local_time_that_is_skipped_or_occurs_twice_has_the_offset_before_the_change() {
        let berlin = Zone::from_posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        // 02:30 on 29 March 2020 does not exist; 02:30 on 25 October 2020 exists twice.
        assert_eq!(berlin.west_of_local(1_585_449_000), -3600);
        assert_eq!(berlin.west_of_local(1_603_593_000), -7200);
    }

    /// A file with one change of offset and no rule for the time after it.
    fn file() -> Vec<u8> {
        let header = |times: u8| {
            let mut header = [&b"TZif2"[..], &[0; 39]].concat();
            (header[35], header[39], header[43]) = (times, 2, 1);
            header
        };
        let types = [
            &3600_i32.to_be_bytes()[..],
            &[0, 0],
            &7200_i32.to_be_bytes(),
            &[1, 0],
            b"\0",
        ];
        let file = [
            header(0),
            types.concat(),
            header(1),
            1_000_i64.to_be_bytes().to_vec(),
            vec![1],
            types.concat(),
            b"\n\n".to_vec(),
        ];
        file.concat()
    }

    #[test]
    fn a_file_is_read() {
        let file = file();
        let zone = Zone::from_file(&file).unwrap();
        assert_eq!((zone.west_at(999), zone.west_at(1000)), (-3600, -7200));
        for len in 0..file.len() - 2 {
            assert_eq!(Zone::from_file(&file[..len]), None, "{len}");
        }
    }

    proptest! {
        #[test]
        fn hostile_rules_and_files_do_not_panic(
            text in "[A-Z]{3}[-0-9:]{1,4}([A-Z]{3},?[MJ0-9./,]{0,20})?",
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            time in any::<i64>(),
        ) {
            if let Some(zone) = Zone::from_posix(&text) {
                let _ = (zone.west_at(time), zone.west_of_local(time));
            }
            let mut file = file();
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            if let Some(zone) = Zone::from_file(&file) {
                let _ = (zone.west_at(time), zone.west_of_local(time));
            }
        }
    }
}
