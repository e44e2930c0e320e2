//! Functions that ask the repository.

use super::eval::{Keywords, evaluate, integer, parse_error, text};
use super::functions::{flag, ordered};
use super::grammar::Expr;
use super::source::TemplateData;
use crate::render::formatter::Value;
use crate::ui::Abort;
use std::collections::HashSet;
use varve_config::hgrc::boolean;
use varve_repo::{Rev, python_repr};

const FUNCTIONS: &[&str] = &[
    "config",
    "configbool",
    "configint",
    "diff",
    "files",
    "formatnode",
    "latesttag",
    "relpath",
    "revset",
    "shortest",
    "subsetparents",
];

/// Functions that Mercurial has and Varve has not.
const OF_MERCURIAL: &[&str] = &[
    "extdata",
    "mailmap",
    "obsfatedate",
    "obsfateoperations",
    "obsfateusers",
    "obsfateverb",
    "rstdoc",
];

/// Whether this is the name of such a function, even if it is refused.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name) || OF_MERCURIAL.contains(&name)
}

/// Calls the function of this name.
pub(super) fn call(
    name: &str,
    arguments: &[Expr],
    keywords: &dyn Keywords,
) -> Result<Value, Abort> {
    if OF_MERCURIAL.contains(&name) {
        return Err(Abort::input(format!(
            "template function '{name}' is not supported"
        )));
    }
    let missing = || {
        Abort::new(format!(
            "template resource not available: {}",
            resource(name)
        ))
    };
    let source = keywords.source().ok_or_else(missing)?;
    let string = |expr: &Expr| Ok::<_, Abort>(text(&evaluate(expr, keywords)?));
    let wrong = |words: &str| Err(parse_error(format!("{name} {words}")));
    match (name, arguments) {
        ("config" | "configbool" | "configint", [section, key, rest @ ..]) if rest.len() <= 1 => {
            let value = source.setting(&string(section)?, &string(key)?);
            let default = rest.first().map(|expr| match name {
                "configbool" => flag(expr, keywords).map(Value::Bool),
                _ => evaluate(expr, keywords),
            });
            let default = default.transpose()?;
            setting(name, value, default)
        }
        ("config" | "configbool" | "configint", _) => wrong("expects two or three arguments"),
        ("diff", patterns) if patterns.len() <= 2 => {
            let patterns: Vec<Vec<u8>> = patterns.iter().map(string).collect::<Result<_, _>>()?;
            let pattern = |at: usize| patterns.get(at).map(Vec::as_slice);
            Ok(Value::Text(source.diff(pattern(0), pattern(1))?))
        }
        ("diff", _) => wrong("expects zero, one, or two arguments"),
        ("files", [pattern]) => Ok(Value::from(source.files(&string(pattern)?)?)),
        ("formatnode", [node]) => {
            let node = string(node)?;
            Ok(Value::from(&node[..node.len().min(source.node_digits())]))
        }
        ("latesttag", []) => source.latest_tag(None),
        ("latesttag", [pattern]) => source.latest_tag(Some(&string(pattern)?)),
        ("latesttag", _) => wrong("expects at most one argument"),
        ("relpath", [path]) => Ok(Value::Text(source.relative(&string(path)?)?)),
        ("files" | "formatnode" | "relpath", _) => wrong("expects one argument"),
        ("revset", [query, rest @ ..]) => {
            let values = rest.iter().map(|expr| evaluate(expr, keywords));
            let values = values.collect::<Result<Vec<Value>, Abort>>()?;
            revset(source, &string(query)?, &values)
        }
        ("revset", _) => wrong("expects one or more arguments"),
        ("subsetparents", [rev, subset]) => {
            let values = (evaluate(rev, keywords)?, evaluate(subset, keywords)?);
            subset_parents(source, values)
        }
        ("subsetparents", _) => wrong("expects two arguments"),
        _ => {
            let [node, least] = ordered(name, ["node", "minlength"], arguments)?;
            let Some(node) = node else {
                return Err(parse_error(format!(
                    "{name}() expects one or two arguments"
                )));
            };
            let least = match least {
                None => Some(4),
                Some(least) => integer(&evaluate(least, keywords)?),
            };
            let least =
                least.ok_or_else(|| parse_error("shortest() expects an integer minlength"))?;
            Ok(Value::Text(
                source.shortest(&string(node)?, least.clamp(1, 40) as usize)?,
            ))
        }
    }
}

/// Mercurial's name for the missing resource of a function.
fn resource(name: &str) -> &'static str {
    match name {
        "config" | "configbool" | "configint" => "ui",
        "formatnode" => "ui",
        "latesttag" | "relpath" | "revset" | "shortest" | "subsetparents" => "repo",
        _ => "ctx",
    }
}

fn setting(name: &str, value: Option<Vec<u8>>, default: Option<Value>) -> Result<Value, Abort> {
    let Some(value) = value else {
        return Ok(match (name, default) {
            (_, Some(default)) => default,
            ("configbool", None) => Value::Bool(false),
            ("configint", None) => Value::Int(0),
            _ => Value::Null,
        });
    };
    let shown = String::from_utf8_lossy(&value).into_owned();
    match name {
        "configbool" => boolean(&value)
            .map(Value::Bool)
            .ok_or_else(|| Abort::new(format!("'{shown}' is not a boolean"))),
        "configint" => shown
            .trim()
            .parse()
            .map(Value::Int)
            .map_err(|_| Abort::new(format!("'{shown}' is not a valid integer"))),
        _ => Ok(Value::Text(value)),
    }
}

fn revset(source: &dyn TemplateData, query: &[u8], values: &[Value]) -> Result<Value, Abort> {
    let revs = if values.is_empty() {
        source.revset(query)?
    } else {
        source.revset(&formatted(query, values)?)?
    };
    Ok(changesets(revs))
}

fn subset_parents(
    source: &dyn TemplateData,
    (rev, subset): (Value, Value),
) -> Result<Value, Abort> {
    let rev = integer(&rev).ok_or_else(|| parse_error("not an integer"))?;
    let subset = queried(subset);
    let subset = subset.ok_or_else(|| parse_error("subsetparents expects a queried revset"))?;
    let parents = source.subset_parents(rev, &subset)?;
    Ok(changesets(parents))
}

/// A list of changesets, each shown by its number.
fn changesets(revs: impl IntoIterator<Item = Option<Rev>>) -> Value {
    let one = |rev: Option<Rev>| {
        let number = rev.map_or(-1, |rev| i64::from(rev.0));
        Value::Changeset(rev, number.to_string().into_bytes())
    };
    Value::List(revs.into_iter().map(one).collect())
}

/// The changesets of a list that a query gave; `None` among them is the null revision.
fn queried(value: Value) -> Option<HashSet<Option<Rev>>> {
    let Value::List(members) = value else {
        return None;
    };
    let mut revs = HashSet::new();
    for member in members {
        match member {
            Value::Changeset(rev, _) => revs.insert(rev),
            _ => return None,
        };
    }
    Some(revs)
}

/// A query with values in place of `%d`, `%s`, `%r` and the like; `%ld` takes a list of them.
fn formatted(query: &[u8], values: &[Value]) -> Result<Vec<u8>, Abort> {
    let (mut out, mut values) = (Vec::new(), values.iter());
    let mut bytes = query.iter();
    while let Some(byte) = bytes.next() {
        if *byte != b'%' {
            out.push(*byte);
            continue;
        }
        let incomplete = || parse_error("incomplete revspec format character");
        let mut form = bytes.next().ok_or_else(incomplete)?;
        if *form == b'%' {
            out.push(b'%');
            continue;
        }
        let is_list = *form == b'l';
        if is_list {
            form = bytes.next().ok_or_else(incomplete)?;
        }
        let missing = || parse_error("missing argument for revspec");
        let value = values.next();
        if !b"dsnbr".contains(form) {
            let form = char::from(*form);
            let message = format!("unexpected revspec format character {form}");
            return Err(parse_error(message));
        }
        let value = value.ok_or_else(missing)?;
        match is_list {
            true => push_all(*form, value, &mut out)?,
            false => push_one(*form, value, &mut out)?.ok_or_else(|| {
                let form = char::from(*form);
                let shown = shown(value);
                parse_error(format!("invalid argument for revspec: %{form} != {shown}"))
            })?,
        }
    }
    match values.next() {
        Some(_) => Err(parse_error("too many revspec arguments specified")),
        None => Ok(out),
    }
}

/// A value as Python would show it.
fn shown(value: &Value) -> String {
    match integer(value) {
        Some(number) => number.to_string(),
        None => format!("b{}", python_repr(&text(value))),
    }
}

/// Appends the members of a list, of which any is meant.
fn push_all(form: u8, value: &Value, out: &mut Vec<u8>) -> Result<(), Abort> {
    let wrong = || parse_error("invalid argument for revspec");
    let members = match value {
        Value::List(members) | Value::Mapped(members) => members,
        _ => return Err(wrong()),
    };
    if members.is_empty() {
        out.extend_from_slice(b"none()");
        return Ok(());
    }
    out.push(b'(');
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b" or ");
        }
        push_one(form, member, out)?.ok_or_else(wrong)?;
    }
    out.push(b')');
    Ok(())
}

/// Appends one value in the form of a letter; `None` if it does not fit.
fn push_one(form: u8, value: &Value, out: &mut Vec<u8>) -> Result<Option<()>, Abort> {
    match form {
        b'd' => {
            let Some(number) = integer(value) else {
                return Ok(None);
            };
            match number {
                // Numbers below count from the newest changeset in a query, and here not.
                ..-1 => return Err(Abort::input(format!("unknown revision '{number}'"))),
                -1 => out.extend_from_slice(b"null"),
                number => out.extend_from_slice(number.to_string().as_bytes()),
            }
        }
        b'r' => match value {
            Value::Text(query) => out.extend_from_slice(&[b"(", &query[..], b")"].concat()),
            _ => return Ok(None),
        },
        // The branch of a changeset, which no value here is.
        b'b' => return Ok(None),
        b'n' => {
            let hex = text(value)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>();
            push_quoted(hex.as_bytes(), out);
        }
        _ => push_quoted(&text(value), out),
    }
    Ok(Some(()))
}

fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in text {
        if matches!(byte, b'\'' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'\'');
}
