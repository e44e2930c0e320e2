//! Parsing of single values.

/// `1 yes true on always` and `0 no false off never`, in any case.
pub fn boolean(value: &[u8]) -> Option<bool> {
    match value.to_ascii_lowercase().as_slice() {
        b"1" | b"yes" | b"true" | b"on" | b"always" => Some(true),
        b"0" | b"no" | b"false" | b"off" | b"never" => Some(false),
        _ => None,
    }
}

pub(super) fn integer(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

pub(super) fn number(value: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

/// A number, maybe with a fraction, and `b`, `k`, `kb`, `m`, `mb`, `g` or `gb` (powers of 1024).
pub fn bytes(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?.trim().to_ascii_lowercase();
    let units = [
        ("kb", 10),
        ("mb", 20),
        ("gb", 30),
        ("k", 10),
        ("m", 20),
        ("g", 30),
        ("b", 0),
    ];
    let (digits, shift) = units
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))
        .unwrap_or((&text, 0));
    let number: f64 = digits.trim_end().parse().ok()?;
    let size = number * f64::from(1_u32 << shift);
    (size.is_finite() && size >= 0.0).then_some(size as u64)
}

/// Words between commas and white space; `"` keeps them together, also where `\"` stands inside.
pub fn list(value: &[u8]) -> Vec<Vec<u8>> {
    let is_gap = |byte: u8| byte == b',' || byte.is_ascii_whitespace();
    let mut words = Vec::new();
    let mut rest = value;
    loop {
        let start = rest.iter().position(|byte| !is_gap(*byte));
        let Some(start) = start else { break };
        rest = &rest[start..];
        let (word, behind) = match quoted(rest) {
            Some(found) => found,
            None => {
                let end = rest.iter().position(|byte| is_gap(*byte));
                let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
                (word.to_vec(), behind)
            }
        };
        words.push(word);
        rest = behind;
    }
    words
}

/// A word in quotes at the beginning, and the text behind it; `None` if the quotes are not closed or close in the
/// middle of a word.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut word = Vec::new();
    loop {
        match rest {
            [b'\\', b'"', behind @ ..] => {
                word.push(b'"');
                rest = behind;
            }
            [b'"', behind @ ..] => {
                let ends = behind
                    .first()
                    .is_none_or(|byte| *byte == b',' || byte.is_ascii_whitespace());
                return ends.then_some((word, behind));
            }
            [byte, behind @ ..] => {
                word.push(*byte);
                rest = behind;
            }
            [] => return None,
        }
    }
}
