//! Sums that stay exact as long as they are integers.

use varve_json::{Number, Value};

/// A sum in the making. Integers stay integers until one does not fit, or a float joins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Total {
    Int(i128),
    Float(f64),
}

impl Total {
    /// `None` if the value is not a number.
    pub(super) fn of(value: &Value) -> Option<Total> {
        match value {
            Value::Number(Number::Int(int)) => Some(Total::Int(i128::from(*int))),
            Value::Number(Number::Float(float)) => Some(Total::Float(*float)),
            Value::Number(Number::Big(digits)) => Some(match digits.parse() {
                Ok(int) => Total::Int(int),
                Err(_) => Total::Float(digits.parse().unwrap_or(f64::MAX)),
            }),
            _ => None,
        }
    }

    /// A short integer without reading it as a value; `None` for all other JSON text.
    pub(super) fn of_digits(json: &[u8]) -> Option<Total> {
        // So many digits fit.
        if !(1..=18).contains(&json.len()) {
            return None;
        }
        let digit = |sum: i64, byte: &u8| {
            byte.is_ascii_digit()
                .then(|| sum * 10 + i64::from(byte - b'0'))
        };
        let sum = json.iter().try_fold(0, digit)?;
        Some(Total::Int(i128::from(sum)))
    }

    fn to_f64(self) -> f64 {
        match self {
            Total::Int(int) => int as f64,
            Total::Float(float) => float,
        }
    }

    fn is_below(self, other: Total) -> bool {
        match (self, other) {
            (Total::Int(a), Total::Int(b)) => a < b,
            _ => self.to_f64() < other.to_f64(),
        }
    }

    pub(super) fn plus(self, other: Total) -> Total {
        if let (Total::Int(a), Total::Int(b)) = (self, other)
            && let Some(sum) = a.checked_add(b)
        {
            return Total::Int(sum);
        }
        Total::Float(self.to_f64() + other.to_f64())
    }

    pub(super) fn squared(self) -> Total {
        if let Total::Int(int) = self
            && let Some(square) = int.checked_mul(int)
        {
            return Total::Int(square);
        }
        Total::Float(self.to_f64() * self.to_f64())
    }

    /// The smaller of two, the first if they are equal.
    pub(super) fn min(self, other: Total) -> Total {
        if other.is_below(self) { other } else { self }
    }

    /// The larger of two, the first if they are equal.
    pub(super) fn max(self, other: Total) -> Total {
        if self.is_below(other) { other } else { self }
    }

    /// As JSON. A sum beyond the floats is the largest float.
    pub(super) fn value(self) -> Value {
        Value::Number(match self {
            Total::Int(int) => match i64::try_from(int) {
                Ok(int) => Number::Int(int),
                Err(_) => Number::Big(int.to_string().into()),
            },
            Total::Float(float) => Number::Float(float.clamp(f64::MIN, f64::MAX)),
        })
    }
}
