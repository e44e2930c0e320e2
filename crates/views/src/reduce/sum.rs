//! `_sum`: of numbers, of arrays item by item, of objects member by member.

use super::number::Total;
use super::{Reduced, read_value};
use varve_json::{Value, write};

/// The sum of values given as JSON text; sums of sums are sums.
pub(super) fn of_values<'a>(values: impl Iterator<Item = &'a [u8]>) -> Reduced {
    let mut total: Option<Value> = None;
    for json in values {
        let value = read_value(json);
        let sum = match total.take() {
            None => is_summable(&value).then_some(value),
            Some(before) => add(before, &value),
        };
        match sum {
            Some(sum) => total = Some(sum),
            None => return refused(json),
        }
    }
    match total {
        None => Reduced::Nothing,
        Some(total) => {
            let mut json = Vec::new();
            write(&total, &mut json);
            Reduced::Value(json)
        }
    }
}

fn refused(json: &[u8]) -> Reduced {
    let found = String::from_utf8_lossy(json);
    Reduced::Failed(format!(
        "_sum takes numbers, arrays of numbers, and objects of these, not {found}"
    ))
}

/// Whether a value consists of numbers, at any depth of objects.
fn is_summable(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Array(items) => items.iter().all(|item| matches!(item, Value::Number(_))),
        Value::Object(members) => members.iter().all(|(_, member)| is_summable(member)),
        _ => false,
    }
}

/// `None` if the two do not add.
fn add(left: Value, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::Object(mut left), Value::Object(right)) => {
            for (name, addend) in right.iter() {
                match left.get_mut(name) {
                    Some(sum) => *sum = add(std::mem::take(sum), addend)?,
                    None if is_summable(addend) => left.insert(name, addend.clone()),
                    None => return None,
                }
            }
            Some(Value::Object(left))
        }
        (Value::Object(_), _) | (_, Value::Object(_)) => None,
        (left @ Value::Number(_), Value::Number(_)) => {
            Some(Total::of(&left)?.plus(Total::of(right)?).value())
        }
        (left, right) => add_items(left, right),
    }
}

/// Adds two of which one at least is an array; a number stands for an array of that number.
fn add_items(left: Value, right: &Value) -> Option<Value> {
    let mut sums = match left {
        Value::Array(items) => items,
        number => vec![number],
    };
    let addends = match right {
        Value::Array(items) => items.as_slice(),
        number => std::slice::from_ref(number),
    };
    for (index, addend) in addends.iter().enumerate() {
        let addend = Total::of(addend)?;
        match sums.get_mut(index) {
            Some(sum) => *sum = Total::of(sum)?.plus(addend).value(),
            None => sums.push(addend.value()),
        }
    }
    Some(Value::Array(sums))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[&str]) -> String {
        match of_values(values.iter().map(|value| value.as_bytes())) {
            Reduced::Nothing => "nothing".to_owned(),
            Reduced::Value(json) => String::from_utf8(json).unwrap(),
            Reduced::Failed(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sums_are_exact_and_of_every_kind() {
        assert_eq!(sum(&[]), "nothing");
        assert_eq!(sum(&["1", "2", "-4"]), "-1");
        assert_eq!(sum(&["1.5", "2.5"]), "4.0");
        let (max, twice) = ("9223372036854775807", "18446744073709551614");
        assert_eq!(sum(&[max, max]), twice);
        assert_eq!(sum(&["[1,2]", "[3]", "4"]), "[8,2]");
        assert_eq!(sum(&["1", "[1,2.0]"]), "[2,2.0]");
        let objects = [r#"{"a":1}"#, r#"{"a":2,"b":{"c":[1]}}"#, r#"{"b":{"c":5}}"#];
        assert_eq!(sum(&objects), r#"{"a":3,"b":{"c":[6]}}"#);
    }

    #[test]
    fn what_does_not_add_is_refused() {
        for wrong in [
            &["null"][..],
            &["\"a\""],
            &["1", "true"],
            &["[1]", "[\"x\"]"],
            &["[[1]]"],
            &["{\"a\":1}", "2"],
            &["{\"a\":null}"],
        ] {
            assert!(sum(wrong).starts_with("_sum takes"), "{wrong:?}");
        }
    }
}
