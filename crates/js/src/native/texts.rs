//! Methods of strings. Positions count units of UTF-16: those are bytes in ASCII, and characters in text without
//! characters above U+FFFF; the engine knows the rest.

use super::known::Method;
use super::number::{fixed, is_blank};
use super::run::Machine;
use super::value::{Chars, Result, Stop, Value, check_length};
use std::rc::Rc;

/// A string that falls into more parts is left to the engine and its limit on memory.
pub(super) const MAX_PARTS: usize = 100_000;

impl<'d: 'p, 'p> Machine<'_, 'd, 'p> {
    /// The character at a position, as a string.
    pub(super) fn character(&mut self, text: &Chars<'p>, at: usize) -> Result<Value<'p>> {
        self.work(1 + text.len() / 4)?;
        let units = Units::of(text)?;
        match at < units.len {
            true => {
                let one = part(text, units.byte(at), units.byte(at + 1));
                self.made(one)
            }
            false => Ok(Value::Undefined),
        }
    }

    /// Calls a method of a string that takes no regular expression.
    pub(super) fn of_text(
        &mut self,
        text: &Chars<'p>,
        method: Method,
        arguments: &[Value<'p>],
    ) -> Result<Value<'p>> {
        self.work(text.len() / if text.is_ascii() { 16 } else { 2 })?;
        let value = match method {
            Method::Split => return self.split(text, arguments),
            Method::ToLowerCase | Method::ToUpperCase => Value::text(cased(text, method)?)?,
            Method::Trim => {
                let behind = text.trim_start_matches(is_blank).len();
                let from = text.len() - behind;
                part(text, from, from.max(text.trim_end_matches(is_blank).len()))
            }
            Method::Concat => {
                let mut joined = text.to_string();
                for argument in arguments {
                    argument.push_to(&mut joined)?;
                    check_length(&joined)?;
                }
                Value::text(joined)?
            }
            Method::ToString if arguments.is_empty() => Value::Text(text.clone()),
            Method::IndexOf
            | Method::LastIndexOf
            | Method::Includes
            | Method::StartsWith
            | Method::EndsWith => found(text, method, arguments)?,
            _ => at_positions(text, method, arguments)?,
        };
        self.made(value)
    }

    fn split(&mut self, text: &Chars<'p>, arguments: &[Value<'p>]) -> Result<Value<'p>> {
        let separator = match arguments {
            [] | [Value::Undefined] => return self.new_array(vec![Value::Text(text.clone())]),
            [Value::Text(separator)] | [Value::Text(separator), Value::Undefined] => separator,
            [Value::Text(separator), Value::Number(_)] => separator,
            _ => return Err(Stop::Unsure),
        };
        let limit = match arguments.get(1) {
            Some(Value::Number(limit)) if (0.0..1e9).contains(limit) => *limit as usize,
            Some(Value::Number(_)) => return Err(Stop::Unsure),
            _ => usize::MAX,
        };
        let mut parts = Vec::new();
        match separator.is_empty() {
            true => {
                let units = Units::of(text)?;
                for (at, character) in text.char_indices().take(limit.min(units.len)) {
                    parts.push(part(text, at, at + character.len_utf8()));
                    check_count(&parts)?;
                }
            }
            false => {
                let mut at = 0;
                while let Some(found) = text[at..].find(&**separator) {
                    parts.push(part(text, at, at + found));
                    check_count(&parts)?;
                    at += found + separator.len();
                }
                parts.push(part(text, at, text.len()));
                parts.truncate(limit);
            }
        }
        parts.iter().try_for_each(|part| self.fill(part.size()))?;
        self.new_array(parts)
    }
}

pub(super) fn check_count(parts: &[Value<'_>]) -> Result<()> {
    match parts.len() > MAX_PARTS {
        true => Err(Stop::Unsure),
        false => Ok(()),
    }
}

/// How many units of UTF-16 a text has.
pub(super) fn units(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.encode_utf16().count(),
    }
}

/// A text whose characters are one unit of UTF-16 each.
struct Units<'t> {
    text: &'t str,
    is_ascii: bool,
    len: usize,
}

impl<'t> Units<'t> {
    fn of(text: &'t str) -> Result<Self> {
        let is_ascii = text.is_ascii();
        if !is_ascii && has_pairs(text) {
            return Err(Stop::Unsure);
        }
        let len = if is_ascii {
            text.len()
        } else {
            text.chars().count()
        };
        Ok(Units {
            text,
            is_ascii,
            len,
        })
    }

    /// Byte at which the unit of a position begins.
    fn byte(&self, position: usize) -> usize {
        if self.is_ascii {
            return position.min(self.text.len());
        }
        let found = self.text.char_indices().nth(position);
        found.map_or(self.text.len(), |(at, _)| at)
    }
}

/// Whether a text has characters that are two units of UTF-16.
pub(super) fn has_pairs(text: &str) -> bool {
    text.bytes().any(|byte| byte >= 0xf0)
}

/// Upper and lower case of ASCII, and of letters of Latin, Greek and Cyrillic whose other case is one letter wherever
/// they stand.
fn cased(text: &str, method: Method) -> Result<String> {
    let is_lower = method == Method::ToLowerCase;
    if text.is_ascii() {
        return Ok(match is_lower {
            true => text.to_ascii_lowercase(),
            false => text.to_ascii_uppercase(),
        });
    }
    let is_plain = |character: char| match character {
        '\0'..='\u{7f}' => true,
        '\u{a0}'..='\u{b4}' | '\u{b6}'..='\u{12f}' => character != 'ß',
        '\u{132}'..='\u{148}' | '\u{14a}'..='\u{17e}' | '\u{410}'..='\u{44f}' => true,
        '\u{2010}'..='\u{2027}'
        | '\u{20ac}'
        | '\u{3041}'..='\u{30ff}'
        | '\u{4e00}'..='\u{9fff}' => true,
        _ => false,
    };
    match (text.chars().all(is_plain), is_lower) {
        (false, _) => Err(Stop::Unsure),
        (true, true) => Ok(text.to_lowercase()),
        (true, false) => Ok(text.to_uppercase()),
    }
}

/// Methods that look for one string.
fn found<'p>(text: &Chars<'p>, method: Method, arguments: &[Value<'p>]) -> Result<Value<'p>> {
    // Of the second argument, only the engine knows.
    let [Value::Text(sought)] = arguments else {
        return Err(Stop::Unsure);
    };
    let sought: &str = sought;
    let position = |at: Option<usize>| {
        let units = at.map(|at| units(&text[..at]) as f64);
        Value::Number(units.unwrap_or(-1.0))
    };
    Ok(match method {
        Method::IndexOf => position(text.find(sought)),
        Method::LastIndexOf => position(text.rfind(sought)),
        Method::Includes => Value::Bool(text.contains(sought)),
        Method::StartsWith => Value::Bool(text.starts_with(sought)),
        Method::EndsWith => Value::Bool(text.ends_with(sought)),
        _ => return Err(Stop::Unsure),
    })
}

/// Methods that take positions.
fn at_positions<'p>(
    text: &Chars<'p>,
    method: Method,
    arguments: &[Value<'p>],
) -> Result<Value<'p>> {
    let argument = |index: usize| arguments.get(index).unwrap_or(&Value::Undefined);
    let (first, second) = (argument(0), argument(1));
    let units = Units::of(text)?;
    let len = units.len;
    let between = |from: usize, to: usize| part(text, units.byte(from), units.byte(to));
    Ok(match method {
        Method::CharAt | Method::CharCodeAt => {
            let at = integer(first, 0.0)?;
            let is_inside = at >= 0.0 && at < len as f64;
            match (method, is_inside) {
                (Method::CharAt, true) => between(at as usize, at as usize + 1),
                (Method::CharAt, false) => "".into(),
                (_, false) => Value::Number(f64::NAN),
                (_, true) => {
                    let unit = text[units.byte(at as usize)..].chars().next();
                    Value::Number(unit.map_or(f64::NAN, |unit| f64::from(u32::from(unit))))
                }
            }
        }
        Method::Substr => {
            let from = from_end(first, 0, len)?;
            let count = integer(second, f64::INFINITY)?.clamp(0.0, (len - from) as f64);
            between(from, from + count as usize)
        }
        Method::Substring => {
            let limit = len as f64;
            let from = integer(first, 0.0)?.clamp(0.0, limit) as usize;
            let to = integer(second, limit)?.clamp(0.0, limit) as usize;
            between(from.min(to), from.max(to))
        }
        Method::Slice => between(from_end(first, 0, len)?, from_end(second, len, len)?),
        Method::PadStart => padded(text, len, arguments)?,
        _ => return Err(Stop::Unsure),
    })
}

fn padded<'p>(text: &Chars<'p>, len: usize, arguments: &[Value<'p>]) -> Result<Value<'p>> {
    let (Some(Value::Number(wanted)), Some(Value::Text(filler))) =
        (arguments.first(), arguments.get(1))
    else {
        return Err(Stop::Unsure);
    };
    if !(0.0..10_000.0).contains(wanted) || !filler.is_ascii() || filler.is_empty() {
        return Err(Stop::Unsure);
    }
    let missing = (*wanted as usize).saturating_sub(len);
    let mut padded: String = filler.chars().cycle().take(missing).collect();
    padded.push_str(text);
    Value::text(padded)
}

/// A part of a string, by its bytes; empty if it ends before it begins.
pub(super) fn part<'p>(text: &Chars<'p>, from: usize, to: usize) -> Value<'p> {
    match text {
        Chars::Borrowed(text) => Value::from(text.get(from..to).unwrap_or_default()),
        Chars::Shared(text) => Value::Text(Chars::Shared(Rc::from(
            text.get(from..to).unwrap_or_default(),
        ))),
    }
}

/// An argument as an integer; `absent` for one that is not given.
pub(super) fn integer(argument: &Value<'_>, absent: f64) -> Result<f64> {
    if matches!(argument, Value::Undefined) {
        return Ok(absent);
    }
    let number = argument.to_number()?;
    Ok(if number.is_nan() { 0.0 } else { number.trunc() })
}

/// A position that counts from the end where it is negative.
pub(super) fn from_end(argument: &Value<'_>, absent: usize, len: usize) -> Result<usize> {
    let position = integer(argument, absent as f64)?;
    let from_start = if position < 0.0 {
        position + len as f64
    } else {
        position
    };
    Ok(from_start.clamp(0.0, len as f64) as usize)
}

/// Methods of numbers.
pub(super) fn of_number<'p>(
    number: f64,
    method: Method,
    arguments: &[Value<'p>],
) -> Result<Value<'p>> {
    match (method, arguments) {
        (Method::ToString, [] | [Value::Undefined] | [Value::Number(10.0)]) => {
            let mut text = String::new();
            super::number::push(number, &mut text);
            Value::text(text)
        }
        (Method::ToFixed, [Value::Number(places)])
            if (0.0..=20.0).contains(places) && places.fract() == 0.0 =>
        {
            Value::text(fixed(number, *places as usize)?)
        }
        (Method::ToFixed, [] | [Value::Undefined]) => Value::text(fixed(number, 0)?),
        _ => Err(Stop::Unsure),
    }
}
