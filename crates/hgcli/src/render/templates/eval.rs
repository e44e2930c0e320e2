//! Filling a template.

use super::filters::filter;
use super::fragments::{self, FragmentScope};
use super::functions;
use super::grammar::Expr;
use super::member::{SUBJECT, hidden, members, with_member};
use super::source::TemplateData;
use crate::render::formatter::Value;
use crate::ui::Abort;
use varve_lang::date::Date;

/// Values of keywords at one place.
pub(crate) trait Keywords {
    /// The value of a keyword; `None` if there is none of this name.
    fn value(&self, name: &str) -> Result<Option<Value>, Abort>;

    /// The repository of the output, if there is one.
    fn source(&self) -> Option<&dyn TemplateData> {
        None
    }

    /// Templates that words stand for which are no keywords.
    fn fragments(&self) -> Option<&FragmentScope<'_>> {
        None
    }
}

/// Filters that give text in UTF-8.
const IN_UTF8: &[&str] = &["json", "utf8"];

fn in_utf8(value: Value, source: &dyn TemplateData) -> Value {
    match value {
        Value::Text(text) => Value::Text(source.in_utf8(&text)),
        Value::List(members) => {
            let members = members.into_iter().map(|member| in_utf8(member, source));
            Value::List(members.collect())
        }
        Value::Shown(text, parts) => Value::Shown(source.in_utf8(&text), parts),
        other => other,
    }
}

/// Fills a template or evaluates an expression.
pub(crate) fn evaluate(expr: &Expr, keywords: &dyn Keywords) -> Result<Value, Abort> {
    match expr {
        Expr::Text(text) => Ok(Value::Text(text.clone())),
        Expr::Template(parts) => {
            let mut out = Vec::new();
            for part in parts {
                let value = evaluate(part, keywords)?;
                match fragments::of_list(part, &value, keywords)? {
                    Some(shown) => out.extend(shown),
                    None => push(&value, &mut out),
                }
            }
            Ok(Value::Text(out))
        }
        Expr::Symbol(name) => {
            let value = match keywords.value(name)? {
                None => fragments::of_word(name, keywords)?,
                found => found,
            };
            Ok(value.unwrap_or_else(|| Value::Text(Vec::new())))
        }
        Expr::Number(number) => {
            // The groups of a search are called by their numbers.
            let named = keywords.value(&number.to_string())?;
            Ok(named.unwrap_or(Value::Int(*number)))
        }
        Expr::Filter(operand, name) => {
            let argument = std::slice::from_ref(&**operand);
            if functions::is_function(name) {
                return functions::call(name, argument, keywords);
            }
            let mut value = evaluate(operand, keywords)?;
            if let (true, Some(source)) = (IN_UTF8.contains(&&name[..]), keywords.source()) {
                value = in_utf8(value, source);
            }
            filter(name, value).map_err(|error| incompatible(error, name, operand))
        }
        Expr::Map(list, template) => map(list, template, keywords),
        Expr::Call(name, arguments) => functions::call(name, arguments, keywords),
        Expr::Named(..) => Err(parse_error("can't use a key-value pair in this context")),
        Expr::List(_) => Err(parse_error("can't use a list in this context")),
        Expr::Group(inner) => evaluate(inner, keywords),
        Expr::Negate(operand) => {
            let value = integer(&evaluate(operand, keywords)?);
            let wrong = || parse_error("negation needs an integer argument");
            let negative = value.ok_or_else(wrong)?.checked_neg();
            Ok(Value::Int(negative.ok_or_else(too_large)?))
        }
        Expr::Member(of, name) => member(of, name, keywords),
        Expr::Arithmetic(operator, left, right) => {
            let (left, right) = (number(left, keywords)?, number(right, keywords)?);
            let result = match operator {
                b'+' => left.checked_add(right),
                b'-' => left.checked_sub(right),
                b'*' => left.checked_mul(right),
                _ => floor_division(left, right)?.map(|(quotient, _)| quotient),
            };
            Ok(Value::Int(result.ok_or_else(too_large)?))
        }
    }
}

fn too_large() -> Abort {
    parse_error("number is too large")
}

/// Quotient, rounded down, and remainder; `None` if it is too large.
pub(super) fn floor_division(left: i64, right: i64) -> Result<Option<(i64, i64)>, Abort> {
    if right == 0 {
        return Err(Abort::new("division by zero is not defined"));
    }
    let divided = left.checked_div(right).zip(left.checked_rem(right));
    Ok(divided.map(|(quotient, rest)| {
        if rest != 0 && (rest < 0) != (right < 0) {
            (quotient - 1, rest + right)
        } else {
            (quotient, rest)
        }
    }))
}

pub(super) fn parse_error(message: impl Into<String>) -> Abort {
    Abort::Parse {
        message: message.into(),
        at: None,
        hint: None,
    }
}

/// Adds which filter and which keyword do not fit, if nothing else is said.
pub(super) fn incompatible(error: Abort, filter: &str, operand: &Expr) -> Abort {
    let unknown = format!("unknown function '{filter}'");
    match &error {
        Abort::Parse {
            hint: None,
            message,
            ..
        } if *message != unknown => {}
        _ => return error,
    }
    error.hint(match functions::inferred_name(operand) {
        Some(name) => {
            format!("template filter '{filter}' is not compatible with keyword '{name}'")
        }
        None => format!("incompatible use of template filter '{filter}'"),
    })
}

/// Says that a value does not support an operation.
fn unsupported(message: String, operand: &Expr, operation: &str) -> Abort {
    let error = parse_error(message);
    match operand {
        Expr::Symbol(name) => error.hint(format!(
            "keyword '{name}' does not support {operation} operation"
        )),
        _ => error,
    }
}

/// A value as it is named in messages.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Null => "''".to_owned(),
        Value::Text(text) => {
            let escaped = text.escape_ascii().to_string();
            format!("'{}'", escaped.replace("\\\"", "\""))
        }
        other => String::from_utf8_lossy(&text(other)).into_owned(),
    }
}

pub(super) fn number(expr: &Expr, keywords: &dyn Keywords) -> Result<i64, Abort> {
    let value = evaluate(expr, keywords)?;
    integer(&value).ok_or_else(|| parse_error("arithmetic only defined on integers"))
}

pub(super) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Changeset(rev, _) => Some(rev.map_or(-1, |rev| i64::from(rev.0))),
        Value::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        _ => None,
    }
}

fn map(list: &Expr, template: &Expr, keywords: &dyn Keywords) -> Result<Value, Abort> {
    let value = evaluate(list, keywords)?;
    let name = item_name(list);
    if let (Value::Null, Expr::Call(function, _)) = (&value, list)
        && function == "get"
    {
        return Err(parse_error("None is not iterable of mappings"));
    }
    if let Value::Mapped(_) = value {
        return Err(parse_error("list of strings is not mappable"));
    }
    let members = members(&value).ok_or_else(|| {
        let message = format!("{} is not iterable of mappings", described(&value));
        unsupported(message, list, "map")
    })?;
    let mut mapped = Vec::new();
    for (index, member) in members.iter().enumerate() {
        with_member((member, index), (keywords, name), &mut |inner| {
            let value = match fragments::of_member(template, inner)? {
                Some(filled) => filled,
                None => evaluate(template, inner)?,
            };
            mapped.push(Value::Text(text(&value)));
            Ok(())
        })?;
    }
    Ok(Value::Mapped(mapped))
}

/// Name of one member of a list.
pub(super) fn item_name(list: &Expr) -> &str {
    let list: &str = match list {
        Expr::Symbol(name) => name,
        Expr::Filter(_, name) if name == "splitlines" => name,
        Expr::Filter(operand, _) | Expr::Group(operand) => return item_name(operand),
        Expr::Call(name, arguments) => match &arguments[..] {
            [first, ..] if name == "filter" => {
                return match item_name(first) {
                    // As in Mercurial the name goes with the query.
                    "revision" => "item",
                    name => name,
                };
            }
            _ => name,
        },
        _ => return "item",
    };
    match list {
        "files" | "file_adds" | "file_mods" | "file_dels" => "file",
        "file_copies" | "file_copies_switch" => "file_copy",
        "branches" => "branch",
        "children" => "child",
        "revset" | "subsetparents" => "revision",
        "splitlines" => "line",
        other => other.strip_suffix('s').unwrap_or(other),
    }
}

/// Name of the text that stands for a value with parts of its own, such as a line.
pub(super) const SHOWN: &[u8] = b"";

fn ends_with_blank(value: &Value) -> bool {
    let shown = match value {
        Value::Changeset(_, text) => text,
        Value::Dict(entries) => match entries.iter().find(|(key, _)| key == SHOWN) {
            Some((_, Value::Text(text))) => text,
            _ => return false,
        },
        _ => return false,
    };
    shown.ends_with(b" ") || shown.ends_with(b"\n")
}

fn member(of: &Expr, name: &str, keywords: &dyn Keywords) -> Result<Value, Abort> {
    let value = evaluate(of, keywords)?;
    let parts = match &value {
        Value::Date(time, west) => {
            return Ok(match name {
                "unixtime" => Value::Int(*time),
                "tzoffset" => Value::Int(i64::from(*west)),
                _ => Value::Null,
            });
        }
        Value::Changeset(rev, _) => {
            let source = keywords.source();
            let found = source.map(|source| source.of_changeset(*rev, name));
            return Ok(found.transpose()?.flatten().unwrap_or(Value::Null));
        }
        Value::Dict(parts) | Value::Shown(_, parts) => parts,
        Value::Table(rows, _) => {
            let row = rows.iter().find(|row| row.name == name.as_bytes());
            return Ok(row.map_or(Value::Null, |row| row.value.clone()));
        }
        Value::List(_) => {
            return Err(unsupported("not a dictionary".to_owned(), of, "member"));
        }
        other => {
            let shown = match other {
                Value::Null => "None".to_owned(),
                other => described(other),
            };
            let message = format!("{shown} is not a dictionary");
            return Err(unsupported(message, of, "member"));
        }
    };
    let entry = |name: &[u8]| parts.iter().find(|(key, _)| key == name);
    let found = entry(name.as_bytes()).or_else(|| entry(&hidden(name)));
    if let (None, Some((_, Value::Changeset(rev, _))), Some(source)) =
        (found, entry(SUBJECT), keywords.source())
    {
        let found = source.of_changeset(*rev, name)?;
        return Ok(found.unwrap_or(Value::Null));
    }
    Ok(found.map_or(Value::Null, |(_, value)| value.clone()))
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
        Value::Text(text) | Value::Shown(text, _) | Value::Changeset(_, text) => {
            out.extend_from_slice(text);
        }
        Value::Mapped(texts) => texts.iter().for_each(|text| push(text, out)),
        Value::List(members) => {
            for (index, member) in members.iter().enumerate() {
                // Parents bring their own space, and lines end by themselves.
                if index > 0 && !ends_with_blank(&members[index - 1]) {
                    out.push(b' ');
                }
                push(member, out);
            }
        }
        Value::Dict(entries) if entries.iter().any(|(key, _)| key == SHOWN) => {
            let shown = entries.iter().filter(|(key, _)| key == SHOWN);
            shown.for_each(|(_, shown)| push(shown, out));
        }
        Value::Dict(entries) => {
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(b' ');
                }
                out.extend_from_slice(key);
                out.push(b'=');
                push(value, out);
            }
        }
        Value::Table(rows, separator) => {
            let shown: Vec<&[u8]> = rows.iter().map(|row| &row.shown[..]).collect();
            out.extend_from_slice(&shown.join(separator.as_bytes()));
        }
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
        Value::Int(_) | Value::Float(_) | Value::Date(..) | Value::Changeset(..) => true,
        Value::Text(text) | Value::Shown(text, _) => !text.is_empty(),
        Value::List(members) | Value::Mapped(members) => !members.is_empty(),
        Value::Dict(entries) => !entries.is_empty(),
        Value::Table(rows, _) => !rows.is_empty(),
    }
}

/// The moment that a value is or says.
pub(super) fn date(value: &Value) -> Option<Date> {
    match value {
        Value::Date(time, zone) => Some(Date {
            time: *time,
            zone: *zone,
        }),
        Value::Text(text) => {
            let text = std::str::from_utf8(text).ok()?;
            varve_lang::date::parse(text, &crate::ui::clock::clock()).ok()
        }
        _ => None,
    }
}
