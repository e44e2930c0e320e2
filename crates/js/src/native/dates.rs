//! Dates: reading the forms of ISO 8601, and the parts of a date. All of them are in UTC, as in the engine.

use super::known::DatePart;
use super::value::{Result, Stop, Value};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The first and the last year of dates that are not left to the engine, which writes years outside in another form.
const YEARS: std::ops::RangeInclusive<i64> = 1..=9_999;

/// The time of `new Date(…)` with these arguments, of which there is at least one.
pub(super) fn given(arguments: &[Value<'_>]) -> Result<f64> {
    match arguments {
        [Value::Text(text)] => parse(text),
        [Value::Date(date)] => Ok(date.time),
        [Value::Number(time)] => Ok(clip(*time)),
        [Value::Null] => Ok(0.0),
        [_] => Err(Stop::Unsure),
        several => of_parts(several),
    }
}

/// A time without its fraction; NaN outside of the range of dates.
fn clip(time: f64) -> f64 {
    match time.abs() <= 8.64e15 {
        // A negative zero becomes a positive one.
        true => time.trunc() + 0.0,
        false => f64::NAN,
    }
}

/// The time of `Date.UTC(year, month, …)`, at least with these two, all in their usual ranges.
pub(super) fn of_parts(arguments: &[Value<'_>]) -> Result<f64> {
    let mut parts = [0, 0, 1, 0, 0, 0, 0];
    if !(2..=7).contains(&arguments.len()) {
        return Err(Stop::Unsure);
    }
    for (part, argument) in parts.iter_mut().zip(arguments) {
        *part = match argument {
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e6 => *number as i64,
            _ => return Err(Stop::Unsure),
        };
    }
    let [year, month, day, hours, minutes, seconds, milliseconds] = parts;
    let year = if (0..100).contains(&year) {
        year + 1900
    } else {
        year
    };
    let (year, month) = (year + month.div_euclid(12), month.rem_euclid(12) + 1);
    if !YEARS.contains(&year) {
        return Err(Stop::Unsure);
    }
    let time = hours * HOUR + minutes * MINUTE + seconds * SECOND + milliseconds;
    Ok(((days(year, month, 1) + day - 1) * DAY + time) as f64)
}

/// Days from 1970-01-01, in the calendar of today for all years.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the day that is not in all of them is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month from 1 and day of a count of days from 1970-01-01.
fn calendar(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = (from_march + 2) % 12 + 1;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// The time of a text such as `2011-01-31`, with a time such as `T10:20`, `T10:20:30` or `T10:20:30.123` and a zone such
/// as `Z` or `+01:00` behind it. All other forms are left to the engine.
pub(super) fn parse(text: &str) -> Result<f64> {
    let mut rest = text.as_bytes();
    let date = [
        number(&mut rest, 4)?,
        after(&mut rest, b'-')?,
        after(&mut rest, b'-')?,
    ];
    let [year, month, day] = date;
    if !YEARS.contains(&year) || !(1..=12).contains(&month) || !(1..=28).contains(&day) {
        // The last days of months, where they are some.
        let is_day =
            (1..=12).contains(&month) && calendar(days(year, month, day)) == (year, month, day);
        if !is_day || !YEARS.contains(&year) {
            return Err(Stop::Unsure);
        }
    }
    let mut time = days(year, month, day) * DAY;
    if rest.is_empty() {
        return Ok(time as f64);
    }
    let hours = after(&mut rest, b'T')?;
    let minutes = after(&mut rest, b':')?;
    let mut seconds = 0;
    if rest.first() == Some(&b':') {
        seconds = after(&mut rest, b':')?;
        if rest.first() == Some(&b'.') {
            rest = &rest[1..];
            time += number(&mut rest, 3)?;
        }
    }
    if hours > 23 || minutes > 59 || seconds > 59 {
        return Err(Stop::Unsure);
    }
    time += hours * HOUR + minutes * MINUTE + seconds * SECOND;
    Ok((time - zone(rest)?) as f64)
}

/// Milliseconds by which a zone is before UTC.
fn zone(mut rest: &[u8]) -> Result<i64> {
    let sign = match rest {
        [] | [b'Z'] => return Ok(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return Err(Stop::Unsure),
    };
    rest = &rest[1..];
    let (hours, minutes) = (number(&mut rest, 2)?, after(&mut rest, b':')?);
    match rest.is_empty() && hours <= 14 && minutes <= 59 {
        true => Ok(sign * (hours * HOUR + minutes * MINUTE)),
        false => Err(Stop::Unsure),
    }
}

/// Two digits behind a mark.
fn after(rest: &mut &[u8], mark: u8) -> Result<i64> {
    match rest.split_first() {
        Some((first, behind)) if *first == mark => *rest = behind,
        _ => return Err(Stop::Unsure),
    }
    number(rest, 2)
}

/// A number of so many digits.
fn number(rest: &mut &[u8], digits: usize) -> Result<i64> {
    let (number, behind) = rest.split_at_checked(digits).ok_or(Stop::Unsure)?;
    *rest = behind;
    number.iter().try_fold(0, |number, byte| match byte {
        b'0'..=b'9' => Ok(number * 10 + i64::from(byte - b'0')),
        _ => Err(Stop::Unsure),
    })
}

/// A part of a date; NaN if it is none.
pub(super) fn part(time: f64, part: DatePart) -> f64 {
    if time.is_nan() || part == DatePart::Time {
        return time;
    }
    let time = time as i64;
    let (day, of_day) = (time.div_euclid(DAY), time.rem_euclid(DAY));
    let found = match part {
        DatePart::Time => time,
        DatePart::Year => calendar(day).0,
        DatePart::Month => calendar(day).1 - 1,
        DatePart::Day => calendar(day).2,
        // 1970 began on a Thursday.
        DatePart::WeekDay => (day + 4).rem_euclid(7),
        DatePart::Hours => of_day / HOUR,
        DatePart::Minutes => of_day / MINUTE % 60,
        DatePart::Seconds => of_day / SECOND % 60,
        DatePart::Milliseconds => of_day % SECOND,
        DatePart::Zone => 0,
    };
    found as f64
}

/// The text of a date as `toISOString` writes it.
pub(super) fn iso(time: f64) -> Result<String> {
    if time.is_nan() {
        return Err(Stop::Unsure);
    }
    let part = |which| part(time, which) as i64;
    let year = part(DatePart::Year);
    if !YEARS.contains(&year) {
        return Err(Stop::Unsure);
    }
    let date = format!(
        "{year:04}-{:02}-{:02}",
        part(DatePart::Month) + 1,
        part(DatePart::Day)
    );
    let (hours, minutes) = (part(DatePart::Hours), part(DatePart::Minutes));
    let (seconds, milliseconds) = (part(DatePart::Seconds), part(DatePart::Milliseconds));
    Ok(format!(
        "{date}T{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}Z"
    ))
}
