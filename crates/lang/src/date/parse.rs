//! Parsing of dates as users type them.

use super::forms::{FORMS, Fields, WIDE_FORMS, match_form};
use super::{DAY, Date, DateError, Zone, civil_of, seconds_of};
use jiff::civil;

/// The current time and zone, which complete a typed date.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Seconds since 1970.
    pub now: i64,
    /// The user's zone.
    pub zone: Zone,
}

impl Clock {
    /// The current time in the user's zone.
    pub fn date(&self) -> Date {
        Date {
            time: self.now,
            zone: self.zone.west_at(self.now),
        }
    }
}

/// Value of the parts that are smaller than any that was typed, such as the minute of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// Only the time of day may be left out, and defaults to midnight.
    Midnight,
    /// The first second of the year, month, day, hour or minute.
    First,
    /// The last second of it.
    Last,
}

/// Reads a date such as `2006-12-06 13:18`, `Dec 6`, `1165432709 0` or `yesterday`.
///
/// # Errors
/// [`DateError`], in Mercurial's words.
pub fn parse(text: &str, clock: &Clock) -> Result<Date, DateError> {
    parse_filled(text, clock, Fill::Midnight)
}

pub(super) fn parse_filled(text: &str, clock: &Clock, fill: Fill) -> Result<Date, DateError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Date::default());
    }
    let date = match text {
        "now" => clock.date(),
        "today" => day(clock, 0, fill),
        "yesterday" => day(clock, 1, fill),
        _ => match seconds_and_zone(text) {
            Some((time, zone)) => return checked(time, zone),
            None => {
                let unknown = || DateError::Invalid(text.to_owned());
                by_form(text, clock, fill).ok_or_else(unknown)?
            }
        },
    };
    checked(date.time, i64::from(date.zone))
}

fn checked(time: i64, zone: i64) -> Result<Date, DateError> {
    if i32::try_from(time).is_err() {
        return Err(DateError::TooLarge(time));
    }
    match i32::try_from(zone) {
        Ok(short) if i64::from(short).abs() <= DAY => Ok(Date { time, zone: short }),
        _ => Err(DateError::ZoneOffset(zone)),
    }
}

/// Reads `SECONDS OFFSET`, the form in changesets.
fn seconds_and_zone(text: &str) -> Option<(i64, i64)> {
    let (time, zone) = text.split_once(' ')?;
    Some((time.parse().ok()?, zone.parse().ok()?))
}

/// The day that was `days_ago` days before today.
fn day(clock: &Clock, days_ago: i64, fill: Fill) -> Date {
    let local = clock.now - i64::from(clock.zone.west_at(clock.now));
    let day = civil_of(local - days_ago * DAY);
    let fields = Fields {
        year: Some(day.year().into()),
        month: Some(day.month().into()),
        day: Some(day.day().into()),
        ..Fields::default()
    };
    complete(&fields, clock, None, fill).unwrap_or_default()
}

fn by_form(text: &str, clock: &Clock, fill: Fill) -> Option<Date> {
    let (text, zone) = split_zone(text);
    let wide: &[&str] = if fill == Fill::Midnight {
        &[]
    } else {
        WIDE_FORMS
    };
    let mut forms = FORMS.iter().chain(wide);
    forms.find_map(|form| complete(&match_form(form, text)?, clock, zone, fill))
}

/// Splits off the zone, `Z`, `+0100`, `-0600`, `UTC` or `GMT`, as seconds west of UTC.
fn split_zone(text: &str) -> (&str, Option<i32>) {
    for name in [" UTC", " GMT"] {
        if let Some(rest) = text.strip_suffix(name) {
            return (rest.trim_end(), Some(0));
        }
    }
    let bytes = text.as_bytes();
    if let Some(rest) = text.strip_suffix('Z')
        && rest.ends_with(|last: char| last.is_ascii_digit())
    {
        return (rest, Some(0));
    }
    if let Some(at) = bytes.len().checked_sub(5)
        && let [sign @ (b'+' | b'-'), digits @ ..] = &bytes[at..]
        && digits.iter().all(u8::is_ascii_digit)
        && (*sign == b'+' || at > 0 && !bytes[at - 1].is_ascii_digit())
    {
        let digit = |index: usize| i32::from(digits[index] - b'0');
        let hours = digit(0) * 10 + digit(1);
        let east = hours * 3600 + (digit(2) * 10 + digit(3)) * 60;
        let west = if *sign == b'+' { -east } else { east };
        return (text[..at].trim_end(), Some(west));
    }
    (text, None)
}

/// Completes the typed parts: larger ones are taken from the clock, smaller ones from `fill`.
fn complete(fields: &Fields, clock: &Clock, zone: Option<i32>, fill: Fill) -> Option<Date> {
    let west_now = zone.unwrap_or_else(|| clock.zone.west_at(clock.now));
    let now = civil_of(clock.now - i64::from(west_now));
    let last = fill == Fill::Last;
    let mut typed = false;
    let mut part = |field: Option<i64>, now: i64, first: i64, end: i64| {
        typed |= field.is_some();
        field.unwrap_or(match (typed, last) {
            (true, _) => now,
            (false, true) => end,
            (false, false) => first,
        })
    };
    let second = part(fields.second, now.second().into(), 0, 59);
    let minute = part(fields.minute, now.minute().into(), 0, 59);
    let hour = part(fields.hour, now.hour().into(), 0, 23);
    let day = part(fields.day, now.day().into(), 1, 31);
    let month = part(fields.month, now.month().into(), 1, 12);
    let year = i64::from(now.year());
    let year = part(fields.year, year, year, year);
    let (year, month) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?);
    let mut day = i8::try_from(day).ok()?;
    if fields.day.is_none() && last && fields.hour.is_none() {
        day = day.min(civil::Date::new(year, month, 1).ok()?.days_in_month());
    }
    let midnight = civil::Date::new(year, month, day).ok()?.at(0, 0, 0, 0);
    // Seconds may be 60 or 61, which are those of the next minute.
    let local = seconds_of(midnight) + hour * 3600 + minute * 60 + second;
    let zone = zone.unwrap_or_else(|| clock.zone.west_of_local(local));
    Some(Date {
        time: local + i64::from(zone),
        zone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Saturday, 21 November 2026, 04:10:14.
    fn clock(east: i32) -> Clock {
        Clock {
            now: 1_795_234_214,
            zone: Zone::fixed_east(east),
        }
    }

    /// Recorded from `hg debugdate` of 7.2.4 on that day.
    const RECORDED: &[(&str, Option<(i64, i32)>)] = &[
        ("2006-12-06 13:18", Some((1_165_411_080, 0))),
        ("2006-12-06 13:18:29", Some((1_165_411_109, 0))),
        ("2006-12-06T13:18Z", Some((1_165_411_080, 0))),
        ("2006-12-06T131829", Some((1_165_411_109, 0))),
        ("2006-12-06 13:18 +0100", Some((1_165_407_480, -3600))),
        ("Dec 6", Some((1_796_515_200, 0))),
        ("Dec 6 2006", Some((1_165_363_200, 0))),
        ("6 Dec 2006", None),
        ("2006-12-06", Some((1_165_363_200, 0))),
        ("12-06", Some((1_796_515_200, 0))),
        ("12/6", Some((1_796_515_200, 0))),
        ("12/6/6", None),
        ("12/6/2006", Some((1_165_363_200, 0))),
        ("2006-12", None),
        ("13:18", Some((1_795_267_080, 0))),
        ("3:39pm", Some((1_795_275_540, 0))),
        ("3:39 PM", None),
        ("1165432709 0", Some((1_165_432_709, 0))),
        ("1165432709 3600", Some((1_165_432_709, 3600))),
        ("@1165432709", None),
        ("Wed Dec 6 13:18:29 2006 +0000", Some((1_165_411_109, 0))),
        (
            "Wed, 06 Dec 2006 13:18:29 -0600",
            Some((1_165_432_709, 21_600)),
        ),
        ("2006-12-06 13:18 UTC", Some((1_165_411_080, 0))),
        ("today", Some((1_795_219_200, 0))),
        ("yesterday", Some((1_795_132_800, 0))),
        ("now", Some((1_795_234_214, 0))),
        ("2006", None),
        ("00:00", Some((1_795_219_200, 0))),
        ("2006-02-30", None),
        ("13:18:29.5", None),
        (" 2006-12-06 ", Some((1_165_363_200, 0))),
        ("20061206", None),
    ];

    #[test]
    fn dates_are_read_as_mercurial_reads_them() {
        for (text, expected) in RECORDED {
            let read = parse(text, &clock(0));
            let read = read.ok().map(|date| (date.time, date.zone));
            assert_eq!(read, *expected, "{text}");
        }
    }

    #[test]
    fn impossible_dates_are_refused() {
        let message = |text| parse(text, &clock(0)).unwrap_err().to_string();
        assert_eq!(
            message("99999999999 0"),
            "date exceeds 32 bits: 99999999999"
        );
        assert_eq!(message("1 100000"), "impossible time zone offset: 100000");
        assert_eq!(message("Jan 32"), "invalid date: 'Jan 32'");
    }

    #[test]
    fn a_date_without_a_zone_is_local() {
        let date = parse("2006-12-06 13:18", &clock(3600)).unwrap();
        assert_eq!((date.time, date.zone), (1_165_407_480, -3600));
    }
}
