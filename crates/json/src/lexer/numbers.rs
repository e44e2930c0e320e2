//! Numbers: while the digits of a token are counted they are summed up, so that most tokens need not
//! be read again.

use super::Lexer;
use crate::number::{EXACT_DIGITS, NO_EXPONENT, read_float, read_int};
use crate::{JsonError, MAX_DIGITS, Number};

/// Integers of so many digits fit into 64 bits.
const SURE_DIGITS: usize = 18;

/// Powers of ten, all of them exact.
const POWERS: [f64; EXACT_DIGITS + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];

/// A number as it stands in the text, which is valid JSON.
pub(crate) struct NumberToken<'t> {
    text: &'t str,
    /// Where it stands.
    at: usize,
    is_negative: bool,
    /// How many digits stand before the point.
    whole: usize,
    /// And how many behind it.
    places: Option<usize>,
    has_exponent: bool,
    /// All digits before the exponent as one number, if they are at most [`SURE_DIGITS`].
    digits: u64,
}

impl<'t> Lexer<'t> {
    /// Reads a number; stands on its sign or first digit.
    pub(crate) fn number(&mut self) -> Result<NumberToken<'t>, JsonError> {
        let at = self.at;
        let is_negative = self.bytes[at] == b'-';
        self.at += usize::from(is_negative);
        let (first, mut digits) = (self.at, 0);
        let whole = self.digits(&mut digits)?;
        if whole > 1 && self.bytes[first] == b'0' {
            self.at = first + 1;
            return Err(self.unexpected("no digit behind a leading zero"));
        }
        let mut places = None;
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            places = Some(self.digits(&mut digits)?);
        }
        let mut has_exponent = false;
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            has_exponent = true;
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits(&mut 0)?;
        }
        Ok(NumberToken {
            text: &self.text[at..self.at],
            at,
            is_negative,
            whole,
            places,
            has_exponent,
            digits,
        })
    }

    /// Skips at least one digit and says how many there were; hangs them on `sum`, which is without
    /// meaning if they are too many.
    fn digits(&mut self, sum: &mut u64) -> Result<usize, JsonError> {
        let first = self.at;
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(self.at) {
            *sum = sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        match self.at - first {
            0 => Err(self.unexpected("a digit")),
            count => Ok(count),
        }
    }
}

impl<'t> NumberToken<'t> {
    /// As it stands there.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// The number that the token stands for.
    pub(crate) fn read(&self) -> Result<Number, JsonError> {
        let at = self.at;
        if let Some(float) = self.exact_float() {
            return Ok(Number::Float(float));
        }
        if self.places.is_some() || self.has_exponent {
            let float = read_float(self.text);
            return float
                .map(Number::Float)
                .ok_or(JsonError::NumberOutOfRange { at });
        }
        match self.whole {
            0..=SURE_DIGITS => {
                let int = self.digits as i64;
                Ok(Number::Int(if self.is_negative { -int } else { int }))
            }
            digits if digits > MAX_DIGITS => Err(JsonError::NumberTooLong { at, digits }),
            _ => Ok(read_int(self.text)),
        }
    }

    /// The float of few digits and no exponent: an exact integer divided by an exact power of ten,
    /// so the quotient is the float that is nearest.
    fn exact_float(&self) -> Option<f64> {
        let places = self.places.filter(|_| !self.has_exponent)?;
        if self.whole + places > EXACT_DIGITS {
            return None;
        }
        let float = self.digits as f64 / POWERS.get(places)?;
        Some(if self.is_negative { -float } else { float })
    }

    /// Whether the number, which is this one, is written as it stands here. Where that is hard to
    /// tell, the answer is no.
    pub(crate) fn is_written_so(&self, number: &Number) -> bool {
        match number {
            Number::Int(int) => *int != 0 || !self.is_negative,
            // No other decimal of so few digits is this float, so without zeros at its end this
            // one is the shortest.
            Number::Float(float) => {
                let ends_well = self.places == Some(1) || !self.text.ends_with('0');
                ends_well && float.abs() >= NO_EXPONENT && self.exact_float().is_some()
            }
            Number::Big(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token(text: &str) -> NumberToken<'_> {
        Lexer::new(text.as_bytes()).unwrap().number().unwrap()
    }

    proptest! {
        #[test]
        fn numbers_are_read_and_written_as_one_by_one(
            sign in "-?", whole in "0|[1-9][0-9]{0,19}", places in "(\\.[0-9]{1,19})?",
            exponent in "([eE][+-]?[0-9]{1,2})?",
        ) {
            let text = format!("{sign}{whole}{places}{exponent}");
            let (token, is_float) = (token(&text), !(places.is_empty() && exponent.is_empty()));
            let wanted = match is_float {
                true => Number::Float(read_float(&text).unwrap()),
                false => read_int(&text),
            };
            let number = token.read().unwrap();
            prop_assert_eq!(&number, &wanted, "{}", text);
            let mut written = Vec::new();
            number.write(&mut written);
            prop_assert!(!token.is_written_so(&number) || written == text.as_bytes(), "{}", text);
        }
    }

    #[test]
    fn short_floats_are_surely_written_so() {
        for text in [
            "1.5",
            "-0.25",
            "100.0",
            "123456.12345678",
            "0.000001",
            "7",
            "-7",
            "0",
        ] {
            let token = token(text);
            assert!(token.is_written_so(&token.read().unwrap()), "{text}");
        }
        for text in ["-0", "1.50", "0.0000001", "1e3", "0.0", "-0.0"] {
            let token = token(text);
            assert!(!token.is_written_so(&token.read().unwrap()), "{text}");
        }
    }
}
