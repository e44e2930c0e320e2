//! The order of rows that one document emits with one key: by value, as Erlang orders terms.
//!
//! Numbers, then `false`, `null`, `true`, then objects, arrays and strings. Objects and arrays
//! compare item by item, strings by bytes.

use std::cmp::Ordering;
use varve_json::{Value, parse};

/// Compares two values given as JSON text.
pub(super) fn compare_json(left: &[u8], right: &[u8]) -> Ordering {
    match (parse(left), parse(right)) {
        (Ok(left), Ok(right)) => compare(&left, &right),
        _ => left.cmp(right),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::Bool(false) => 1,
        Value::Null => 2,
        Value::Bool(true) => 3,
        Value::Object(_) => 4,
        Value::Array(items) if items.is_empty() => 5,
        Value::Array(_) => 6,
        Value::String(_) => 7,
    }
}

/// Recursion is bounded by the depth that the parser accepts.
fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.to_f64().total_cmp(&b.to_f64()),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Array(a), Value::Array(b)) => {
            let items = a.iter().zip(b).map(|(a, b)| compare(a, b));
            first_difference(items).then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let members = a.iter().zip(b.iter()).map(|((name, a), (other, b))| {
                name.as_bytes()
                    .cmp(other.as_bytes())
                    .then_with(|| compare(a, b))
            });
            first_difference(members).then(a.len().cmp(&b.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn first_difference(mut comparisons: impl Iterator<Item = Ordering>) -> Ordering {
    comparisons
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_the_order_of_terms() {
        let ascending = [
            "-1",
            "0",
            "1.5",
            "2",
            "false",
            "null",
            "true",
            r#"{"_id":"b1"}"#,
            r#"{"_id":"b2"}"#,
            r#"{"a":1}"#,
            r#"{"a":1,"b":0}"#,
            "[]",
            "[1]",
            "[1,2]",
            "[2]",
            r#""""#,
            r#""a""#,
        ];
        for (i, left) in ascending.iter().enumerate() {
            for (j, right) in ascending.iter().enumerate() {
                let order = compare_json(left.as_bytes(), right.as_bytes());
                assert_eq!(order, i.cmp(&j), "{left} {right}");
            }
        }
    }
}
