//! Formatting of dates by `strftime` patterns, in the C locale.

use super::{Date, seconds_of};
use jiff::civil::DateTime;
use std::fmt::Write;

pub(super) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Replaces the directives of `pattern` by the parts of `date`.
pub(super) fn fill(pattern: &str, date: &Date) -> String {
    let civil = date.civil();
    let mut out = String::with_capacity(pattern.len() * 2);
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some(directive) => push(directive, date, &civil, &mut out),
            None => out.push('%'),
        }
    }
    out
}

/// Appends one directive; an unknown one stands for itself, as in glibc.
fn push(directive: char, date: &Date, civil: &DateTime, out: &mut String) {
    let two = |out: &mut String, number: i32| {
        let _ = write!(out, "{number:02}");
    };
    let (year, hour) = (i32::from(civil.year()), i32::from(civil.hour()));
    let twelve_hour = (hour + 11) % 12 + 1;
    let weekday = i32::from(civil.weekday().to_sunday_zero_offset());
    let day_of_year = i32::from(civil.day_of_year());
    let day_name = DAYS[weekday as usize];
    let month_name = MONTHS[(civil.month() - 1) as usize];
    // The one offset without a positive counterpart is far from any that a date can have.
    let zone = date.zone.saturating_abs();
    let nested = |out: &mut String, pattern: &str| out.push_str(&fill(pattern, date));
    match directive {
        'a' => out.push_str(&day_name[..3]),
        'A' => out.push_str(day_name),
        'b' | 'h' => out.push_str(&month_name[..3]),
        'B' => out.push_str(month_name),
        'c' => nested(out, "%a %b %e %H:%M:%S %Y"),
        'C' => two(out, year.div_euclid(100)),
        'd' => two(out, civil.day().into()),
        'D' | 'x' => nested(out, "%m/%d/%y"),
        'e' => out.push_str(&format!("{:2}", civil.day())),
        'F' => nested(out, "%Y-%m-%d"),
        'H' => two(out, hour),
        'I' => two(out, twelve_hour),
        'j' => out.push_str(&format!("{day_of_year:03}")),
        'k' => out.push_str(&format!("{hour:2}")),
        'l' => out.push_str(&format!("{twelve_hour:2}")),
        'm' => two(out, civil.month().into()),
        'M' => two(out, civil.minute().into()),
        'n' => out.push('\n'),
        'p' => out.push_str(if hour < 12 { "AM" } else { "PM" }),
        'r' => nested(out, "%I:%M:%S %p"),
        'R' => nested(out, "%H:%M"),
        's' => out.push_str(&seconds_of(*civil).to_string()),
        'S' => two(out, civil.second().into()),
        't' => out.push('\t'),
        'T' | 'X' => nested(out, "%H:%M:%S"),
        'u' => out.push_str(&((weekday + 6) % 7 + 1).to_string()),
        'U' => two(out, (day_of_year + 6 - weekday) / 7),
        'V' => two(out, civil.iso_week_date().week().into()),
        'G' => out.push_str(&civil.iso_week_date().year().to_string()),
        'w' => out.push_str(&weekday.to_string()),
        'W' => two(out, (day_of_year + 6 - (weekday + 6) % 7) / 7),
        'y' => two(out, year.rem_euclid(100)),
        'Y' => out.push_str(&year.to_string()),
        'z' => nested(out, "%1%2"),
        'Z' => out.push_str("UTC"),
        '1' => {
            out.push(if date.zone > 0 { '-' } else { '+' });
            two(out, zone / 3600);
        }
        '2' => two(out, zone / 60 % 60),
        '%' => out.push('%'),
        other => out.extend(['%', other]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_format_is_mercurials() {
        let date = |time, zone| Date { time, zone }.default_format();
        assert_eq!(date(0, 0), "Thu Jan 01 00:00:00 1970 +0000");
        assert_eq!(date(1_165_432_709, 3600), "Wed Dec 06 18:18:29 2006 -0100");
        assert_eq!(date(0, -20_700), "Thu Jan 01 05:45:00 1970 +0545");
    }

    #[test]
    fn patterns_are_filled() {
        let date = Date {
            time: 1_165_432_709,
            zone: 0,
        };
        let filled = date.format("%Y|%y|%e|%j|%I|%p|%u|%w|%U|%W|%V|%s|%%|%q|%D %T");
        assert_eq!(
            filled,
            "2006|06| 6|340|07|PM|3|3|49|49|49|1165432709|%|%q|12/06/06 19:18:29"
        );
    }

    #[test]
    fn weeks_are_those_of_iso_8601_at_the_turn_of_the_year() {
        // 1 January 2021 was a Friday of the last week of 2020.
        let date = Date {
            time: 1_609_459_200,
            zone: 0,
        };
        assert_eq!(date.format("%G-%V %u %U %W %j"), "2020-53 5 00 00 001");
    }

    /// Recorded from `dateutil.datestr` of Mercurial 7.2.4.
    #[test]
    fn dates_outside_of_32_bits_are_shown_as_the_nearest_within() {
        let date = |time| Date { time, zone: 0 }.default_format();
        let (first, last) = (
            "Fri Dec 13 20:45:52 1901 +0000",
            "Tue Jan 19 03:14:07 2038 +0000",
        );
        for time in [i64::from(i32::MIN), -62_135_596_801, i64::MIN] {
            assert_eq!(date(time), first);
        }
        for time in [i64::from(i32::MAX), 99_999_999_999, i64::MAX] {
            assert_eq!(date(time), last);
        }
    }
}
