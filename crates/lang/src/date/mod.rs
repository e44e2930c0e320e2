//! Dates in Mercurial's forms.

mod format;
mod forms;
mod parse;
mod range;
mod zone;

pub use parse::{Clock, parse};
pub use range::DateRange;
pub use zone::Zone;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Seconds in a day.
const DAY: i64 = 86_400;

/// A point in time and the time zone in which it was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub time: i64,
    /// Offset of the zone in seconds west of UTC.
    pub zone: i32,
}

impl Date {
    /// Formats the date as `Thu Jan 01 00:00:00 1970 +0000`, Mercurial's default.
    pub fn default_format(&self) -> String {
        self.format("%a %b %d %H:%M:%S %Y %1%2")
    }

    /// Formats the date by a `strftime` pattern with two more directives: `%1` for the hours of
    /// the zone with their sign, `%2` for its minutes.
    pub fn format(&self, pattern: &str) -> String {
        format::fill(pattern, self)
    }

    /// The local date and time in the recorded zone. Dates outside of 32 bits are shown as the
    /// nearest one within, as Mercurial shows them.
    fn civil(&self) -> DateTime {
        let local = self.time.saturating_sub(i64::from(self.zone));
        civil_of(local.clamp(i64::from(i32::MIN), i64::from(i32::MAX)))
    }
}

/// The date and time that a clock `local` seconds after 1970-01-01 00:00 shows. Years outside of
/// -9999 to 9999 become the epoch.
fn civil_of(local: i64) -> DateTime {
    let timestamp = Timestamp::from_second(local).unwrap_or(Timestamp::UNIX_EPOCH);
    Offset::UTC.to_datetime(timestamp)
}

/// Seconds from 1970-01-01 00:00 to `civil` on the same clock.
fn seconds_of(civil: DateTime) -> i64 {
    // Only the last day of the year 9999 exceeds the range of timestamps.
    let timestamp = Offset::UTC.to_timestamp(civil).unwrap_or(Timestamp::MAX);
    timestamp.as_second()
}

/// A date that cannot be understood. The texts are Mercurial's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DateError {
    /// The text has none of the known forms.
    #[error("invalid date: '{0}'")]
    Invalid(String),
    /// The time does not fit the 32 bits of a changeset.
    #[error("date exceeds 32 bits: {0}")]
    TooLarge(i64),
    /// The zone is more than a day away from UTC.
    #[error("impossible time zone offset: {0}")]
    ZoneOffset(i64),
    /// The text is nothing but whitespace.
    #[error("dates cannot consist entirely of whitespace")]
    Blank,
    /// `>` or `<` without a date.
    #[error("invalid day spec, use '{0}DATE'")]
    MissingDate(char),
    /// `-` without a number of days.
    #[error("invalid day spec: {0}")]
    InvalidDays(String),
    /// `-` with a negative number of days.
    #[error("{0} must be nonnegative (see 'hg help dates')")]
    NegativeDays(String),
}

impl DateError {
    /// Whether Mercurial reports a parse error; it aborts for the others.
    pub fn is_parse_error(&self) -> bool {
        matches!(
            self,
            DateError::Invalid(_) | DateError::TooLarge(_) | DateError::ZoneOffset(_)
        )
    }
}
