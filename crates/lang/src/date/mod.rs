//! Dates as Mercurial takes and shows them.

mod civil;
mod format;
mod parse;
mod range;
mod template;
mod zone;

pub use parse::{Clock, parse};
pub use range::DateRange;
pub use zone::Zone;

use civil::Civil;

/// A moment, and the zone of who noted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    /// Seconds since 1970.
    pub time: i64,
    /// Seconds west of UTC.
    pub zone: i32,
}

impl Date {
    /// As `Thu Jan 01 00:00:00 1970 +0000`.
    pub fn usual(&self) -> String {
        self.format("%a %b %d %H:%M:%S %Y %1%2")
    }

    /// Fills a `strftime` pattern; `%1` and `%2` are the zone's hours with sign, and its minutes.
    pub fn format(&self, pattern: &str) -> String {
        format::fill(pattern, self)
    }

    /// What the clock of who noted it showed.
    fn civil(&self) -> Civil {
        Civil::of(self.time.saturating_sub(i64::from(self.zone)))
    }
}

/// A date that cannot be understood. The texts are Mercurial's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DateError {
    /// No known form.
    #[error("invalid date: '{0}'")]
    Unknown(String),
    /// Does not fit the form of a changeset.
    #[error("date exceeds 32 bits: {0}")]
    TooLarge(i64),
    /// A zone is not more than a day away.
    #[error("impossible time zone offset: {0}")]
    Zone(i64),
    /// Nothing but blanks.
    #[error("dates cannot consist entirely of whitespace")]
    Blank,
    /// `>` or `<` without a date.
    #[error("invalid day spec, use '{0}DATE'")]
    Half(char),
    /// `-` without a number of days.
    #[error("invalid day spec: {0}")]
    Days(String),
    /// `-` with a negative number of days.
    #[error("{0} must be nonnegative (see 'hg help dates')")]
    NegativeDays(String),
}

impl DateError {
    /// Whether Mercurial calls it a parse error; it aborts for the others.
    pub fn is_parse_error(&self) -> bool {
        matches!(
            self,
            DateError::Unknown(_) | DateError::TooLarge(_) | DateError::Zone(_)
        )
    }
}
