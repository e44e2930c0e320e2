//! Functions: several values into one. Some look at an argument only if they need it.

use super::eval::{
    Keywords, date, described, evaluate, floor_division, incompatible, integer, is_true, item_name,
    number, parse_error, text,
};
use super::fragments;
use super::grammar::Expr;
use super::member::{members, with_member};
use super::{fill, of_repository, search};
use crate::render::formatter::{Row, Value};
use crate::ui::paint::without_effects;
use crate::ui::{Abort, columns};
use varve_lang::date::Date;

/// Functions that take other arguments than one value, besides those of [`of_repository`].
const FUNCTIONS: &[&str] = &[
    "date",
    "dict",
    "fill",
    "filter",
    "get",
    "if",
    "ifcontains",
    "ifeq",
    "indent",
    "join",
    "label",
    "localdate",
    "max",
    "min",
    "mod",
    "pad",
    "search",
    "separate",
    "startswith",
    "strip",
    "sub",
    "word",
];

/// Whether this is the name of a function that is no filter.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name) || of_repository::is_function(name)
}

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
            choose(flag(test, keywords)?, yes, rest, keywords)
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
        ("label", [labels, labelled]) => {
            let (labels, text) = (label_of(labels, keywords)?, string(labelled)?);
            Ok(Value::Text(match keywords.source() {
                Some(source) => source.label(&String::from_utf8_lossy(&labels), &text),
                None => text,
            }))
        }
        ("label", _) => wrong("expects two arguments"),
        ("date", [when, rest @ ..]) if rest.len() <= 1 => {
            let pattern = rest.first().map(string).transpose()?;
            let when = date(&value(when)?);
            let when = when.ok_or_else(|| parse_error("date expects a date information"))?;
            let pattern = pattern.map(|pattern| String::from_utf8_lossy(&pattern).into_owned());
            Ok(Value::from(match pattern {
                Some(pattern) => when.format(&pattern),
                None => when.default_format(),
            }))
        }
        ("date", _) => wrong("expects one or two arguments"),
        ("separate", [between, rest @ ..]) => {
            let parts: Result<Vec<_>, Abort> = rest.iter().map(string).collect();
            let parts: Vec<_> = parts?.into_iter().filter(|part| !part.is_empty()).collect();
            Ok(Value::Text(parts.join(&string(between)?[..])))
        }
        ("separate", _) => wrong("expects at least one argument"),
        ("dict", _) => dict(arguments, keywords),
        ("filter", [list, rest @ ..]) if rest.len() <= 1 => filtered(list, rest.first(), keywords),
        ("filter", _) => wrong("expects one or two arguments"),
        ("localdate", [when, rest @ ..]) if rest.len() <= 1 => {
            let when = date(&value(when)?);
            let when = when.ok_or_else(|| parse_error("localdate expects a date information"))?;
            localdate(when, rest.first().map(string).transpose()?)
        }
        ("localdate", _) => wrong("expects one or two arguments"),
        ("mod", [a, b]) => {
            let divided = floor_division(number(a, keywords)?, number(b, keywords)?)?;
            let rest = divided.ok_or_else(|| parse_error("number is too large"))?;
            Ok(Value::Int(rest.1))
        }
        ("mod", _) => wrong("expects two arguments"),
        _ if of_repository::is_function(name) => of_repository::call(name, arguments, keywords),
        _ => of_texts(name, arguments, keywords),
    }
}

/// Arguments in the order of their names; those without a name come first.
pub(super) fn ordered<'e, const N: usize>(
    function: &str,
    names: [&str; N],
    arguments: &'e [Expr],
) -> Result<[Option<&'e Expr>; N], Abort> {
    let mut found = [None; N];
    for (number, argument) in arguments.iter().enumerate() {
        let (at, argument) = match argument {
            Expr::Named(name, argument) => {
                let at = names.iter().position(|known| known == name);
                let unknown = || format!("{function} got an unexpected keyword argument '{name}'");
                (at.ok_or_else(|| parse_error(unknown()))?, &**argument)
            }
            plain => (number, plain),
        };
        let several = || {
            format!(
                "{function} got multiple values for keyword argument '{}'",
                names[at]
            )
        };
        match found.get_mut(at) {
            Some(place @ None) => *place = Some(argument),
            Some(_) => return Err(parse_error(several())),
            None => {
                return Err(parse_error(format!(
                    "{function} takes at most {N} arguments"
                )));
            }
        }
    }
    Ok(found)
}

fn dict(arguments: &[Expr], keywords: &dyn Keywords) -> Result<Value, Abort> {
    let mut parts: Vec<(Vec<u8>, Value)> = Vec::new();
    let mut inferred = Vec::new();
    for argument in arguments {
        let (name, value) = match argument {
            Expr::Named(name, value) => (&name[..], evaluate(value, keywords)?),
            other => {
                let name = inferred_name(other);
                let unknown = || parse_error("dict key cannot be inferred");
                let name = name.ok_or_else(unknown)?;
                inferred.push(name);
                (name, evaluate(other, keywords)?)
            }
        };
        if parts.iter().any(|(known, _)| known == name.as_bytes()) {
            let message = match inferred.contains(&name) {
                true => format!("duplicated dict key '{name}' inferred"),
                false => format!("dict got multiple values for keyword argument '{name}'"),
            };
            return Err(parse_error(message));
        }
        parts.push((name.as_bytes().to_vec(), value));
    }
    Ok(Value::Dict(parts))
}

/// Labels of text; a name that is no keyword stands for itself.
fn label_of(expr: &Expr, keywords: &dyn Keywords) -> Result<Vec<u8>, Abort> {
    match expr {
        Expr::Symbol(name) if fragments::is_nothing(name, keywords)? => {
            Ok(name.clone().into_bytes())
        }
        other => Ok(text(&evaluate(other, keywords)?)),
    }
}

/// The name of a value in a dictionary: that of the keyword that it comes from.
pub(super) fn inferred_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Symbol(name) => Some(name),
        Expr::Filter(operand, _) | Expr::Group(operand) => inferred_name(operand),
        _ => None,
    }
}

/// Members that are not empty, or of which a template is not.
fn filtered(list: &Expr, test: Option<&Expr>, keywords: &dyn Keywords) -> Result<Value, Abort> {
    let name = item_name(list);
    let list = &evaluate(list, keywords)?;
    let keeps = |member: &Value, index: usize| match test {
        None => Ok::<_, Abort>(is_true(member)),
        Some(test) => {
            let mut keeps = false;
            with_member((member, index), (keywords, name), &mut |inner| {
                keeps = flag(test, inner)?;
                Ok(())
            })?;
            Ok(keeps)
        }
    };
    match list {
        Value::Dict(parts) => {
            let pairs = members(list).unwrap_or_default();
            let mut kept = Vec::new();
            for (index, (part, pair)) in parts.iter().zip(&pairs).enumerate() {
                let keep = match test {
                    None => is_true(&part.1),
                    Some(_) => keeps(pair, index)?,
                };
                kept.extend(keep.then(|| part.clone()));
            }
            Ok(Value::Dict(kept))
        }
        Value::Table(rows, separator) => {
            let pairs = members(list).unwrap_or_default();
            let mut kept = Vec::new();
            for (index, (row, pair)) in rows.iter().zip(&pairs).enumerate() {
                let keep = match test {
                    None => is_true(&row.value),
                    Some(_) => keeps(pair, index)?,
                };
                kept.extend(keep.then(|| row.clone()));
            }
            Ok(Value::Table(kept, separator))
        }
        Value::List(all) => {
            let mut kept = Vec::new();
            for (index, member) in all.iter().enumerate() {
                if keeps(member, index)? {
                    kept.push(member.clone());
                }
            }
            Ok(Value::List(kept))
        }
        Value::Mapped(_) if test.is_some() => Err(parse_error("not filterable by expression")),
        Value::Mapped(texts) => {
            let kept = texts.iter().filter(|text| is_true(text));
            Ok(Value::Mapped(kept.cloned().collect()))
        }
        Value::Null => Ok(Value::List(Vec::new())),
        Value::Date(..) => Err(parse_error("date is not iterable")),
        Value::Text(text) | Value::Shown(text, _) => {
            let shown = described(&Value::Text(text.clone()));
            Err(parse_error(format!("{shown} is not filterable")))
        }
        other => Err(parse_error(format!("{} is not iterable", described(other)))),
    }
}

fn localdate(when: Date, zone: Option<Vec<u8>>) -> Result<Value, Abort> {
    let wrong = || parse_error("localdate expects a timezone");
    let west = match zone {
        None => crate::ui::clock::clock().zone.west_at(when.time),
        Some(zone) => {
            let zone = String::from_utf8_lossy(&zone);
            match zone.as_ref() {
                "UTC" | "GMT" => 0,
                zone => west(zone).ok_or_else(wrong)?,
            }
        }
    };
    Ok(Value::Date(when.time, west))
}

/// Seconds west of UTC that `+0200` or `-08:00` says.
fn west(zone: &str) -> Option<i32> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (-1, digits),
        ("-", digits) => (1, digits),
        _ => match zone.parse::<i32>() {
            Ok(west) => return Some(west),
            Err(_) => return None,
        },
    };
    let digits = digits.replacen(':', "", 1);
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = digits.split_at(2);
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    Some(sign * seconds)
}

/// Functions that make text of text.
fn of_texts(name: &str, arguments: &[Expr], keywords: &dyn Keywords) -> Result<Value, Abort> {
    let value = |expr: &Expr| evaluate(expr, keywords);
    let string = |expr: &Expr| Ok::<_, Abort>(text(&evaluate(expr, keywords)?));
    let wrong = |words: &str| Err(parse_error(format!("{name} {words}")));
    let wrong_call = |words: &str| Err(parse_error(format!("{name}() {words}")));
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
        ("fill" | "pad" | "search" | "strip" | "sub", _) => shaped(name, arguments, keywords),
        ("get", [dict, key]) => {
            let entries = match value(dict)? {
                Value::Dict(entries) | Value::Shown(_, entries) => entries,
                Value::Table(rows, _) => {
                    // A text is mapped with all that is known beside it.
                    let value = |row: Row| match row.value {
                        Value::Text(text) => (row.name, Value::Shown(text, row.parts)),
                        other => (row.name, other),
                    };
                    rows.into_iter().map(value).collect()
                }
                Value::List(_) => {
                    let error = parse_error("not a dictionary");
                    return Err(error.hint("get() expects a dict as first argument"));
                }
                other => {
                    let error = parse_error(format!("{} is not a dictionary", described(&other)));
                    return Err(error.hint("get() expects a dict as first argument"));
                }
            };
            let key = string(key)?;
            let found = entries.into_iter().find(|(known, _)| *known == key);
            Ok(found.map_or(Value::Null, |(_, value)| value))
        }
        ("get", _) => wrong_call("expects two arguments"),
        ("word", [at, body, rest @ ..]) if rest.len() <= 1 => {
            let separator = rest.first().map(string).transpose()?;
            let at = integer(&value(at)?);
            let at = at.ok_or_else(|| parse_error("word expects an integer index"))?;
            word(at, &string(body)?, separator.as_deref())
        }
        ("word", _) => wrong(&format!(
            "expects two or three arguments, got {}",
            arguments.len()
        )),
        ("min" | "max", [list]) => extreme(name, value(list)?),
        ("min" | "max", _) => wrong("expects one argument"),
        (filter, [operand]) => super::filters::filter(filter, value(operand)?)
            .map_err(|error| incompatible(error, filter, operand)),
        (filter, _) if super::filters::is_filter(filter) => {
            Err(parse_error(format!("filter {filter} expects one argument")))
        }
        _ => Err(parse_error(format!("unknown function '{name}'"))),
    }
}

/// Functions that bring a text into another form.
fn shaped(name: &str, arguments: &[Expr], keywords: &dyn Keywords) -> Result<Value, Abort> {
    let value = |expr: &Expr| evaluate(expr, keywords);
    let string = |expr: &Expr| Ok::<_, Abort>(text(&evaluate(expr, keywords)?));
    let wrong = |words: &str| Err(parse_error(format!("{name} {words}")));
    match (name, arguments) {
        ("pad", _) => {
            let names = ["text", "width", "fillchar", "left", "truncate"];
            let [body, width, with, left, cut] = ordered(name, names, arguments)?;
            let (Some(body), Some(width)) = (body, width) else {
                return Err(parse_error("pad() expects two to four arguments"));
            };
            let width = integer(&value(width)?);
            let width = width.ok_or_else(|| parse_error("pad() expects an integer width"))?;
            let with = with.map_or(Ok(b" ".to_vec()), string)?;
            let left = left.map_or(Ok(false), |left| flag(left, keywords))?;
            let cut = cut.map_or(Ok(false), |cut| flag(cut, keywords))?;
            pad(string(body)?, width, &with, left, cut)
        }
        ("fill", [body, rest @ ..]) if rest.len() <= 3 => {
            let width = rest
                .first()
                .map(|width| Ok::<_, Abort>(integer(&value(width)?)));
            let width = width.transpose()?.unwrap_or(Some(FILLED));
            let width = width.ok_or_else(|| parse_error("fill expects an integer width"))?;
            let indents = rest
                .iter()
                .skip(1)
                .map(string)
                .collect::<Result<Vec<_>, _>>()?;
            let indent = |at: usize| indents.get(at).map_or(&b""[..], Vec::as_slice);
            let width = width.clamp(0, WIDEST) as usize;
            let filled = fill::fill(&string(body)?, width, indent(0), indent(1));
            Ok(Value::Text(filled))
        }
        ("fill", _) => wrong("expects one to four arguments"),
        ("strip", [body, rest @ ..]) if rest.len() <= 1 => {
            let body = string(body)?;
            Ok(Value::Text(match rest.first().map(string).transpose()? {
                Some(these) => strip(&body, &these).to_vec(),
                None => body.trim_ascii().to_vec(),
            }))
        }
        ("strip", _) => wrong("expects one or two arguments"),
        ("sub", [pattern, replacement, body]) => {
            search::sub(&string(pattern)?, &string(replacement)?, &string(body)?)
        }
        ("search", [pattern, body]) => search::search(&string(pattern)?, &string(body)?),
        ("search", _) => wrong("expects two arguments"),
        _ => wrong("expects three arguments"),
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
pub(super) fn flag(expr: &Expr, keywords: &dyn Keywords) -> Result<bool, Abort> {
    match expr {
        Expr::Symbol(name) if fragments::is_nothing(name, keywords)? => Ok(matches!(
            name.to_ascii_lowercase().as_str(),
            "true" | "yes" | "on" | "always"
        )),
        other => Ok(is_true(&evaluate(other, keywords)?)),
    }
}

/// Without any of these bytes at both ends.
fn strip<'t>(text: &'t [u8], these: &[u8]) -> &'t [u8] {
    let stays = |byte: &u8| !these.contains(byte);
    let start = text.iter().position(stays).unwrap_or(text.len());
    let end = text.iter().rposition(stays).map_or(start, |end| end + 1);
    &text[start..end]
}

fn contains(needle: &[u8], hay: &Value) -> bool {
    match hay {
        Value::List(members) => members.iter().any(|member| match member {
            Value::Changeset(..) => {
                integer(member).is_some_and(|rev| rev.to_string().as_bytes() == needle)
            }
            other => text(other) == needle,
        }),
        Value::Mapped(texts) => texts.iter().any(|member| text(member) == needle),
        Value::Dict(entries) => entries.iter().any(|(key, _)| key == needle),
        Value::Table(rows, _) => rows.iter().any(|row| row.name == needle),
        other => {
            let hay = text(other);
            needle.is_empty() || hay.windows(needle.len()).any(|part| part == needle)
        }
    }
}

fn join(list: &Value, between: &[u8]) -> Result<Value, Abort> {
    let parts: Vec<Vec<u8>> = match list {
        Value::List(members) => {
            let one = |member: &Value| text(member).trim_ascii_end().to_vec();
            let whole = |member: &Value| match member {
                // The space behind a parent is no part of it.
                Value::Changeset(..) => one(member),
                other => text(other),
            };
            members.iter().map(whole).collect()
        }
        Value::Dict(entries) => {
            let pair = |(key, value): &(Vec<u8>, Value)| [&key[..], b"=", &text(value)].concat();
            entries.iter().map(pair).collect()
        }
        Value::Table(rows, _) => rows.iter().map(|row| row.shown.clone()).collect(),
        Value::Mapped(texts) => texts.iter().map(text).collect(),
        Value::Null => Vec::new(),
        Value::Text(text) | Value::Shown(text, _) => text.chunks(1).map(<[u8]>::to_vec).collect(),
        other => {
            return Err(parse_error(format!("{} is not iterable", described(other))));
        }
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

/// Columns that `fill` fills by default.
const FILLED: i64 = 76;
/// No text is made wider than this.
const WIDEST: i64 = 10_000;

fn pad(mut body: Vec<u8>, width: i64, fill: &[u8], left: bool, cut: bool) -> Result<Value, Abort> {
    if without_effects(fill).len() != 1 {
        return Err(parse_error("pad() expects a single fill character"));
    }
    let width = width.clamp(0, WIDEST) as usize;
    let shown = without_effects(&body);
    let has = columns::width(&shown);
    if cut && has > width {
        let mut whole = String::from_utf8_lossy(&shown).into_owned();
        while columns::width(whole.as_bytes()) > width {
            if left {
                whole.remove(0);
            } else {
                whole.pop();
            }
        }
        body = whole.into_bytes();
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
    let hint = || format!("{name} first argument should be an iterable");
    let wrong = |words: String| Err(parse_error(words).hint(hint()));
    let members = match list {
        Value::List(members) | Value::Mapped(members) => members,
        Value::Dict(entries) => entries
            .into_iter()
            .map(|(key, _)| Value::Text(key))
            .collect(),
        Value::Table(rows, _) => {
            let rows = rows.into_iter();
            rows.map(|row| Value::Shown(row.name, row.parts)).collect()
        }
        Value::Text(text) if text.is_empty() => return wrong("empty string".to_owned()),
        Value::Text(text) => text.iter().map(|byte| Value::Text(vec![*byte])).collect(),
        Value::Date(..) => return wrong("date is not iterable".to_owned()),
        other => return wrong(format!("{} is not iterable", described(&other))),
    };
    let key = |value: &Value| match value {
        Value::Text(text) => (0, text.clone()),
        other => match integer(other) {
            Some(number) => (number, Vec::new()),
            None => (0, text(other)),
        },
    };
    let found = if name == "min" {
        members.into_iter().min_by_key(key)
    } else {
        members.into_iter().max_by_key(key)
    };
    found.map_or_else(|| wrong("empty sequence".to_owned()), Ok)
}
