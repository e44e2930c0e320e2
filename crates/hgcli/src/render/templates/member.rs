//! Members of lists, and the values of keywords for one of them.

use super::eval::Keywords;
use super::fragments::FragmentScope;
use super::source::TemplateData;
use crate::render::formatter::{HIDDEN, Value};
use crate::ui::Abort;
use varve_repo::Rev;

/// The keywords of one member of a list, before those around it.
pub(super) struct OfMember<'a> {
    pub(super) member: &'a Value,
    pub(super) around: &'a dyn Keywords,
    /// Name of a plain member besides `item`.
    pub(super) name: &'a str,
    pub(super) index: usize,
    /// The changeset that the member is about, if it is about one.
    pub(super) about: Option<&'a dyn Keywords>,
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

    /// A keyword of the changeset that a member is about, or of a file of it.
    fn of_subject(
        &self,
        about: &dyn Keywords,
        path: Option<&[u8]>,
        name: &str,
    ) -> Result<Option<Value>, Abort> {
        let found = path.map(|path| of_file(about.source(), path, name));
        match found.transpose()?.flatten() {
            None => about.value(name),
            found => Ok(found),
        }
    }
}

/// A keyword about a file of the changeset that `source` looks at.
pub(super) fn of_file(
    source: Option<&dyn TemplateData>,
    path: &[u8],
    name: &str,
) -> Result<Option<Value>, Abort> {
    if name == "path" {
        return Ok(Some(Value::from(path)));
    }
    match source {
        Some(source) => source.of_file(path, name),
        None => Ok(None),
    }
}

/// Name of the entry with the changeset that a dictionary is about.
pub(crate) const SUBJECT: &[u8] = &[HIDDEN, b'c', b't', b'x'];
/// Name of the entry with the file that a dictionary is about.
pub(crate) const SUBJECT_PATH: &[u8] = &[HIDDEN, b'p', b'a', b't', b'h'];

/// Key of an entry that does not belong to a dictionary's data.
pub(crate) fn hidden(name: &str) -> Vec<u8> {
    [&[HIDDEN][..], name.as_bytes()].concat()
}

/// An entry of a dictionary.
fn entry<'v>(member: &'v Value, name: &[u8]) -> Option<&'v Value> {
    match member {
        Value::Dict(parts) => {
            let found = parts.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value)
        }
        _ => None,
    }
}

/// The changeset that a member is about.
fn subject_of(member: &Value) -> Option<Option<Rev>> {
    match entry(member, SUBJECT).unwrap_or(member) {
        Value::Changeset(rev, _) => Some(*rev),
        _ => None,
    }
}

/// Calls `look` with the keywords of one member.
pub(super) fn with_member(
    (member, index): (&Value, usize),
    (around, name): (&dyn Keywords, &str),
    look: &mut dyn FnMut(&dyn Keywords) -> Result<(), Abort>,
) -> Result<(), Abort> {
    let mut look = |about: Option<&dyn Keywords>| {
        look(&OfMember {
            member,
            around,
            name,
            index,
            about,
        })
    };
    match subject_of(member).zip(around.source()) {
        Some((rev, source)) => source.at_changeset(rev, &mut |about| look(Some(about))),
        None => look(None),
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
                if let (Value::Shown(text, _), true) = (self.member, name == self.name) {
                    return Ok(Some(Value::Text(text.clone())));
                }
            }
            Value::Changeset(rev, _) if name == self.name => {
                return Ok(Some(Value::from(*rev)));
            }
            Value::Changeset(..) => {
                if let Some(about) = self.about {
                    return about.value(name);
                }
            }
            _ if name == "item" || name == self.name => {
                return Ok(Some(self.member.clone()));
            }
            Value::Text(path) if self.name == FILE => {
                if let Some(value) = of_file(self.source(), path, name)? {
                    return Ok(Some(value));
                }
            }
            _ => {}
        }
        if let Some(about) = self.about {
            let path = match entry(self.member, SUBJECT_PATH) {
                Some(Value::Text(path)) => Some(&path[..]),
                _ => None,
            };
            let found = self.of_subject(about, path, name)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        self.around.value(name)
    }

    fn source(&self) -> Option<&dyn TemplateData> {
        match self.about {
            Some(about) => about.source(),
            None => self.around.source(),
        }
    }

    fn fragments(&self) -> Option<&FragmentScope<'_>> {
        self.around.fragments()
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
        // One thing with more than its data, not a table of names and values.
        Value::Dict(parts)
            if parts
                .iter()
                .any(|(key, _)| key.first().is_none_or(|first| *first == HIDDEN)) =>
        {
            vec![value.clone()]
        }
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
