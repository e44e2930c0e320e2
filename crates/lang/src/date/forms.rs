//! The forms in which dates can be typed, after `strptime`.

use super::format::{DAYS, MONTHS};

/// Forms of a day or a time, in the order in which they are tried.
pub(super) const FORMS: &[&str] = &[
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H%M%S",
    "%Y-%m-%dT%H%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H%M%S",
    "%Y-%m-%d %H%M",
    "%Y-%m-%d %I:%M:%S%p",
    "%Y-%m-%d %I:%M%p",
    "%Y-%m-%d",
    "%m-%d",
    "%m/%d",
    "%m/%d/%y",
    "%m/%d/%Y",
    "%a %b %d %H:%M:%S %Y",
    "%a %b %d %I:%M:%S%p %Y",
    "%a, %d %b %Y %H:%M:%S",
    "%b %d %H:%M:%S %Y",
    "%b %d %I:%M:%S%p %Y",
    "%b %d %H:%M:%S",
    "%b %d %I:%M:%S%p",
    "%b %d %H:%M",
    "%b %d %I:%M%p",
    "%b %d %Y",
    "%b %d",
    "%H:%M:%S",
    "%I:%M:%S%p",
    "%H:%M",
    "%I:%M%p",
];

/// Forms of a whole year or month, for ranges.
pub(super) const WIDE_FORMS: &[&str] = &["%Y", "%Y-%m", "%b", "%b %Y"];

/// The parts that a text gives; `None` for those that it leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub year: Option<i64>,
    pub month: Option<i64>,
    pub day: Option<i64>,
    pub hour: Option<i64>,
    pub minute: Option<i64>,
    pub second: Option<i64>,
    pub afternoon: Option<bool>,
}

/// Matches the whole text.
pub(super) fn match_form(form: &str, text: &str) -> Option<Fields> {
    let (mut fields, mut rest) = (Fields::default(), text.as_bytes());
    let mut letters = form.bytes();
    while let Some(letter) = letters.next() {
        match letter {
            b'%' => rest = fields.read(letters.next()?, rest)?,
            b' ' => {
                let blanks = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
                rest = (blanks > 0).then(|| &rest[blanks..])?;
            }
            _ => {
                let (first, behind) = rest.split_first()?;
                rest = first.eq_ignore_ascii_case(&letter).then_some(behind)?;
            }
        }
    }
    if let (Some(afternoon), Some(hour)) = (fields.afternoon, fields.hour) {
        fields.hour = Some(hour % 12 + if afternoon { 12 } else { 0 });
    }
    rest.is_empty().then_some(fields)
}

impl Fields {
    fn read<'t>(&mut self, directive: u8, text: &'t [u8]) -> Option<&'t [u8]> {
        let (field, rest) = match directive {
            b'Y' => digits(text, 4, 4, 0..=9999)?,
            b'y' => {
                let (year, rest) = digits(text, 2, 2, 0..=99)?;
                (if year < 69 { 2000 + year } else { 1900 + year }, rest)
            }
            b'm' => digits(text, 1, 2, 1..=12)?,
            b'd' => digits(text, 1, 2, 1..=31)?,
            b'H' => digits(text, 1, 2, 0..=23)?,
            b'I' => digits(text, 1, 2, 1..=12)?,
            b'M' => digits(text, 1, 2, 0..=59)?,
            b'S' => digits(text, 1, 2, 0..=61)?,
            b'a' => name(text, &DAYS)?,
            b'b' => name(text, &MONTHS)?,
            b'p' => name(text, &["am", "pm"])?,
            _ => return None,
        };
        match directive {
            b'Y' | b'y' => self.year = Some(field),
            b'm' | b'b' => self.month = Some(field),
            b'd' => self.day = Some(field),
            b'H' | b'I' => self.hour = Some(field),
            b'M' => self.minute = Some(field),
            b'S' => self.second = Some(field),
            b'p' => self.afternoon = Some(field == 2),
            // The day of the week says nothing that the date does not.
            _ => {}
        }
        Some(rest)
    }
}

/// Reads as many digits as stay within the limits.
fn digits(
    text: &[u8],
    least: usize,
    most: usize,
    limits: std::ops::RangeInclusive<i64>,
) -> Option<(i64, &[u8])> {
    let there = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (least..=there.min(most)).rev().find_map(|len| {
        let number: i64 = std::str::from_utf8(&text[..len]).ok()?.parse().ok()?;
        limits.contains(&number).then(|| (number, &text[len..]))
    })
}

/// Reads a name by its first three letters (or all, if it is shorter); its number counts from 1.
fn name<'t>(text: &'t [u8], names: &[&str]) -> Option<(i64, &'t [u8])> {
    names.iter().zip(1..).find_map(|(name, number)| {
        let len = name.len().min(3);
        let begins = text.get(..len)?;
        begins
            .eq_ignore_ascii_case(&name.as_bytes()[..len])
            .then(|| (number, &text[len..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stop_where_the_limit_is() {
        let fields = match_form("%Y-%m-%dT%H%M", "2006-12-06T1318").unwrap();
        assert_eq!((fields.hour, fields.minute), (Some(13), Some(18)));
        assert_eq!(match_form("%b %d", "Jan 32"), None);
        assert_eq!(match_form("%m/%d/%y", "12/6/6"), None);
        let fields = match_form("%I:%M%p", "12:05AM").unwrap();
        assert_eq!(fields.hour, Some(0));
    }
}
