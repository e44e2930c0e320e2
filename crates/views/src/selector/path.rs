//! Fields of documents, named by paths.

use varve_json::{Object, Value};

/// The name of a field: `a.b` is the member `b` of `a`; a backslash keeps a dot in a name, and makes a name of what
/// begins like an operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath {
    name: String,
    parts: Vec<String>,
}

/// Result of looking up a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PathLookup<'v> {
    /// A value.
    Value(&'v Value),
    /// The last object on the way has no such member.
    Nothing,
    /// Something on the way has no members at all; not even `$exists: false` passes.
    NoWay,
}

impl FieldPath {
    /// Reads a path as clients write it.
    pub fn new(name: &str) -> Self {
        FieldPath {
            name: name.to_owned(),
            parts: split(name),
        }
    }

    /// As it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the members on the way.
    pub(crate) fn parts(&self) -> &[String] {
        &self.parts
    }

    /// The path below this one; this may be the root, which has no name.
    pub(crate) fn below(&self, name: &str) -> Self {
        match self.is_root() {
            true => FieldPath::new(name),
            false => FieldPath::new(&format!("{}.{name}", self.name)),
        }
    }

    /// The value itself, not one of its fields.
    pub(crate) fn root() -> Self {
        FieldPath {
            name: String::new(),
            parts: Vec::new(),
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.parts.is_empty()
    }

    /// Looks into a value; items of arrays are named by their position.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> PathLookup<'v> {
        self.find_by(value, Object::get)
    }

    /// The same, where `member` looks into objects.
    pub(super) fn find_by<'v>(
        &self,
        value: &'v Value,
        member: impl Fn(&'v Object, &str) -> Option<&'v Value>,
    ) -> PathLookup<'v> {
        let mut at = value;
        for part in &self.parts {
            let next = match at {
                Value::Object(object) => match member(object, part) {
                    Some(member) => Some(member),
                    None => return PathLookup::Nothing,
                },
                Value::Array(items) => part.parse().ok().and_then(|at: usize| items.get(at)),
                _ => None,
            };
            match next {
                Some(next) => at = next,
                None => return PathLookup::NoWay,
            }
        }
        PathLookup::Value(at)
    }
}

fn split(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = path.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = character == '\\' && matches!(characters.peek(), Some('.' | '\\' | '$'));
        let next = if escaped { characters.next() } else { None };
        match (character, parts.last_mut()) {
            ('.', _) => parts.push(String::new()),
            (_, Some(part)) => part.push(next.unwrap_or(character)),
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_objects_and_arrays() {
        let document = varve_json::parse(br#"{"a":[{"b":1}],"c.d":2,"e":null}"#).unwrap();
        let found = |path| FieldPath::new(path).find(&document);
        assert_eq!(found("a.0.b"), PathLookup::Value(&Value::from(1u64)));
        assert_eq!(found("c\\.d"), PathLookup::Value(&Value::from(2u64)));
        assert_eq!(found("e"), PathLookup::Value(&Value::Null));
        assert_eq!(found("a.0.c"), PathLookup::Nothing);
        assert_eq!(found("f.g"), PathLookup::Nothing);
        assert_eq!(found("a.1"), PathLookup::NoWay);
        assert_eq!(found("a.x"), PathLookup::NoWay);
        assert_eq!(found("e.x"), PathLookup::NoWay);
    }

    #[test]
    fn paths_grow_below_each_other() {
        let path = FieldPath::root().below("a").below("b.c");
        assert_eq!(path, FieldPath::new("a.b.c"));
        assert_eq!(path.parts(), ["a", "b", "c"]);
        assert!(FieldPath::root().is_root() && !FieldPath::new("").is_root());
    }
}
