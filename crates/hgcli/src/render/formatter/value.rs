//! Named values in the output of a command.

use varve_repo::{Node, Rev};

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Text or a path; need not be UTF-8.
    Text(Vec<u8>),
    /// Seconds since 1970, and seconds west of UTC.
    Date(i64, i32),
    /// Values in order.
    List(Vec<Value>),
    /// Texts that a template made of the members of a list; shown without anything between them.
    Mapped(Vec<Value>),
    /// Names with values, in order.
    Dict(Vec<(Vec<u8>, Value)>),
    /// Text that stands for something with parts.
    Shown(Vec<u8>, Vec<(Vec<u8>, Value)>),
    /// A changeset, or the null revision, and the text that stands for it.
    Changeset(Option<Rev>, Vec<u8>),
    /// Things by name, each with the text that stands for it, and what stands between these.
    Table(Vec<Row>, &'static str),
}

/// One thing of a [`Value::Table`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: Vec<u8>,
    /// Text of the row.
    pub(crate) shown: Vec<u8>,
    /// Value of the name.
    pub(crate) value: Value,
    /// Everything that is known of it.
    pub(crate) parts: Vec<(Vec<u8>, Value)>,
}

/// Prefix of names that templates know and that do not belong to a dictionary's data.
pub(crate) const HIDDEN: u8 = 0;

/// Whether an entry of a dictionary is for templates alone: it is hidden, or has no name and is the
/// text that stands for the whole.
pub(super) fn is_hidden(name: &[u8]) -> bool {
    matches!(name.first(), None | Some(&HIDDEN))
}

/// The changeset or the file that an item is about, for keywords that are none of its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ItemSubject {
    /// `None` is the null revision.
    pub(crate) rev: Option<Rev>,
    pub(crate) path: Option<Vec<u8>>,
}

/// The values of one item, sorted by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FormatterItem {
    values: Vec<(&'static str, Value)>,
    pub(crate) subject: Option<ItemSubject>,
}

impl FormatterItem {
    /// Sets a value.
    pub(crate) fn set(&mut self, name: &'static str, value: Value) {
        match self.values.binary_search_by_key(&name, |(known, _)| known) {
            Ok(at) => self.values[at].1 = value,
            Err(at) => self.values.insert(at, (name, value)),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        let at = self.values.binary_search_by_key(&name, |(known, _)| known);
        at.ok().map(|at| &self.values[at].1)
    }

    /// All values, sorted by name.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(value.into_bytes())
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Value {
        Value::Text(value.to_vec())
    }
}

impl From<&Vec<u8>> for Value {
    fn from(value: &Vec<u8>) -> Value {
        Value::Text(value.clone())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Value {
        Value::Text(value)
    }
}

impl From<Node> for Value {
    fn from(value: Node) -> Value {
        Value::Text(value.to_hex().to_vec())
    }
}

impl From<Rev> for Value {
    fn from(value: Rev) -> Value {
        Value::Int(i64::from(value.0))
    }
}

impl From<Option<Rev>> for Value {
    /// The null revision is -1.
    fn from(value: Option<Rev>) -> Value {
        value.map_or(Value::Int(-1), Value::from)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value
where
    T: NotByte,
{
    fn from(values: Vec<T>) -> Value {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

/// Types that a list may hold; a list of bytes is text.
pub(crate) trait NotByte {}
impl NotByte for Vec<u8> {}
impl NotByte for &[u8] {}
impl NotByte for String {}
impl NotByte for &str {}
impl NotByte for Node {}
impl NotByte for Rev {}
impl NotByte for Value {}
