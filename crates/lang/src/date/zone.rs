//! The zone of the user: how far the local clock is from UTC, at any moment.
//!
//! Rules come from a compiled zone file (RFC 8536):
//!
//! ```text
//! "TZif" version 15 zero bytes, six counts u32: isut isstd leap time type char
//! times i64 each | index u8 each | types: east i32, dst u8, name u8 | names | leaps | isstd | isut
//! newline, rule of the time after the last one (POSIX form), newline
//! ```
//! Version 1 has only a block with four-byte times; later ones repeat it all with eight bytes.

use super::civil::{Civil, DAY, days};

/// How far local clocks are from UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// Moments from which on a distance holds, ascending.
    changes: Vec<(i64, i32)>,
    /// Distance before the first of them.
    east_first: i32,
    /// What holds after the last one.
    rule: Option<Rule>,
}

/// Standard time and summer time, as the environment variable `TZ` can say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    east: i32,
    summer: Option<Summer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Summer {
    east: i32,
    begins: Turn,
    ends: Turn,
}

/// A day of each year, and the time of that day on the clock before it is turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Month, week (5 is the last), day of the week, seconds.
    Week(i64, i64, i64, i64),
    /// Day from 1, never 29 February.
    Julian(i64, i64),
    /// Day from 0.
    Day(i64, i64),
}

impl Zone {
    /// A clock that is always so many seconds before UTC.
    pub fn fixed_east(east: i32) -> Zone {
        Zone {
            changes: Vec::new(),
            east_first: east,
            rule: None,
        }
    }

    /// Reads a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`; `None` if it is not one.
    pub fn from_rule(text: &str) -> Option<Zone> {
        let rule = Rule::parse(text)?;
        Some(Zone {
            changes: Vec::new(),
            east_first: rule.east,
            rule: Some(rule),
        })
    }

    /// Reads a compiled zone file; `None` if it is damaged.
    pub fn from_file(bytes: &[u8]) -> Option<Zone> {
        let first = Block::read(bytes, 4)?;
        if bytes[VERSION] == 0 {
            return first.zone(None);
        }
        let second = Block::read(bytes.get(first.end..)?, 8)?;
        let rest = bytes.get(first.end + second.end..)?;
        let footer = rest.split(|byte| *byte == b'\n').nth(1)?;
        let rule = Rule::parse(std::str::from_utf8(footer).ok()?);
        second.zone(rule)
    }

    /// Seconds west of UTC at a moment.
    pub fn west_at(&self, time: i64) -> i32 {
        let after = self.changes.partition_point(|(from, _)| *from <= time);
        if after == self.changes.len()
            && let Some(rule) = &self.rule
        {
            return -rule.east_at(time);
        }
        let before = after.checked_sub(1).map(|at| self.changes[at].1);
        -before.unwrap_or(self.east_first)
    }

    /// Seconds west of UTC when the local clock shows `local` seconds since 1970. Of the two
    /// moments that it may show this at, the first.
    pub fn west_of_local(&self, local: i64) -> i32 {
        let guesses = [local - DAY, local + DAY].map(|time| self.west_at(time));
        let fits = |west: &&i32| self.west_at(local + i64::from(**west)) == **west;
        guesses.iter().find(fits).copied().unwrap_or(guesses[0])
    }
}

const MAGIC: &[u8] = b"TZif";
const VERSION: usize = 4;
const COUNTS: usize = 20;
const HEADER: usize = 44;

/// One of the two blocks of a file.
struct Block<'a> {
    times: &'a [u8],
    indexes: &'a [u8],
    types: &'a [u8],
    width: usize,
    end: usize,
}

impl<'a> Block<'a> {
    fn read(bytes: &'a [u8], width: usize) -> Option<Block<'a>> {
        let header = bytes.get(..HEADER).filter(|all| all.starts_with(MAGIC))?;
        let count = |number: usize| {
            let at = COUNTS + 4 * number;
            let bytes = header[at..].first_chunk::<4>()?;
            Some(u32::from_be_bytes(*bytes) as usize)
        };
        let [isut, isstd, leaps, times, types, names] = [
            count(0)?,
            count(1)?,
            count(2)?,
            count(3)?,
            count(4)?,
            count(5)?,
        ];
        let mut at = HEADER;
        let mut take = |len: usize| {
            let part = bytes.get(at..at.checked_add(len)?)?;
            at += len;
            Some(part)
        };
        let (times, indexes) = (take(times * width)?, take(times)?);
        let types = take(types * 6)?;
        take(names + leaps * (width + 4) + isstd + isut)?;
        Some(Block {
            times,
            indexes,
            types,
            width,
            end: at,
        })
    }

    fn zone(&self, rule: Option<Rule>) -> Option<Zone> {
        let east = |index: usize| {
            let entry = self.types.get(index * 6..)?.first_chunk::<4>()?;
            Some(i32::from_be_bytes(*entry)).filter(|east| i64::from(*east).abs() <= 2 * DAY)
        };
        let mut changes = Vec::with_capacity(self.indexes.len());
        for (time, index) in self.times.chunks_exact(self.width).zip(self.indexes) {
            let time = match time.first_chunk::<8>() {
                Some(long) => i64::from_be_bytes(*long),
                None => i64::from(i32::from_be_bytes(*time.first_chunk()?)),
            };
            changes.push((time, east(usize::from(*index))?));
        }
        changes.is_sorted().then_some(())?;
        Some(Zone {
            changes,
            east_first: east(0)?,
            rule,
        })
    }
}

impl Rule {
    fn parse(text: &str) -> Option<Rule> {
        let (_, rest) = zone_name(text)?;
        let (west, rest) = clock_time(rest)?;
        let east = -i32::try_from(west).ok()?;
        if rest.is_empty() {
            return Some(Rule { east, summer: None });
        }
        let (_, rest) = zone_name(rest)?;
        let (summer_east, rest) = match clock_time(rest) {
            Some((west, rest)) => (-i32::try_from(west).ok()?, rest),
            None => (east + 3600, rest),
        };
        // Without dates, those of the United States hold.
        let turns = if rest.is_empty() {
            ",M3.2.0,M11.1.0"
        } else {
            rest
        };
        let (begins, ends) = turns.strip_prefix(',')?.split_once(',')?;
        let summer = Summer {
            east: summer_east,
            begins: Turn::parse(begins)?,
            ends: Turn::parse(ends)?,
        };
        Some(Rule {
            east,
            summer: Some(summer),
        })
    }

    fn east_at(&self, time: i64) -> i32 {
        let Some(summer) = &self.summer else {
            return self.east;
        };
        let year = Civil::of(time + i64::from(self.east)).year;
        let begins = summer.begins.local(year) - i64::from(self.east);
        let ends = summer.ends.local(year) - i64::from(summer.east);
        let is_summer = if begins <= ends {
            (begins..ends).contains(&time)
        } else {
            !(ends..begins).contains(&time)
        };
        if is_summer { summer.east } else { self.east }
    }
}

impl Turn {
    fn parse(text: &str) -> Option<Turn> {
        let (day, time) = match text.split_once('/') {
            Some((day, time)) => (day, clock_time(time)?.0),
            None => (text, 7200),
        };
        let within = |number: &str, limits: std::ops::RangeInclusive<i64>| {
            let number: i64 = number.parse().ok()?;
            limits.contains(&number).then_some(number)
        };
        if let Some(parts) = day.strip_prefix('M') {
            let mut parts = parts.split('.');
            let month = within(parts.next()?, 1..=12)?;
            let week = within(parts.next()?, 1..=5)?;
            return Some(Turn::Week(month, week, within(parts.next()?, 0..=6)?, time));
        }
        match day.strip_prefix('J') {
            Some(day) => Some(Turn::Julian(within(day, 1..=365)?, time)),
            None => Some(Turn::Day(within(day, 0..=365)?, time)),
        }
    }

    /// When it is in a year, on the clock that is about to be turned.
    fn local(self, year: i64) -> i64 {
        match self {
            Turn::Week(month, week, weekday, time) => {
                let first = days(year, month, 1);
                let next = days(year + month / 12, month % 12 + 1, 1);
                let mut day = first + (weekday - (first + 4)).rem_euclid(7) + 7 * (week - 1);
                if day >= next {
                    day -= 7;
                }
                day * DAY + time
            }
            Turn::Julian(day, time) => {
                let leap = days(year, 3, 1) - days(year, 1, 1) == 60;
                let skipped = i64::from(leap && day >= 60);
                (days(year, 1, 1) + day - 1 + skipped) * DAY + time
            }
            Turn::Day(day, time) => (days(year, 1, 1) + day) * DAY + time,
        }
    }
}

/// Splits a name such as `CET` or `<+03>` off.
fn zone_name(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('<') {
        return quoted.split_once('>');
    }
    let end = text.find(|letter: char| !letter.is_ascii_alphabetic());
    let end = end.unwrap_or(text.len());
    (end >= 3).then(|| text.split_at(end))
}

/// Splits `[+-]h[:m[:s]]` off.
fn clock_time(text: &str) -> Option<(i64, &str)> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = rest.find(|letter: char| letter != ':' && !letter.is_ascii_digit());
    let (digits, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let (mut seconds, mut unit) = (0, 3600);
    for part in digits.split(':') {
        let number: i64 = part.parse().ok()?;
        if number > 167 {
            return None;
        }
        seconds += number * unit;
        unit /= 60;
    }
    Some((if negative { -seconds } else { seconds }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rules_are_read() {
        let berlin = Zone::from_rule("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        assert_eq!(berlin.west_at(1_593_597_600), -7200);
        assert_eq!(berlin.west_at(1_606_000_000), -3600);
        assert_eq!(berlin.west_of_local(1_593_604_800), -7200);
        // Clocks went forward at 01:00 UTC on 29 March 2020.
        assert_eq!(berlin.west_at(1_585_443_599), -3600);
        assert_eq!(berlin.west_at(1_585_443_600), -7200);
        let new_york = Zone::from_rule("EST5EDT").unwrap();
        assert_eq!(new_york.west_at(1_593_619_200), 14_400);
        assert_eq!(Zone::from_rule("UTC0").unwrap().west_at(0), 0);
        let nepal = Zone::from_rule("<+0545>-5:45").unwrap();
        assert_eq!(nepal.west_at(0), -20_700);
        assert_eq!(Zone::from_rule("nonsense"), None);
    }

    #[test]
    fn a_file_is_read() {
        let header = |times: u8| {
            let mut header = [MAGIC, b"2", &[0; 39]].concat();
            (header[COUNTS + 15], header[COUNTS + 19]) = (times, 2);
            header
        };
        let types = [
            &3600_i32.to_be_bytes()[..],
            &[0, 0],
            &7200_i32.to_be_bytes(),
            &[1, 0],
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
        let file = file.concat();
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
            bytes in proptest::collection::vec(any::<u8>(), 0..80), time in any::<i32>(),
        ) {
            if let Some(zone) = Zone::from_rule(&text) {
                let _ = zone.west_of_local(i64::from(time));
            }
            let mut file = [MAGIC, b"2"].concat();
            file.extend(bytes);
            let _ = Zone::from_file(&file);
        }
    }
}
