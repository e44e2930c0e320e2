//! The changes of a rewriting, as `--template` gives them.

use super::Replacement;
use crate::render::formatter::{Row, Value};
use varve_repo::Node;

/// Old changesets with the new ones in their place, for the keyword `nodechanges`.
pub(crate) fn node_changes(replaced: &[Replacement]) -> Value {
    let word = |name: &str, value: Value| (name.as_bytes().to_vec(), value);
    let node = |node: &Node| {
        let hex = node.to_hex().to_vec();
        Value::Shown(hex.clone(), vec![word("node", Value::Text(hex))])
    };
    let row = |old: &Node, new: &[Node]| {
        let name = old.to_hex().to_vec();
        let shown: Vec<String> = new.iter().map(Node::to_string).collect();
        let value = Value::List(new.iter().map(node).collect());
        Row {
            shown: format!("{old}={}", shown.join(" ")).into_bytes(),
            value: value.clone(),
            parts: vec![
                word("oldnode", Value::Text(name.clone())),
                word("newnodes", value),
            ],
            name,
        }
    };
    let rows = replaced
        .iter()
        .flat_map(|replaced| replaced.old.iter().map(|old| row(old, &replaced.new)));
    Value::Table(rows.collect(), " ")
}
