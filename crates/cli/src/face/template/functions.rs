//! Functions: several values into one. Some look at an argument only if they need it.

use super::eval::{Keywords, date, evaluate, is_true, number, parse_error, text};
use super::parse::Expr;
use crate::face::Abort;
use crate::face::columns;
use crate::face::formatter::Value;

/// Calls the function of this name.
pub(super) fn call(
    name: &str,
    arguments: &[Expr],
    keywords: &dyn Keywords,
) -> Result<Value, Abort> {
    let value = |expr: &Expr| evaluate(expr, keywords);
    let string = |expr: &Expr| Ok::<_, Abort>(text(&evaluate(expr, keywords)?));
    let wrong = |words: &str| Err(parse_error(format!("{name} {words}")));
    match (name, arguments) {
        ("if", [test, yes, rest @ ..]) if rest.len() <= 1 => {
            choose(is_true(&value(test)?), yes, rest, keywords)
        }
        ("if", _) => wrong("expects two or three arguments"),
        ("ifeq", [a, b, yes, rest @ ..]) if rest.len() <= 1 => {
            choose(string(a)? == string(b)?, yes, rest, keywords)
        }
        ("ifeq", _) => wrong("expects three or four arguments"),
        ("ifcontains", [needle, hay, yes, rest @ ..]) if rest.len() <= 1 => {
            let found = contains(&string(needle)?, &value(hay)?);
            choose(found, yes, rest, keywords)
        }
        ("ifcontains", _) => wrong("expects three or four arguments"),
        ("join", [list, rest @ ..]) if rest.len() <= 1 => {
            let between = rest.first().map_or(Ok(b" ".to_vec()), string)?;
            join(&value(list)?, &between)
        }
        ("join", _) => wrong("expects one or two arguments"),
        ("label", [_, labelled]) => Ok(Value::Text(string(labelled)?)),
        ("label", _) => wrong("expects two arguments"),
        ("date", [when, rest @ ..]) if rest.len() <= 1 => {
            let pattern = rest.first().map(string).transpose()?;
            let when = date(&value(when)?);
            let when = when.ok_or_else(|| parse_error("date expects a date information"))?;
            let pattern = pattern.map(|pattern| String::from_utf8_lossy(&pattern).into_owned());
            Ok(Value::from(match pattern {
                Some(pattern) => when.format(&pattern),
                None => when.usual(),
            }))
        }
        ("date", _) => wrong("expects one or two arguments"),
        ("separate", [between, rest @ ..]) => {
            let parts: Result<Vec<_>, Abort> = rest.iter().map(string).collect();
            let parts: Vec<_> = parts?.into_iter().filter(|part| !part.is_empty()).collect();
            Ok(Value::Text(parts.join(&string(between)?[..])))
        }
        ("separate", _) => wrong("expects at least one argument"),
        _ => of_texts(name, arguments, keywords),
    }
}

/// Functions that make text of text.
fn of_texts(name: &str, arguments: &[Expr], keywords: &dyn Keywords) -> Result<Value, Abort> {
    let value = |expr: &Expr| evaluate(expr, keywords);
    let string = |expr: &Expr| Ok::<_, Abort>(text(&evaluate(expr, keywords)?));
    let wrong = |words: &str| Err(parse_error(format!("{name} {words}")));
    match (name, arguments) {
        ("startswith", [start, whole]) => {
            let (start, whole) = (string(start)?, string(whole)?);
            Ok(Value::Text(if whole.starts_with(&start) {
                whole
            } else {
                Vec::new()
            }))
        }
        ("startswith", _) => wrong("expects two arguments"),
        ("indent", [body, with, rest @ ..]) if rest.len() <= 1 => {
            let first = rest.first().map(string).transpose()?;
            let (body, with) = (string(body)?, string(with)?);
            Ok(Value::Text(indent(&body, &with, first.as_deref())))
        }
        ("indent", _) => wrong("expects two or three arguments"),
        ("pad", [body, width, rest @ ..]) if rest.len() <= 3 => {
            let fill = rest.first().map_or(Ok(b" ".to_vec()), string)?;
            let left = rest.get(1).map_or(Ok(false), |left| flag(left, keywords))?;
            let cut = rest.get(2).map_or(Ok(false), |cut| flag(cut, keywords))?;
            pad(string(body)?, number(width, keywords)?, &fill, left, cut)
        }
        ("pad", _) => wrong("() expects two to four arguments"),
        ("get", [dict, key]) => {
            let Value::Dict(entries) = value(dict)? else {
                return wrong("() expects a dict as first argument");
            };
            let key = string(key)?;
            let found = entries.into_iter().find(|(known, _)| *known == key);
            Ok(found.map_or(Value::Null, |(_, value)| value))
        }
        ("get", _) => wrong("() expects two arguments"),
        ("word", [at, body, rest @ ..]) if rest.len() <= 1 => {
            let separator = rest.first().map(string).transpose()?;
            word(number(at, keywords)?, &string(body)?, separator.as_deref())
        }
        ("word", _) => wrong("expects two or three arguments"),
        ("min" | "max", [list]) => extreme(name, value(list)?),
        ("min" | "max", _) => wrong("expects one argument"),
        (filter, [operand]) => super::filters::filter(filter, value(operand)?),
        _ => Err(parse_error(format!("unknown function '{name}'"))),
    }
}

fn choose(test: bool, yes: &Expr, no: &[Expr], keywords: &dyn Keywords) -> Result<Value, Abort> {
    match (test, no.first()) {
        (true, _) => evaluate(yes, keywords),
        (false, Some(no)) => evaluate(no, keywords),
        (false, None) => Ok(Value::Null),
    }
}

/// A boolean argument: `True`, `False`, or any value.
fn flag(expr: &Expr, keywords: &dyn Keywords) -> Result<bool, Abort> {
    match expr {
        Expr::Symbol(name) if keywords.value(name)?.is_none() => Ok(matches!(
            name.to_ascii_lowercase().as_str(),
            "true" | "yes" | "on" | "always"
        )),
        other => Ok(is_true(&evaluate(other, keywords)?)),
    }
}

fn contains(needle: &[u8], hay: &Value) -> bool {
    match hay {
        Value::List(members) => members.iter().any(|member| text(member) == needle),
        Value::Dict(entries) => entries.iter().any(|(key, _)| key == needle),
        other => {
            let hay = text(other);
            needle.is_empty() || hay.windows(needle.len()).any(|part| part == needle)
        }
    }
}

fn join(list: &Value, between: &[u8]) -> Result<Value, Abort> {
    let parts: Vec<Vec<u8>> = match list {
        Value::List(members) => members.iter().map(text).collect(),
        Value::Dict(entries) => {
            let pair = |(key, value): &(Vec<u8>, Value)| [&key[..], b"=", &text(value)].concat();
            entries.iter().map(pair).collect()
        }
        Value::Null => Vec::new(),
        Value::Text(text) => text.chunks(1).map(<[u8]>::to_vec).collect(),
        _ => return Err(parse_error("not a list of values")),
    };
    Ok(Value::Text(parts.join(between)))
}

/// Puts `with` before each line that is not empty; `first` before the first one.
pub(super) fn indent(body: &[u8], with: &[u8], first: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    for (number, line) in body.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let before = if number == 0 {
            first.unwrap_or(with)
        } else {
            with
        };
        if !line.trim_ascii().is_empty() {
            out.extend_from_slice(before);
        }
        out.extend_from_slice(line);
    }
    out
}

/// No text is made wider than this.
const WIDEST: i64 = 10_000;

fn pad(mut body: Vec<u8>, width: i64, fill: &[u8], left: bool, cut: bool) -> Result<Value, Abort> {
    if fill.len() != 1 {
        return Err(parse_error("pad() expects a single fill character"));
    }
    let width = width.clamp(0, WIDEST) as usize;
    let has = columns::width(&body);
    if cut && has > width {
        body.truncate(width);
    }
    let filling = fill.repeat(width.saturating_sub(has));
    Ok(Value::Text(if left {
        [filling, body].concat()
    } else {
        [body, filling].concat()
    }))
}

fn word(at: i64, body: &[u8], separator: Option<&[u8]>) -> Result<Value, Abort> {
    let words: Vec<&[u8]> = match separator {
        Some([byte]) => body.split(|found| found == byte).collect(),
        Some(_) => return Err(parse_error("word expects a single separator character")),
        None => {
            let words = body.split(u8::is_ascii_whitespace);
            words.filter(|word| !word.is_empty()).collect()
        }
    };
    let at = if at < 0 { at + words.len() as i64 } else { at };
    let word = usize::try_from(at).ok().and_then(|at| words.get(at));
    Ok(Value::Text(
        word.map(|word| word.to_vec()).unwrap_or_default(),
    ))
}

fn extreme(name: &str, list: Value) -> Result<Value, Abort> {
    let Value::List(members) = list else {
        return Err(parse_error(format!("{name} expects a non-empty list")));
    };
    let key = |value: &Value| match value {
        Value::Int(number) => (*number, Vec::new()),
        other => (0, text(other)),
    };
    let found = if name == "min" {
        members.into_iter().min_by_key(key)
    } else {
        members.into_iter().max_by_key(key)
    };
    found.ok_or_else(|| parse_error(format!("{name} expects a non-empty list")))
}
