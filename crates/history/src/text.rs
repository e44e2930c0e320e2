//! Bytes as texts of JSON.

use varve_json::Value;
use varve_repo::Node;

/// Bytes as a text; those that are no UTF-8 become U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A node as its digits.
pub(crate) fn node(node: &Node) -> Value {
    Value::from(node.to_string())
}
