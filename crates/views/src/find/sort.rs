//! By which fields results are sorted, and which fields make the keys of an index.

use super::FindError;
use crate::selector::FieldPath;
use crate::term::of_texts;
use varve_json::{Object, Value};

/// One field, and in which direction it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorting {
    /// Path of the field within a document.
    pub field: FieldPath,
    /// Whether the last come first.
    pub descending: bool,
}

impl Sorting {
    pub(crate) fn direction(&self) -> &'static str {
        if self.descending { "desc" } else { "asc" }
    }
}

/// Reads `["a", {"b": "asc"}]`.
///
/// # Errors
/// The first thing that is wrong; all fields must have the same direction.
pub(crate) fn read_sorting(value: &Value) -> Result<Vec<Sorting>, FindError> {
    let Value::Array(items) = value else {
        let words = "Sort must be an array of sort specs, not: ";
        return Err(FindError::Value {
            word: "invalid_sort_json",
            reason: format!("{words}{}", of_texts(value)),
        });
    };
    let each = items.iter().map(|item| {
        read_one(item).ok_or_else(|| FindError::Value {
            word: "invalid_sort_field",
            reason: format!("Invalid sort field: {}", of_texts(item)),
        })
    });
    let sorting = each.collect::<Result<Vec<_>, _>>()?;
    match sorting
        .windows(2)
        .all(|pair| pair[0].descending == pair[1].descending)
    {
        true => Ok(sorting),
        false => Err(FindError::Value {
            word: "unsupported_mixed_sort",
            reason: "Sorts currently only support a single direction for all fields.".to_owned(),
        }),
    }
}

fn read_one(item: &Value) -> Option<Sorting> {
    let (name, descending) = match item {
        Value::String(name) => (name.as_str(), false),
        Value::Object(object) if object.len() == 1 => {
            let (name, direction) = object.iter().next()?;
            match direction.as_str()? {
                "asc" => (name, false),
                "desc" => (name, true),
                _ => return None,
            }
        }
        _ => return None,
    };
    let field = FieldPath::new(name);
    (!name.is_empty()).then_some(Sorting { field, descending })
}

/// `[{"a":"asc"}]`.
pub(crate) fn sorting_to_json(sorting: &[Sorting]) -> Value {
    let each = sorting.iter().map(|sorting| {
        let mut one = Object::new();
        one.insert(sorting.field.name(), sorting.direction());
        Value::Object(one)
    });
    Value::Array(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Sorting>, String> {
        let value = varve_json::parse(text.as_bytes()).unwrap();
        read_sorting(&value).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_come_with_and_without_a_direction() {
        let sorting = read(r#"["a",{"b.c":"asc"}]"#).unwrap();
        let shown = varve_json::to_string(&sorting_to_json(&sorting));
        assert_eq!(shown, r#"[{"a":"asc"},{"b.c":"asc"}]"#);
        assert!(read(r#"[{"a":"desc"},{"b":"desc"}]"#).is_ok());
        assert!(read("[]").unwrap().is_empty());
    }

    /// The first as recorded in exchange 187.
    #[test]
    fn refusals_name_the_field() {
        let reason = r#"Invalid sort field: {[{<<"v">>,<<"up">>}]}"#;
        assert_eq!(read(r#"[{"v":"up"}]"#), Err(reason.to_owned()));
        assert!(read(r#"[{"a":"asc","b":"asc"}]"#).is_err());
        assert!(read("[1]").is_err());
        let empty = "Invalid sort field: <<>>".to_owned();
        assert_eq!(read(r#"[""]"#), Err(empty));
        let text = r#"Sort must be an array of sort specs, not: <<"bing">>"#;
        assert_eq!(read(r#""bing""#), Err(text.to_owned()));
        assert!(read("{}").unwrap_err().starts_with("Sort must be an array"));
        let mixed = read(r#"["a",{"b":"desc"}]"#).unwrap_err();
        assert!(mixed.contains("single direction"), "{mixed}");
    }
}
