//! The `Range` header of a GET.

use std::ops::Range;

/// Requested part of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it: no header, several ranges, or something that is no range of bytes.
    Whole,
    /// These bytes.
    Bytes(Range<u64>),
    /// Nothing that exists: 416.
    Unsatisfiable,
}

/// Reads `bytes=2-4`, `bytes=4-` and `bytes=-3` for a body of `length` bytes.
pub fn parse_range(header: Option<&str>, length: u64) -> Part {
    let Some((first, last)) = header.and_then(bounds) else {
        return Part::Whole;
    };
    let range = match (first, last) {
        (Some(first), Some(last)) if first > last => return Part::Whole,
        (Some(first), Some(last)) => first..last.saturating_add(1).min(length),
        (Some(first), None) => first..length,
        (None, Some(suffix)) => length.saturating_sub(suffix)..length,
        (None, None) => return Part::Whole,
    };
    if range.is_empty() {
        return Part::Unsatisfiable;
    }
    Part::Bytes(range)
}

fn bounds(header: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| match text.trim() {
        "" => Some(None),
        digits => digits.parse().ok().map(Some),
    };
    Some((number(first)?, number(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_honoured() {
        assert_eq!(parse_range(Some("bytes=2-4"), 10), Part::Bytes(2..5));
        assert_eq!(parse_range(Some("bytes=8-"), 10), Part::Bytes(8..10));
        assert_eq!(parse_range(Some("bytes=-3"), 10), Part::Bytes(7..10));
        assert_eq!(parse_range(Some("bytes=-30"), 10), Part::Bytes(0..10));
        assert_eq!(parse_range(Some("bytes=5-900"), 10), Part::Bytes(5..10));
    }

    #[test]
    fn what_lies_behind_the_end_is_refused() {
        assert_eq!(parse_range(Some("bytes=10-"), 10), Part::Unsatisfiable);
        assert_eq!(parse_range(Some("bytes=50-60"), 10), Part::Unsatisfiable);
        assert_eq!(parse_range(Some("bytes=-0"), 10), Part::Unsatisfiable);
    }

    #[test]
    fn anything_else_means_the_whole() {
        for header in [
            "bytes=1-2,4-5",
            "lines=1-2",
            "bytes=4-2",
            "bytes=-",
            "bytes=a-b",
        ] {
            assert_eq!(parse_range(Some(header), 10), Part::Whole, "{header}");
        }
        assert_eq!(parse_range(None, 10), Part::Whole);
    }
}
