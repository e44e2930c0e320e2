//! Sizes: `size('1k')`, `size('> 20k')`, `size('4k - 1MB')`.

use std::ops::RangeInclusive;
use varve_lang::fileset::FilesetError;

/// Endings and their factors; a longer ending before its own last part.
const UNITS: [(&str, u64); 7] = [
    ("kb", 1 << 10),
    ("mb", 1 << 20),
    ("gb", 1 << 30),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("b", 1),
];

/// Parses an expression for a range of sizes.
pub(super) fn sizes(text: &str) -> Result<RangeInclusive<u64>, FilesetError> {
    let text = text.trim();
    if let Some((from, to)) = text.split_once('-') {
        return Ok(least(from)?..=most(to)?);
    }
    for (sign, is_less, is_equal) in [
        ("<=", true, true),
        ("<", true, false),
        (">=", false, true),
        (">", false, false),
    ] {
        if let Some(size) = text.strip_prefix(sign) {
            let size = least(size)?;
            return Ok(match (is_less, is_equal) {
                (true, true) => 0..=size,
                // Nothing is smaller than nothing.
                (true, false) if size == 0 => RangeInclusive::new(1, 0),
                (true, false) => 0..=size - 1,
                (false, true) => size..=u64::MAX,
                (false, false) => size.saturating_add(1)..=u64::MAX,
            });
        }
    }
    Ok(least(text)?..=most(text)?)
}

fn wrong(text: &str) -> FilesetError {
    FilesetError::new(format!("couldn't parse size: {text}"))
}

/// The number before the unit, as written, and the unit.
fn parts(text: &str) -> Option<(String, u64)> {
    let lower = text.trim().to_ascii_lowercase();
    let unit = UNITS.iter().find(|(name, _)| lower.ends_with(name))?;
    let number = lower[..lower.len() - unit.0.len()].trim();
    Some((number.to_owned(), unit.1))
}

fn least(text: &str) -> Result<u64, FilesetError> {
    match parts(text) {
        None => text.trim().parse().map_err(|_| wrong(text)),
        Some((number, unit)) => Ok((float(&number, text)? * unit as f64) as u64),
    }
}

/// The largest size that is written so: up to where the last digit would be one more.
fn most(text: &str) -> Result<u64, FilesetError> {
    let Some((number, unit)) = parts(text) else {
        return least(text);
    };
    let digits = number.split_once('.').map_or(0, |(_, behind)| behind.len());
    let step = 10_f64.powi(-i32::try_from(digits).unwrap_or(i32::MAX));
    let next = (float(&number, text)? + step) * unit as f64;
    Ok((next as u64).saturating_sub(1))
}

fn float(number: &str, text: &str) -> Result<f64, FilesetError> {
    number.parse().map_err(|_| wrong(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_in_mercurial() {
        for (text, from, to) in [
            ("2", 2, 2),
            (" 2 ", 2, 2),
            ("1k", 1024, 2047),
            ("1.5K", 1536, 1637),
            ("1.50kb", 1536, 1545),
            ("1 k", 1024, 2047),
            (">1k", 1025, u64::MAX),
            (">=.5MB", 524_288, u64::MAX),
            ("<20k", 0, 20_479),
            ("4k - 1MB", 4096, 2_097_151),
            ("2b", 2, 2),
        ] {
            let found = sizes(text).unwrap();
            assert_eq!((*found.start(), *found.end()), (from, to), "{text}");
        }
        for (text, shown) in [
            ("foo", "foo"),
            ("-1", ""),
            ("1 - 2 - 3", " 2 - 3"),
            ("<= 1.5", " 1.5"),
            ("= 2", "= 2"),
            ("1e3", "1e3"),
            ("k", "k"),
        ] {
            let error = sizes(text).unwrap_err();
            assert_eq!(error.message, format!("couldn't parse size: {shown}"));
        }
    }
}
