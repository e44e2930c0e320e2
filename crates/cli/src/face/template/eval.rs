//! Filling a template.

use super::filters::filter;
use super::functions;
use super::parse::Expr;
use crate::face::Abort;
use crate::face::formatter::{HIDDEN, Value};
use varve_repo::date::Date;

/// What keywords mean at one place.
pub(crate) trait Keywords {
    /// The value of a keyword; `None` if there is none of this name.
    fn value(&self, name: &str) -> Result<Option<Value>, Abort>;
}

/// The keywords of one member of a list, before those around it.
struct Member<'a> {
    member: &'a Value,
    around: &'a dyn Keywords,
    /// What a plain member is called besides `item`.
    name: &'a str,
    index: usize,
}

impl Keywords for Member<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        if name == "index" {
            return Ok(Some(Value::Int(self.index as i64)));
        }
        if let Value::Dict(entries) = self.member {
            let of_name =
                |key: &[u8]| key.strip_prefix(&[HIDDEN]).unwrap_or(key) == name.as_bytes();
            let found = entries.iter().find(|(key, _)| of_name(key));
            if let Some((_, value)) = found {
                return Ok(Some(value.clone()));
            }
        } else if name == "item" || name == self.name {
            return Ok(Some(self.member.clone()));
        }
        self.around.value(name)
    }
}

/// Fills a template or evaluates an expression.
pub(crate) fn evaluate(expr: &Expr, keywords: &dyn Keywords) -> Result<Value, Abort> {
    match expr {
        Expr::Text(text) => Ok(Value::Text(text.clone())),
        Expr::Template(parts) => {
            let mut out = Vec::new();
            for part in parts {
                push(&evaluate(part, keywords)?, &mut out);
            }
            Ok(Value::Text(out))
        }
        Expr::Symbol(name) => Ok(keywords.value(name)?.unwrap_or(Value::Null)),
        Expr::Number(number) => Ok(Value::Int(*number)),
        Expr::Filter(operand, name) => filter(name, evaluate(operand, keywords)?),
        Expr::Map(list, template) => map(list, template, keywords),
        Expr::Call(name, arguments) => functions::call(name, arguments, keywords),
        Expr::Arithmetic(operator, left, right) => {
            let (left, right) = (number(left, keywords)?, number(right, keywords)?);
            let result = match operator {
                b'+' => left.checked_add(right),
                b'-' => left.checked_sub(right),
                b'*' => left.checked_mul(right),
                _ => {
                    if right == 0 {
                        return Err(parse_error("division by zero is not defined"));
                    }
                    left.checked_div_euclid(right)
                }
            };
            let result = result.ok_or_else(|| parse_error("number is too large"))?;
            Ok(Value::Int(result))
        }
    }
}

pub(super) fn parse_error(message: impl Into<String>) -> Abort {
    Abort::Parse {
        message: message.into(),
        at: None,
        hint: None,
    }
}

pub(super) fn number(expr: &Expr, keywords: &dyn Keywords) -> Result<i64, Abort> {
    let value = evaluate(expr, keywords)?;
    let number = match &value {
        Value::Int(number) => Some(*number),
        Value::Text(text) => std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse().ok()),
        _ => None,
    };
    number.ok_or_else(|| parse_error("arithmetic only defined on integers"))
}

fn map(list: &Expr, template: &Expr, keywords: &dyn Keywords) -> Result<Value, Abort> {
    let name = match list {
        Expr::Symbol(name) => name.strip_suffix('s').unwrap_or(name),
        _ => "item",
    };
    let members = match evaluate(list, keywords)? {
        Value::List(members) => members,
        Value::Dict(entries) => entries.into_iter().map(pair).collect(),
        Value::Null => Vec::new(),
        _ => return Err(parse_error("not a list of values")),
    };
    let mut out = Vec::new();
    for (index, member) in members.iter().enumerate() {
        let inner = Member {
            member,
            around: keywords,
            name,
            index,
        };
        push(&evaluate(template, &inner)?, &mut out);
    }
    Ok(Value::Text(out))
}

fn pair((key, value): (Vec<u8>, Value)) -> Value {
    Value::Dict(vec![
        (b"key".to_vec(), Value::Text(key)),
        (b"value".to_vec(), value),
    ])
}

/// Text that stands for a member of a list that has parts of its own, such as a parent.
const SHOWN: &[u8] = b"";

fn ends_with_blank(value: &Value) -> bool {
    let Value::Dict(entries) = value else {
        return false;
    };
    let shown = entries.iter().find(|(key, _)| key == SHOWN);
    matches!(shown, Some((_, Value::Text(text))) if text.ends_with(b" ") || text.ends_with(b"\n"))
}

/// Appends a value as text.
pub(crate) fn push(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Bool(value) => out.extend_from_slice(if *value { b"True" } else { b"False" }),
        Value::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Float(number) => out.extend_from_slice(format!("{number:?}").as_bytes()),
        Value::Date(time, zone) => {
            out.extend_from_slice(format!("{time}.0{zone}").as_bytes());
        }
        Value::Text(text) => out.extend_from_slice(text),
        Value::List(members) => {
            for (index, member) in members.iter().enumerate() {
                // Parents bring their own space, and lines end by themselves.
                if index > 0 && !ends_with_blank(&members[index - 1]) {
                    out.push(b' ');
                }
                push(member, out);
            }
        }
        Value::Dict(entries) => match entries.iter().find(|(key, _)| key == SHOWN) {
            Some((_, shown)) => push(shown, out),
            None => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        out.push(b' ');
                    }
                    out.extend_from_slice(key);
                    out.push(b'=');
                    push(value, out);
                }
            }
        },
    }
}

/// A value as text.
pub(super) fn text(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    push(value, &mut out);
    out
}

/// Whether a value counts as true.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Int(_) | Value::Float(_) | Value::Date(..) => true,
        Value::Text(text) => !text.is_empty(),
        Value::List(members) => !members.is_empty(),
        Value::Dict(entries) => !entries.is_empty(),
    }
}

pub(super) fn date(value: &Value) -> Option<Date> {
    match value {
        Value::Date(time, zone) => Some(Date {
            time: *time,
            zone: *zone,
        }),
        _ => None,
    }
}
