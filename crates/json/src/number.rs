//! Exact numbers, read, kept and written back as CouchDB does.
//!
//! A number without point and exponent is an integer of any size; every other is a binary64.
//! Floats are written shortest, with a point always: `100.0`, `1e-7`, `1e+21`; both zeros as `0.0`.

use std::cmp::Ordering;

/// Longest integer that is accepted, in decimal digits: the conversion for hashing is quadratic.
pub const MAX_DIGITS: usize = 100_000;

/// Floats from this power of ten on are written with an exponent.
const EXPONENT_FROM: i32 = 21;
/// Floats below this power of ten are written with an exponent.
const EXPONENT_BELOW: i32 = -6;

/// An exact integer or a float.
#[derive(Clone, Debug)]
pub enum Number {
    /// An integer of 64 bits.
    Int(i64),
    /// A float; never infinite, never NaN.
    Float(f64),
    /// A larger integer: sign and decimal digits, no leading zeros.
    Big(Box<str>),
}

impl Number {
    /// The nearest binary64; larger integers saturate to an infinity.
    pub fn to_f64(&self) -> f64 {
        match self {
            Number::Int(int) => *int as f64,
            Number::Float(float) => *float,
            Number::Big(digits) => digits.parse().unwrap_or(f64::INFINITY),
        }
    }

    /// The number as CouchDB writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Number::Int(int) => write_int(*int, out),
            Number::Float(float) => write_float(*float, out),
            Number::Big(digits) => out.extend_from_slice(digits.as_bytes()),
        }
    }
}

/// Bits count, so that -0.0 is not 0.0: they hash differently.
impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a == b,
            (Number::Float(a), Number::Float(b)) => a.total_cmp(b) == Ordering::Equal,
            (Number::Big(a), Number::Big(b)) => a == b,
            _ => false,
        }
    }
}

impl From<u64> for Number {
    fn from(int: u64) -> Self {
        match i64::try_from(int) {
            Ok(int) => Number::Int(int),
            Err(_) => Number::Big(int.to_string().into()),
        }
    }
}

/// The integer of a valid JSON token without point and exponent.
pub(crate) fn read_int(token: &str) -> Number {
    match token.parse() {
        Ok(int) => Number::Int(int),
        Err(_) => Number::Big(token.into()),
    }
}

/// The float of a valid JSON token with point or exponent; `None` if it is out of range.
pub(crate) fn read_float(token: &str) -> Option<f64> {
    let float: f64 = token.parse().ok()?;
    if float.is_infinite() {
        return None;
    }
    if float.abs() >= f64::MIN_POSITIVE || token.contains('.') {
        return Some(float);
    }
    // A float that underflows without a point is computed by the peer as integer times power of ten, so that `5e-324`
    // becomes 0.0 while `5.0e-324` does not.
    let (mantissa, exponent) = token.split_once(['e', 'E'])?;
    let mantissa: f64 = mantissa.parse().ok()?;
    let power: f64 = format!("1e{exponent}").parse().ok()?;
    Some(mantissa * power).filter(|float| float.is_finite())
}

/// Two decimals of so many digits are never the same float.
pub(crate) const EXACT_DIGITS: usize = 15;

fn write_int(int: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = int.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if int < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

fn write_float(float: f64, out: &mut Vec<u8>) {
    if float == 0.0 || !float.is_finite() {
        out.extend_from_slice(b"0.0");
        return;
    }
    if float < 0.0 {
        out.push(b'-');
    }
    if let Some(places) = in_places(float.abs()) {
        write_places(places, out);
        return;
    }
    let mut buffer = ryu::Buffer::new();
    let mut digits = [0u8; 24];
    let (count, point) = shortest_digits(buffer.format_finite(float.abs()), &mut digits);
    layout_float(&digits[..count], point, out);
}

/// Decimal places of the floats that are written without a search for the shortest text.
const PLACES: usize = 8;
/// Ten to that power; exact as a float.
const ONE: u64 = 100_000_000;
/// Below this an integer times [`ONE`] has at most 15 digits.
const FEW_DIGITS: f64 = 1e7;
/// From here on they are written without an exponent.
pub(crate) const NO_EXPONENT: f64 = 1e-6;

/// `float` times [`ONE`], if that is an integer of at most 15 digits. Two decimals of so few digits
/// are never the same float, so this one, without zeros at its end, is the shortest. The product
/// may be rounded; the quotient is the float that the decimal is read as, and tells.
fn in_places(float: f64) -> Option<u64> {
    if !(NO_EXPONENT..FEW_DIGITS).contains(&float) {
        return None;
    }
    let places = (float * ONE as f64).round();
    (places / ONE as f64 == float).then_some(places as u64)
}

/// Writes `places` divided by [`ONE`].
fn write_places(places: u64, out: &mut Vec<u8>) {
    write_int((places / ONE) as i64, out);
    let (mut rest, mut digits) = (places % ONE, [b'0'; PLACES]);
    for digit in digits.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    let len = digits.iter().rposition(|digit| *digit != b'0');
    out.push(b'.');
    out.extend_from_slice(&digits[..=len.unwrap_or(0)]);
}

/// Splits ryu's text into digits without zeros at either end, and the position of the point
/// relative to the first digit.
fn shortest_digits(text: &str, digits: &mut [u8; 24]) -> (usize, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let whole = mantissa.find('.').unwrap_or(mantissa.len());
    let mut point = whole as i32 + exponent.parse::<i32>().unwrap_or(0);
    let mut count = 0;
    for digit in mantissa.bytes().filter(u8::is_ascii_digit) {
        if count == 0 && digit == b'0' {
            point -= 1;
        } else if count < digits.len() {
            digits[count] = digit;
            count += 1;
        }
    }
    while count > 0 && digits[count - 1] == b'0' {
        count -= 1;
    }
    (count, point)
}

/// Writes `0.DIGITS` times ten to the power `point`.
fn layout_float(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    let exponent = point - 1;
    if !(EXPONENT_BELOW..EXPONENT_FROM).contains(&exponent) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        write_int(i64::from(exponent.abs()), out);
        return;
    }
    let Ok(whole) = usize::try_from(point) else {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
        return;
    };
    if whole == 0 {
        out.push(b'0');
    }
    out.extend_from_slice(&digits[..whole.min(digits.len())]);
    out.resize(out.len() + whole.saturating_sub(digits.len()), b'0');
    out.push(b'.');
    out.extend_from_slice(
        digits
            .get(whole..)
            .filter(|rest| !rest.is_empty())
            .unwrap_or(b"0"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(float: f64) -> String {
        let mut out = Vec::new();
        write_float(float, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_laid_out_as_the_peer_does() {
        for (float, expected) in [
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (1e20, "100000000000000000000.0"),
            (1e21, "1e+21"),
            (1.25e21, "1.25e+21"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"),
            (1e-7, "1e-7"),
            (0.5, "0.5"),
            (10.25, "10.25"),
            (-0.0, "0.0"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(written(float), expected);
        }
    }

    #[test]
    fn what_underflows_is_read_as_the_peer_reads_it() {
        assert_eq!(read_float("5e-324"), Some(0.0));
        assert_eq!(read_float("5.0e-324"), Some(5e-324));
        assert_eq!(read_float("0e5"), Some(0.0));
        assert_eq!(read_float("1e400"), None);
        assert_eq!(read_float("3E-310"), Some(3.0 * 1e-310));
    }

    proptest! {
        #[test]
        fn written_floats_read_back_to_the_same_bits(bits in any::<u64>()) {
            let float = f64::from_bits(bits);
            prop_assume!(float.is_normal());
            prop_assert_eq!(written(float).parse::<f64>().unwrap().to_bits(), bits);
        }

        #[test]
        fn few_places_are_written_as_the_shortest_text(
            places in any::<u64>(), digits in 0u32..17, power in 0u32..12,
        ) {
            // Near the decimals as well as on them.
            let decimal = (places % 10_u64.pow(digits)) as f64 / 10_f64.powi(power as i32);
            for float in [decimal, decimal.next_up(), decimal.next_down()] {
                prop_assume!(float > 0.0);
                let mut buffer = ryu::Buffer::new();
                let mut digits = [0u8; 24];
                let (count, point) = shortest_digits(buffer.format_finite(float), &mut digits);
                let mut out = Vec::new();
                layout_float(&digits[..count], point, &mut out);
                prop_assert_eq!(written(float), String::from_utf8(out).unwrap());
            }
        }

        #[test]
        fn integers_are_written_as_they_are(int in any::<i64>()) {
            let mut out = Vec::new();
            write_int(int, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), int.to_string());
        }
    }
}
