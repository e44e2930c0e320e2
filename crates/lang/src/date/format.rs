//! From a date to text, by a `strftime` pattern.

use super::Date;
use super::civil::Civil;
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

/// Writing to a string does not fail.
fn push(directive: char, date: &Date, civil: &Civil, out: &mut String) {
    let two = |out: &mut String, number: i64| {
        let _ = write!(out, "{number:02}");
    };
    let twelve = |hour: i64| (hour + 11) % 12 + 1;
    let day_name = DAYS[civil.weekday() as usize];
    let month_name = MONTHS[(civil.month - 1) as usize];
    let nested = |out: &mut String, pattern: &str| out.push_str(&fill(pattern, date));
    match directive {
        'a' => out.push_str(&day_name[..3]),
        'A' => out.push_str(day_name),
        'b' | 'h' => out.push_str(&month_name[..3]),
        'B' => out.push_str(month_name),
        'c' => nested(out, "%a %b %e %H:%M:%S %Y"),
        'C' => two(out, civil.year.div_euclid(100)),
        'd' => two(out, civil.day),
        'D' | 'x' => nested(out, "%m/%d/%y"),
        'e' => out.push_str(&format!("{:2}", civil.day)),
        'F' => nested(out, "%Y-%m-%d"),
        'H' => two(out, civil.hour),
        'I' => two(out, twelve(civil.hour)),
        'j' => out.push_str(&format!("{:03}", civil.day_of_year())),
        'k' => out.push_str(&format!("{:2}", civil.hour)),
        'l' => out.push_str(&format!("{:2}", twelve(civil.hour))),
        'm' => two(out, civil.month),
        'M' => two(out, civil.minute),
        'n' => out.push('\n'),
        'p' => out.push_str(if civil.hour < 12 { "AM" } else { "PM" }),
        'r' => nested(out, "%I:%M:%S %p"),
        'R' => nested(out, "%H:%M"),
        's' => out.push_str(&civil.seconds().to_string()),
        'S' => two(out, civil.second),
        't' => out.push('\t'),
        'T' | 'X' => nested(out, "%H:%M:%S"),
        'u' => out.push_str(&((civil.weekday() + 6) % 7 + 1).to_string()),
        'U' => two(out, (civil.day_of_year() + 6 - civil.weekday()) / 7),
        'V' => two(out, iso_week(civil).1),
        'G' => out.push_str(&iso_week(civil).0.to_string()),
        'w' => out.push_str(&civil.weekday().to_string()),
        'W' => two(
            out,
            (civil.day_of_year() + 6 - (civil.weekday() + 6) % 7) / 7,
        ),
        'y' => two(out, civil.year.rem_euclid(100)),
        'Y' => out.push_str(&civil.year.to_string()),
        'z' => nested(out, "%1%2"),
        'Z' => out.push_str("UTC"),
        '1' => {
            out.push(if date.zone > 0 { '-' } else { '+' });
            two(out, i64::from(date.zone).abs() / 3600);
        }
        '2' => two(out, i64::from(date.zone).abs() / 60 % 60),
        '%' => out.push('%'),
        other => out.extend(['%', other]),
    }
}

/// Year and week of ISO 8601: the week belongs to the year that has its Thursday.
fn iso_week(civil: &Civil) -> (i64, i64) {
    let from_monday = (civil.weekday() + 6) % 7;
    let thursday = Civil::of(civil.seconds() + (3 - from_monday) * super::civil::DAY);
    (thursday.year, (thursday.day_of_year() - 1) / 7 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_form_is_mercurials() {
        let date = |time, zone| Date { time, zone }.usual();
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
}
