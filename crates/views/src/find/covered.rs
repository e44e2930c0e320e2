//! Queries that an index answers without its documents.

use super::index::JsonIndex;
use super::options::FindOptions;
use crate::Row;
use crate::selector::{FieldPath, Fields, Node, PathLookup};
use varve_json::{Object, Value, parse};

/// Whether an index knows all that a selector asks of documents, and all that is shown of them.
pub(super) fn covers(index: &JsonIndex, node: &Node, shown: &[FieldPath]) -> bool {
    let id = FieldPath::new("_id");
    let known = |field: &FieldPath| *field == id || index.fields().any(|own| own == field);
    let mut all = !shown.is_empty() && shown.iter().all(known);
    node.each(&mut |field, _| all = all && known(field));
    all
}

/// Fields of one document that are in an index.
struct Known<'a> {
    fields: Vec<&'a FieldPath>,
    values: &'a [Value],
    id: &'a Value,
}

impl Fields for Known<'_> {
    fn find(&self, path: &FieldPath) -> PathLookup<'_> {
        if path.name() == "_id" {
            return PathLookup::Value(self.id);
        }
        let at = self.fields.iter().position(|field| *field == path);
        let value = at.and_then(|at| self.values.get(at));
        value.map_or(PathLookup::Nothing, PathLookup::Value)
    }
}

/// Asks rows instead of documents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covered<'a> {
    pub(super) index: &'a JsonIndex,
    pub(super) options: &'a FindOptions,
}

impl Covered<'_> {
    /// The shown fields of the document of a row; `None` if it does not pass.
    pub(super) fn show(&self, row: &Row) -> Option<Object> {
        let id = Value::from(row.id());
        let key = parse(row.key()).ok()?;
        let known = Known {
            fields: self.index.fields().collect(),
            values: key.as_array()?,
            id: &id,
        };
        let passes = self.options.selector.node().passes(&known);
        passes.then(|| self.options.projection.of(&known))
    }
}
