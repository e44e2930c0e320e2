//! What of a document a query shows.

use crate::selector::{FieldPath, Fields, Found};
use varve_json::{Object, Value};

/// The fields that a query asks for, where they stood in the document.
pub(super) fn projected(source: &impl Fields, fields: &[FieldPath]) -> Object {
    let mut out = Object::new();
    for field in fields {
        if let Found::Value(value) = source.find(field) {
            put(&mut out, field.parts(), value);
        }
    }
    out
}

/// Makes the objects on the way; what is no object there gives way to one.
fn put(object: &mut Object, parts: &[String], value: &Value) {
    let mut at = object;
    for (index, part) in parts.iter().enumerate() {
        if index + 1 == parts.len() {
            at.insert(part.as_str(), value.clone());
            return;
        }
        if !matches!(at.get(part), Some(Value::Object(_))) {
            at.insert(part.as_str(), Object::new());
        }
        match at.get_mut(part) {
            Some(Value::Object(next)) => at = next,
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stay_where_they_were() {
        let document = varve_json::parse(br#"{"a":{"b":1,"c":[2],"d":3},"e.f":4,"g":5}"#).unwrap();
        let fields = ["a.b", "a.c.0", "e\\.f", "none", "a.none"].map(FieldPath::new);
        let shown = varve_json::to_string(&Value::Object(projected(&document, &fields)));
        assert_eq!(shown, r#"{"a":{"b":1,"c":{"0":2}},"e.f":4}"#);
        let shown = projected(&document, &[FieldPath::new("a"), FieldPath::new("a.b")]);
        assert_eq!(shown.get("a"), document.get("a"));
    }
}
