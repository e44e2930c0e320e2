//! Values in Mercurial's layout for debugging: the literals of Python, one below the other.

use super::value::{FormatterItem, Value, is_hidden};
use varve_repo::python_repr;

/// Columns of one step.
const STEP: usize = 4;

/// An item, which stands in a list.
pub(super) fn item(item: &FormatterItem) -> String {
    let values = item.values();
    let pairs = values
        .map(|(name, value)| (name.as_bytes(), value))
        .collect();
    format!("{:STEP$}{},\n", "", pairs_at(pairs, STEP))
}

fn shown(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Text(text) | Value::Shown(text, _) => python_repr(text),
        Value::Changeset(rev, _) => shown(&Value::from(*rev), depth),
        Value::Date(time, zone) => {
            let parts = [time.to_string(), zone.to_string()];
            enclosed(("(", ")"), parts.into_iter(), depth)
        }
        Value::List(values) | Value::Mapped(values) => {
            let parts = values.iter().map(|value| shown(value, depth + STEP));
            enclosed(("[", "]"), parts, depth)
        }
        Value::Dict(values) => {
            let visible = values.iter().filter(|(name, _)| !is_hidden(name));
            let pairs = visible.map(|(name, value)| (&name[..], value)).collect();
            pairs_at(pairs, depth)
        }
        Value::Table(rows, _) => {
            let pairs = rows.iter().map(|row| (&row.name[..], &row.value));
            pairs_at(pairs.collect(), depth)
        }
    }
}

fn pairs_at(mut pairs: Vec<(&[u8], &Value)>, depth: usize) -> String {
    pairs.sort_by_key(|(name, _)| *name);
    let pair = |(name, value): (&[u8], &Value)| {
        format!("{}: {}", python_repr(name), shown(value, depth + STEP))
    };
    enclosed(("{", "}"), pairs.into_iter().map(pair), depth)
}

/// Parts on lines of their own between two brackets.
fn enclosed(
    (open, close): (&str, &str),
    parts: impl Iterator<Item = String>,
    depth: usize,
) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return format!("{open}{close}");
    }
    let inner = depth + STEP;
    let lines = parts.iter().map(|part| format!("{:inner$}{part}", ""));
    let lines = lines.collect::<Vec<_>>().join(",\n");
    format!("{open}\n{lines}\n{:depth$}{close}", "")
}
