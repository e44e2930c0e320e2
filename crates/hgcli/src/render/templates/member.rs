//! Members of lists, and the values of keywords for one of them.

use super::eval::Keywords;
use super::source::TemplateData;
use crate::render::formatter::{HIDDEN, Value};
use crate::ui::Abort;

/// The keywords of one member of a list, before those around it.
pub(super) struct OfMember<'a> {
    pub(super) member: &'a Value,
    pub(super) around: &'a dyn Keywords,
    /// Name of a plain member besides `item`.
    pub(super) name: &'a str,
    pub(super) index: usize,
}

/// Name of a member that is a file.
const FILE: &str = "file";

impl OfMember<'_> {
    /// Whether the member has a node, by which that around it is hidden.
    fn has_node(&self) -> bool {
        match self.member {
            Value::Changeset(..) => true,
            Value::Dict(parts) | Value::Shown(_, parts) => {
                parts.iter().any(|(key, _)| key == b"node")
            }
            _ => false,
        }
    }

    /// A keyword about a file.
    fn of_file(&self, path: &[u8], name: &str) -> Result<Option<Value>, Abort> {
        if name == "path" {
            return Ok(Some(Value::from(path)));
        }
        match self.source() {
            Some(source) => source.of_file(path, name),
            None => Ok(None),
        }
    }
}

impl Keywords for OfMember<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        if name == "index" {
            return Ok(Some(Value::Int(self.index as i64)));
        }
        if name == "originalnode" && self.has_node() {
            return self.around.value("node");
        }
        match self.member {
            Value::Dict(parts) | Value::Shown(_, parts) => {
                let of_name =
                    |key: &[u8]| key.strip_prefix(&[HIDDEN]).unwrap_or(key) == name.as_bytes();
                let found = parts.iter().find(|(key, _)| of_name(key));
                if let Some((_, value)) = found {
                    return Ok(Some(value.clone()));
                }
            }
            Value::Changeset(rev, _) if name == self.name => {
                return Ok(Some(Value::from(*rev)));
            }
            Value::Changeset(rev, _) => {
                if let Some(source) = self.source() {
                    return source.of_changeset(*rev, name);
                }
            }
            _ if name == "item" || name == self.name => {
                return Ok(Some(self.member.clone()));
            }
            Value::Text(path) if self.name == FILE => {
                if let Some(value) = self.of_file(path, name)? {
                    return Ok(Some(value));
                }
            }
            _ => {}
        }
        self.around.value(name)
    }

    fn source(&self) -> Option<&dyn TemplateData> {
        self.around.source()
    }
}

/// Members that `%` goes through; `None` if the value has none.
pub(super) fn members(value: &Value) -> Option<Vec<Value>> {
    let pair = |key: &str, name: &[u8], other: &str, value: Value| {
        Value::Dict(vec![
            (key.as_bytes().to_vec(), Value::from(name)),
            (other.as_bytes().to_vec(), value),
        ])
    };
    Some(match value {
        Value::Null => Vec::new(),
        Value::List(members) => members.clone(),
        Value::Dict(parts) => parts
            .iter()
            .map(|(key, value)| pair("key", key, "value", value.clone()))
            .collect(),
        Value::Table(rows, _) => rows
            .iter()
            .map(|row| Value::Shown(row.shown.clone(), row.parts.clone()))
            .collect(),
        Value::Shown(..) | Value::Changeset(..) => vec![value.clone()],
        _ => return None,
    })
}
