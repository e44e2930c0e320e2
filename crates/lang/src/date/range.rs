//! Ranges of time such as `>2020`, `<Dec 6`, `2006-12 to 2007`, `-30`.

use super::parse::{Clock, Fill, parse_filled};
use super::{DAY, DateError};

/// A range of time, both ends included; in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateRange {
    first: i64,
    last: i64,
}

impl DateRange {
    /// Parses a range.
    ///
    /// # Errors
    /// [`DateError`], in Mercurial's words.
    pub fn parse(text: &str, clock: &Clock) -> Result<DateRange, DateError> {
        let first = |text: &str| Ok(parse_filled(text, clock, Fill::First)?.time);
        let last = |text: &str| Ok(parse_filled(text, clock, Fill::Last)?.time);
        let all = DateRange {
            first: i64::MIN,
            last: i64::MAX,
        };
        let range = |first, last| Ok(DateRange { first, last });
        let text = match text.trim() {
            "" if !text.is_empty() => return Err(DateError::Blank),
            trimmed => trimmed,
        };
        if let Some(date) = text.strip_prefix('<') {
            let date = not_empty(date, '<')?;
            return range(all.first, last(date)?);
        }
        if let Some(date) = text.strip_prefix('>') {
            let date = not_empty(date, '>')?;
            return range(first(date)?, all.last);
        }
        if let Some(days) = text.strip_prefix('-') {
            let number: i64 = days
                .trim()
                .parse()
                .map_err(|_| DateError::InvalidDays(days.to_owned()))?;
            if number < 0 {
                return Err(DateError::NegativeDays(days.to_owned()));
            }
            return range(
                clock.now.saturating_sub(number.saturating_mul(DAY)),
                all.last,
            );
        }
        match text.split_once(" to ") {
            Some((from, to)) => range(first(from)?, last(to)?),
            None => range(first(text)?, last(text)?),
        }
    }

    /// Whether the range contains a time.
    pub fn contains(&self, time: i64) -> bool {
        (self.first..=self.last).contains(&time)
    }
}

fn not_empty(date: &str, sign: char) -> Result<&str, DateError> {
    let date = date.trim();
    if date.is_empty() {
        return Err(DateError::MissingDate(sign));
    }
    Ok(date)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Zone;

    fn clock() -> Clock {
        Clock {
            now: 1_795_234_214,
            zone: Zone::fixed_east(0),
        }
    }

    #[test]
    fn a_date_means_all_that_it_leaves_open() {
        let range = |text| DateRange::parse(text, &clock()).unwrap();
        let day = range("2006-12-06");
        assert_eq!((day.first, day.last), (1_165_363_200, 1_165_449_599));
        let month = range("Dec 2006");
        assert_eq!((month.first, month.last), (1_164_931_200, 1_167_609_599));
        let february = range("2007-02");
        assert_eq!(february.last, 1_172_707_199);
        assert_eq!(range("1970").last, 31_535_999);
        assert_eq!(range(">1970").first, 0);
        assert_eq!(range("<1970").last, 31_535_999);
        assert_eq!(range("1970 to 1971").last, 63_071_999);
        assert_eq!(range("-1").first, 1_795_147_814);
        assert!(range("0 0").contains(0) && !range("0 0").contains(1));
    }

    #[test]
    fn errors_have_mercurials_words() {
        let message = |text| DateRange::parse(text, &clock()).unwrap_err().to_string();
        assert_eq!(message(" "), "dates cannot consist entirely of whitespace");
        assert_eq!(message(">"), "invalid day spec, use '>DATE'");
        assert_eq!(message("-x"), "invalid day spec: x");
        let negative = "-3 must be nonnegative (see 'hg help dates')";
        assert_eq!(message("--3"), negative);
        assert_eq!(message("a to b"), "invalid date: 'a'");
    }
}
