//! Compiled selectors: conditions on fields, combined.

use super::condition::{Condition, key_of, of_one};
use super::indexed::Indexed;
use super::path::{FieldPath, PathLookup};
use std::sync::Arc;
use varve_json::{Object, Value};

/// A selector in which negations stand at conditions and field names are whole paths.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Field(Arc<FieldPath>, Condition),
}

/// Source of fields: a document, or the fields of one in an index.
pub(crate) trait Fields {
    fn find(&self, path: &FieldPath) -> PathLookup<'_>;

    /// Hands the key that a value sorts by to `then`.
    fn with_key<T>(&self, value: &Value, then: impl FnOnce(&[u8]) -> T) -> T {
        then(&key_of(value))
    }
}

/// More conditions than this are asked of an index of the value.
const MANY: usize = 32;

impl Fields for Value {
    fn find(&self, path: &FieldPath) -> PathLookup<'_> {
        path.find(self)
    }
}

impl Node {
    pub(crate) fn passes(&self, fields: &impl Fields) -> bool {
        match self {
            Node::All(nodes) => nodes.iter().all(|node| node.passes(fields)),
            // As in CouchDB, a choice without alternatives holds.
            Node::Any(nodes) => nodes.is_empty() || nodes.iter().any(|node| node.passes(fields)),
            Node::Field(path, condition) => match fields.find(path) {
                PathLookup::Value(value) => condition.passes(value, fields),
                PathLookup::Nothing => condition.wants_nothing(),
                PathLookup::NoWay => false,
            },
        }
    }

    /// Whether a value passes.
    pub(crate) fn passes_value(&self, value: &Value) -> bool {
        match self.is_within(&mut MANY.clone()) {
            true => self.passes(value),
            false => self.passes(&Indexed::new(value)),
        }
    }

    /// Takes the number of conditions off `left`, as far as that goes; false if there are more.
    fn is_within(&self, left: &mut usize) -> bool {
        let reduced = left.checked_sub(1);
        *left = reduced.unwrap_or(0);
        reduced.is_some()
            && match self {
                Node::All(nodes) | Node::Any(nodes) => {
                    nodes.iter().all(|node| node.is_within(left))
                }
                Node::Field(..) => true,
            }
    }

    /// Whether a document can only pass if it has the field.
    pub(crate) fn requires(&self, field: &FieldPath) -> bool {
        match self {
            Node::All(nodes) => nodes.iter().any(|node| node.requires(field)),
            Node::Any(nodes) => !nodes.is_empty() && nodes.iter().all(|node| node.requires(field)),
            Node::Field(path, condition) => **path == *field && !condition.wants_nothing(),
        }
    }

    /// Calls `visit` with each condition that stands at a field of the document.
    pub(crate) fn each<'n>(&'n self, visit: &mut impl FnMut(&'n FieldPath, &'n Condition)) {
        match self {
            Node::All(nodes) | Node::Any(nodes) => {
                nodes.iter().for_each(|node| node.each(visit));
            }
            Node::Field(path, condition) => visit(path, condition),
        }
    }

    /// The selector that means this.
    pub(crate) fn to_json(&self) -> Value {
        let several = |name, nodes: &[Node]| {
            let nodes = nodes.iter().map(Node::to_json);
            of_one(name, Value::Array(nodes.collect()))
        };
        match self {
            Node::All(nodes) if nodes.is_empty() => Value::Object(Object::new()),
            Node::All(nodes) => several("$and", nodes),
            Node::Any(nodes) => several("$or", nodes),
            Node::Field(path, condition) => of_one(path.name(), condition.to_json()),
        }
    }
}
