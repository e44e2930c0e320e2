//! Operators on two values.

use super::number::to_int32;
use super::program::Binary;
use super::value::{Result, Stop, Value};
use std::cmp::Ordering;

/// Result of an operator for two values; `in` is not among them.
pub(super) fn apply<'a>(
    operator: Binary,
    left: &Value<'a>,
    right: &Value<'a>,
) -> Result<Value<'a>> {
    let numbers = || Ok::<_, Stop>((left.to_number()?, right.to_number()?));
    let bits = || numbers().map(|(left, right)| (to_int32(left), to_int32(right)));
    Ok(match operator {
        Binary::Add => return add(left, right),
        Binary::Subtract => numbers().map(|(left, right)| Value::Number(left - right))?,
        Binary::Multiply => numbers().map(|(left, right)| Value::Number(left * right))?,
        Binary::Divide => numbers().map(|(left, right)| Value::Number(left / right))?,
        Binary::Remainder => numbers().map(|(left, right)| Value::Number(left % right))?,
        Binary::BitAnd => integer(bits().map(|(left, right)| left & right)?),
        Binary::BitOr => integer(bits().map(|(left, right)| left | right)?),
        Binary::BitXor => integer(bits().map(|(left, right)| left ^ right)?),
        Binary::ShiftLeft => integer(bits().map(|(left, right)| left.wrapping_shl(right as u32))?),
        Binary::ShiftRight => integer(bits().map(|(left, right)| left.wrapping_shr(right as u32))?),
        Binary::ShiftRightUnsigned => {
            let (left, right) = bits()?;
            Value::Number(f64::from((left as u32).wrapping_shr(right as u32)))
        }
        Binary::Equal => Value::Bool(equal(left, right)?),
        Binary::NotEqual => Value::Bool(!equal(left, right)?),
        Binary::Same => Value::Bool(same(left, right)),
        Binary::NotSame => Value::Bool(!same(left, right)),
        Binary::Less => Value::Bool(compare(left, right)? == Some(Ordering::Less)),
        Binary::Greater => Value::Bool(compare(left, right)? == Some(Ordering::Greater)),
        Binary::LessOrEqual => Value::Bool(compare(left, right)?.is_some_and(Ordering::is_le)),
        Binary::GreaterOrEqual => Value::Bool(compare(left, right)?.is_some_and(Ordering::is_ge)),
        Binary::In => return Err(Stop::Unsure),
    })
}

fn integer<'a>(bits: i32) -> Value<'a> {
    Value::Number(f64::from(bits))
}

fn add<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>> {
    // Here, a date is a string.
    if matches!((left, right), (Value::Date(_), _) | (_, Value::Date(_))) {
        return Err(Stop::Unsure);
    }
    if !matches!((left, right), (Value::Text(_), _) | (_, Value::Text(_))) {
        return Ok(Value::Number(left.to_number()? + right.to_number()?));
    }
    let mut text = String::new();
    left.push_to(&mut text)?;
    right.push_to(&mut text)?;
    Value::text(text)
}

/// `===`
pub(super) fn same(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Number(left), Value::Number(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => **left == **right,
        // The document's parts are made once.
        (Value::Stored(left), Value::Stored(right)) => left == right,
        (Value::Made(left), Value::Made(right)) => left == right,
        (Value::Date(left), Value::Date(right)) => left.identity == right.identity,
        (Value::Pattern(left), Value::Pattern(right)) => left == right,
        _ => false,
    }
}

/// `==`
fn equal(left: &Value<'_>, right: &Value<'_>) -> Result<bool> {
    if left.is_nothing() || right.is_nothing() {
        return Ok(left.is_nothing() && right.is_nothing());
    }
    let is_same_type = left.type_name() == right.type_name();
    let is_date = |value: &Value<'_>| matches!(value, Value::Date(_));
    match is_same_type {
        false if is_date(left) || is_date(right) => Err(Stop::Unsure),
        true => Ok(same(left, right)),
        false => Ok(left.to_number()? == right.to_number()?),
    }
}

/// The order of two values; none if one of them is not a number.
fn compare(left: &Value<'_>, right: &Value<'_>) -> Result<Option<Ordering>> {
    match (left, right) {
        // By units of UTF-16, whose order differs from that of characters.
        (Value::Text(left), Value::Text(right)) => {
            Ok(Some(left.encode_utf16().cmp(right.encode_utf16())))
        }
        _ => Ok(left.to_number()?.partial_cmp(&right.to_number()?)),
    }
}
