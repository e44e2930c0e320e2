//! Methods of strings and arrays.

use super::document::Container;
use super::program::Method;
use super::run::Machine;
use super::value::{Chars, Result, Stop, Value, check_length};
use std::rc::Rc;

/// A string that falls into more parts is left to the engine and its limit on memory.
const MAX_PARTS: usize = 100_000;

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    /// Calls a method of a value that is neither `undefined` nor `null`.
    pub(super) fn method(
        &mut self,
        object: &Value<'p>,
        method: Method,
        arguments: &[Value<'p>],
    ) -> Result<Value<'p>> {
        self.read_all(arguments)?;
        match object {
            Value::Text(text) => {
                self.work(text.len() / 16)?;
                let made = of_text(text, method, arguments)?;
                self.made(made)
            }
            Value::Array(..) => self.of_array(object, method, arguments),
            Value::Stored(span) if self.document.is_array(*span) => {
                self.of_array(object, method, arguments)
            }
            Value::Stored(_) if method == Method::HasOwnProperty => {
                self.has_own(object, arguments.first().unwrap_or(&Value::Undefined))
            }
            _ => Err(Stop::Unsure),
        }
    }

    /// `hasOwnProperty` of an object of the document, unless it has a member of that name.
    fn has_own(&mut self, object: &Value<'p>, name: &Value<'p>) -> Result<Value<'p>> {
        let Container::Object(members) = self.open(object)? else {
            return Err(Stop::Unsure);
        };
        if self.find(&members, "hasOwnProperty")?.is_some() {
            return Err(Stop::Unsure);
        }
        let found = self.find(&members, &name.to_chars()?)?;
        Ok(Value::Bool(found.is_some()))
    }

    fn of_array(
        &mut self,
        array: &Value<'p>,
        method: Method,
        arguments: &[Value<'p>],
    ) -> Result<Value<'p>> {
        let items = self.items(array)?;
        let first = arguments.first().unwrap_or(&Value::Undefined);
        if let Value::Text(sought) = first {
            self.work(items.len() * (sought.len() / 16))?;
        }
        let second = arguments.get(1).unwrap_or(&Value::Undefined);
        match method {
            Method::IndexOf if arguments.len() == 1 => {
                let at = items
                    .iter()
                    .position(|item| super::operators::same(item, first));
                Ok(Value::Number(at.map_or(-1.0, |at| at as f64)))
            }
            Method::Includes if arguments.len() == 1 => {
                let is_nan = |value: &Value<'_>| matches!(value, Value::Number(n) if n.is_nan());
                let is_it =
                    |item| super::operators::same(item, first) || is_nan(item) && is_nan(first);
                Ok(Value::Bool(items.iter().any(is_it)))
            }
            Method::Slice => {
                let from = from_end(first, 0, items.len())?;
                let to = from_end(second, items.len(), items.len())?;
                let part = items.get(from..to).unwrap_or_default();
                self.made(Value::array(part.to_vec())?)
            }
            Method::Join => {
                let separator = match first {
                    Value::Undefined => Chars::Borrowed(","),
                    other => other.to_chars()?,
                };
                let mut text = String::new();
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        text.push_str(&separator);
                    }
                    if !item.is_nothing() {
                        item.push_to(&mut text)?;
                    }
                    check_length(&text)?;
                }
                self.made(Value::text(text)?)
            }
            _ => Err(Stop::Unsure),
        }
    }
}

/// Methods whose arguments and strings are ASCII, so that positions are bytes; the engine knows the
/// rest of Unicode.
fn of_text<'p>(text: &Chars<'p>, method: Method, arguments: &[Value<'p>]) -> Result<Value<'p>> {
    let argument = |index: usize| arguments.get(index).unwrap_or(&Value::Undefined);
    let (first, second) = (argument(0), argument(1));
    if !text.is_ascii() {
        return Err(Stop::Unsure);
    }
    let len = text.len();
    // Only the first argument is known to these.
    let sought = || match (first, arguments.len()) {
        (Value::Text(sought), 1) => Ok(&**sought),
        _ => Err(Stop::Unsure),
    };
    Ok(match method {
        Method::ToLowerCase => Value::text(text.to_ascii_lowercase())?,
        Method::ToUpperCase => Value::text(text.to_ascii_uppercase())?,
        Method::Trim => {
            let blanks = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];
            let (before, after) = (
                text.trim_start_matches(blanks),
                text.trim_end_matches(blanks),
            );
            part(text, len - before.len(), after.len())
        }
        Method::CharAt => {
            let at = integer(first, 0.0)?;
            match at >= 0.0 && at < len as f64 {
                true => part(text, at as usize, at as usize + 1),
                false => "".into(),
            }
        }
        Method::Substr => {
            let from = from_end(first, 0, len)?;
            let count = integer(second, f64::INFINITY)?.clamp(0.0, (len - from) as f64);
            part(text, from, from + count as usize)
        }
        Method::Substring => {
            let limit = len as f64;
            let from = integer(first, 0.0)?.clamp(0.0, limit) as usize;
            let to = integer(second, limit)?.clamp(0.0, limit) as usize;
            part(text, from.min(to), from.max(to))
        }
        Method::Slice => part(text, from_end(first, 0, len)?, from_end(second, len, len)?),
        Method::IndexOf => Value::Number(text.find(sought()?).map_or(-1.0, |at| at as f64)),
        Method::Includes => Value::Bool(text.contains(sought()?)),
        Method::StartsWith => Value::Bool(text.starts_with(sought()?)),
        Method::EndsWith => Value::Bool(text.ends_with(sought()?)),
        Method::Split => split(text, sought()?)?,
        Method::HasOwnProperty | Method::Join => return Err(Stop::Unsure),
    })
}

fn split<'p>(text: &Chars<'p>, separator: &str) -> Result<Value<'p>> {
    let mut parts: Vec<Value<'p>> = Vec::new();
    let mut push = |from, to| {
        parts.push(part(text, from, to));
        match parts.len() > MAX_PARTS {
            true => Err(Stop::Unsure),
            false => Ok(()),
        }
    };
    match separator.is_empty() {
        true => (0..text.len()).try_for_each(|at| push(at, at + 1))?,
        false => {
            let mut at = 0;
            while let Some(found) = text[at..].find(separator) {
                push(at, at + found)?;
                at += found + separator.len();
            }
            push(at, text.len())?;
        }
    }
    Value::array(parts)
}

/// A part of a string of ASCII; empty if it ends before it begins.
fn part<'p>(text: &Chars<'p>, from: usize, to: usize) -> Value<'p> {
    match text {
        Chars::Borrowed(text) => Value::from(text.get(from..to).unwrap_or_default()),
        Chars::Shared(text) => Value::Text(Chars::Shared(Rc::from(
            text.get(from..to).unwrap_or_default(),
        ))),
    }
}

/// An argument as an integer; `absent` for one that is not given.
fn integer(argument: &Value<'_>, absent: f64) -> Result<f64> {
    if matches!(argument, Value::Undefined) {
        return Ok(absent);
    }
    let number = argument.to_number()?;
    Ok(if number.is_nan() { 0.0 } else { number.trunc() })
}

/// A position that counts from the end where it is negative.
fn from_end(argument: &Value<'_>, absent: usize, len: usize) -> Result<usize> {
    let position = integer(argument, absent as f64)?;
    let from_start = if position < 0.0 {
        position + len as f64
    } else {
        position
    };
    Ok(from_start.clamp(0.0, len as f64) as usize)
}
