//! Projection of a document to the fields that a query shows.

use crate::selector::{FieldPath, Fields, PathLookup};
use std::collections::HashMap;
use varve_json::{MAX_DEPTH, Object, Value};

/// The fields that a query asks for, as the objects that they make, so that the cost of a document is
/// that of its fields and not of one field with each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Projection {
    /// In the order in which they were first named.
    members: Vec<(String, Member)>,
}

#[derive(Clone, Debug)]
enum Member {
    /// Shown as it stands in the document.
    Whole(FieldPath),
    /// An object of the requested fields below it.
    Part(Projection),
}

/// A projection in the making: positions of members by name.
#[derive(Default)]
struct Draft {
    names: HashMap<String, usize>,
    members: Vec<(String, DraftMember)>,
}

enum DraftMember {
    Whole(FieldPath),
    Part(Draft),
}

impl Projection {
    pub(super) fn new(fields: &[FieldPath]) -> Self {
        let mut draft = Draft::default();
        // No document is deeper, and the projection made of drafts recurses.
        let fields = fields
            .iter()
            .filter(|field| field.parts().len() <= MAX_DEPTH);
        fields.for_each(|field| draft.add(field));
        draft.finish()
    }

    /// The present ones of the fields, where they stood in the document.
    pub(super) fn of(&self, source: &impl Fields) -> Object {
        let members = self.members.iter().filter_map(|(name, member)| {
            let value = match member {
                Member::Whole(field) => match source.find(field) {
                    PathLookup::Value(value) => value.clone(),
                    PathLookup::Nothing | PathLookup::NoWay => return None,
                },
                Member::Part(part) => {
                    let part = part.of(source);
                    (!part.is_empty()).then_some(Value::Object(part))?
                }
            };
            Some((name.clone(), value))
        });
        members.collect()
    }
}

impl Draft {
    /// A field that is shown whole needs nothing below it.
    fn add(&mut self, field: &FieldPath) {
        let mut at = self;
        let mut parts = field.parts().iter().peekable();
        while let Some(part) = parts.next() {
            let next = at.members.len();
            let position = *at.names.entry(part.clone()).or_insert(next);
            if position == next {
                let member = DraftMember::Part(Draft::default());
                at.members.push((part.clone(), member));
            }
            let Some((_, member)) = at.members.get_mut(position) else {
                return;
            };
            if parts.peek().is_none() {
                *member = DraftMember::Whole(field.clone());
                return;
            }
            match member {
                DraftMember::Part(below) => at = below,
                DraftMember::Whole(_) => return,
            }
        }
    }

    fn finish(self) -> Projection {
        let members = self.members.into_iter().map(|(name, member)| {
            let member = match member {
                DraftMember::Whole(field) => Member::Whole(field),
                DraftMember::Part(below) => Member::Part(below.finish()),
            };
            (name, member)
        });
        Projection {
            members: members.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(document: &str, fields: &[&str]) -> String {
        let document = varve_json::parse(document.as_bytes()).unwrap();
        let fields: Vec<_> = fields.iter().map(|name| FieldPath::new(name)).collect();
        varve_json::to_string(&Value::Object(Projection::new(&fields).of(&document)))
    }

    #[test]
    fn fields_stay_where_they_were() {
        let document = r#"{"a":{"b":1,"c":[2],"d":3},"e.f":4,"g":5}"#;
        let fields = ["a.b", "a.c.0", "e\\.f", "none", "a.none", "none.a"];
        let expected = r#"{"a":{"b":1,"c":{"0":2}},"e.f":4}"#;
        assert_eq!(shown(document, &fields), expected);
        let whole = r#"{"a":{"b":1,"c":[2],"d":3}}"#;
        assert_eq!(shown(document, &["a", "a.b"]), whole);
        assert_eq!(shown(document, &["a.b", "a", "a.c"]), whole);
        assert_eq!(
            shown(document, &["g", "a.b", "g"]),
            r#"{"g":5,"a":{"b":1}}"#
        );
    }

    #[test]
    fn a_field_that_is_too_deep_for_any_document_is_not_there() {
        let deep = "a.".repeat(1 << 20);
        assert_eq!(shown(r#"{"a":1,"b":2}"#, &[&deep, "b"]), r#"{"b":2}"#);
    }
}
