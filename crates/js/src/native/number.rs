//! Numbers as the language reads and writes them.

use super::value::{Result, Stop, Value};

/// Strings with more digits are left to the engine.
const MAX_DIGITS: usize = 17;

/// The language's text of a number.
pub(super) fn push(number: f64, out: &mut String) {
    let mut buffer = ryu_js::Buffer::new();
    out.push_str(buffer.format(number));
}

/// A number of the document as `JSON.stringify` writes it.
pub(super) fn push_token(token: &str, out: &mut String) {
    if is_written_so(token) {
        out.push_str(token);
        return;
    }
    let number = of_token(token);
    match number.is_finite() {
        true => push(number, out),
        false => out.push_str("null"),
    }
}

/// A number of the document.
pub(super) fn of_token(token: &str) -> f64 {
    // Every number of JSON is one for this parser.
    token.parse().unwrap_or(f64::NAN)
}

/// Whether a number surely is written as it stands. Of at most 15 digits, no two decimals are the
/// same float, so without zeros at its end a decimal is the shortest of its float.
fn is_written_so(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    if digits.len() > 16 || digits.starts_with('0') {
        return digits == "0" && token == "0";
    }
    match digits.split_once('.') {
        None => digits.len() <= 15 && digits.bytes().all(|byte| byte.is_ascii_digit()),
        Some((_, places)) => {
            !places.ends_with('0') && places.bytes().all(|byte| byte.is_ascii_digit())
        }
    }
}

/// A string as a number: plain decimals with blanks around them. Text that is surely no number is NaN; text that could
/// be one of the language's other forms is left to the engine.
pub(super) fn of_text(text: &str) -> Result<f64> {
    let blanks = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];
    let text = text.trim_matches(&blanks[..]);
    if text.is_empty() {
        return Ok(0.0);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let first = unsigned.bytes().next().unwrap_or(b' ');
    let is_decimal =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    if !text.is_ascii() || first == b'I' {
        return Err(Stop::Unsure);
    }
    if !unsigned.bytes().all(is_decimal) {
        // `0x1f`, `0b1` and `0o7` are numbers.
        return match first == b'0' {
            true => Err(Stop::Unsure),
            false => Ok(f64::NAN),
        };
    }
    match unsigned.len() > MAX_DIGITS || !unsigned.bytes().any(|byte| byte.is_ascii_digit()) {
        true => Err(Stop::Unsure),
        false => Ok(text.parse().unwrap_or(f64::NAN)),
    }
}

/// As an integer of 32 bits, for operators on bits.
pub(super) fn to_int32(number: f64) -> i32 {
    if !number.is_finite() {
        return 0;
    }
    // The remainder is exact and below 2^32 in size.
    (number.trunc() % 4_294_967_296.0) as i64 as i32
}

/// Number that `parseInt` reads at the beginning of a value's text. With `is_decimal`, `0x` begins no number of base 16.
pub(super) fn parse_int(value: &Value<'_>, is_decimal: bool) -> Result<f64> {
    let text = value.to_chars()?;
    let (is_negative, digits) = signed(&text)?;
    if !is_decimal && (digits.starts_with("0x") || digits.starts_with("0X")) {
        return Err(Stop::Unsure);
    }
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    let number: f64 = match end {
        0 => return Ok(f64::NAN),
        1..=15 => digits[..end].parse().unwrap_or(f64::NAN),
        _ => return Err(Stop::Unsure),
    };
    Ok(if is_negative { -number } else { number })
}

/// Number that `parseFloat` reads at the beginning of a value's text.
pub(super) fn parse_float(value: &Value<'_>) -> Result<f64> {
    let text = value.to_chars()?;
    let (is_negative, rest) = signed(&text)?;
    if rest.starts_with('I') {
        return Err(Stop::Unsure);
    }
    let digits = |from: usize| {
        let rest = rest.as_bytes().get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let whole = digits(0);
    let mut end = whole;
    if rest[end..].starts_with('.') {
        let places = digits(end + 1);
        match whole + places {
            0 => return Ok(f64::NAN),
            _ => end += 1 + places,
        }
    }
    if end == 0 {
        return Ok(f64::NAN);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        match digits(end + 1 + sign) {
            0 => {}
            count => end += 1 + sign + count,
        }
    }
    if end > MAX_DIGITS {
        return Err(Stop::Unsure);
    }
    let number: f64 = rest[..end].parse().unwrap_or(f64::NAN);
    Ok(if is_negative { -number } else { number })
}

/// A number's text without blanks before it, and without its sign.
fn signed(text: &str) -> Result<(bool, &str)> {
    let text = text.trim_start_matches(is_blank);
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    Ok((text.starts_with('-'), rest))
}

/// Whether the language skips a character around numbers and in `trim`.
pub(super) fn is_blank(character: char) -> bool {
    matches!(
        character,
        '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}'
            | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

/// The text of a number with so many decimal places. Of two texts that are as near, it is the greater one.
pub(super) fn fixed(number: f64, places: usize) -> Result<String> {
    /// Enough to see whether what is cut off is a half.
    const ALL: usize = 80;
    let size = number.abs();
    if places > 20 || (size != 0.0 && !(1e-6..1e15).contains(&size)) {
        return Err(Stop::Unsure);
    }
    let exact = format!("{size:.ALL$}");
    let cut = exact.len() - ALL + places;
    let is_half =
        exact.as_bytes()[cut] == b'5' && exact[cut + 1..].bytes().all(|digit| digit == b'0');
    if is_half {
        // Only the engine surely knows.
        return Err(Stop::Unsure);
    }
    let sign = if number < 0.0 { "-" } else { "" };
    Ok(format!("{sign}{size:.places$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_language_does() {
        for (token, wanted) in [
            ("0", "0"),
            ("-0", "0"),
            ("0.0", "0"),
            ("-0.0", "0"),
            ("1.0", "1"),
            ("100.50", "100.5"),
            ("0.5", "0.5"),
            ("1e21", "1e+21"),
            ("1e-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("123456789012345", "123456789012345"),
            ("9007199254740993", "9007199254740992"),
            ("123456789012345678901234567890", "1.2345678901234568e+29"),
            ("12.5", "12.5"),
            ("-12.25", "-12.25"),
        ] {
            let mut out = String::new();
            push_token(token, &mut out);
            assert_eq!(out, wanted, "{token}");
        }
        let mut out = String::new();
        push_token(&"9".repeat(400), &mut out);
        assert_eq!(out, "null");
    }

    #[test]
    fn integers_of_32_bits_wrap() {
        for (number, wanted) in [
            (4_294_967_296.0, 0),
            (2_147_483_648.0, i32::MIN),
            (-1.9, -1),
            (1e20, 1_661_992_960),
            (f64::NAN, 0),
        ] {
            assert_eq!(to_int32(number), wanted, "{number}");
        }
    }
}
