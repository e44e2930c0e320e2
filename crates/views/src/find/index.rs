//! Json indexes: design documents in language `query`.
//!
//! ```json
//! {"language":"query","views":{"by-age":{
//!     "map":{"fields":{"age":"asc"},"partial_filter_selector":{}},
//!     "reduce":"_count",
//!     "options":{"def":{"fields":["age"]}}}}}
//! ```
//! Each of its views is an index. A document is in it under the array of the fields' values, if it
//! has all of them and passes the partial filter.

use super::FindError;
use super::sort::{Sorting, read_sorting, sorting_to_json};
use crate::design::QUERY;
use crate::selector::{FieldPath, PathLookup, Selector};
use crate::term::of_bytes;
use varve_docdb::DESIGN_PREFIX;
use varve_json::{Object, Value};

/// The member that limits which documents are in an index.
pub(crate) const FILTER: &str = "partial_filter_selector";

/// Maps documents to the rows of a JSON index.
#[derive(Clone, Debug)]
pub(crate) struct JsonMap {
    pub(crate) sorting: Vec<Sorting>,
    pub(crate) filter: Option<Selector>,
}

impl JsonMap {
    /// Reads the member `map` of a view. `None` if it is none of a json index.
    pub(crate) fn read(map: &Value) -> Option<JsonMap> {
        let fields = map.get("fields")?;
        let sorting = match fields {
            // One member for each field, in their order.
            Value::Object(fields) => {
                let each = fields.iter().map(|(name, direction)| {
                    let mut one = Object::new();
                    one.insert(name, direction.clone());
                    Value::Object(one)
                });
                read_sorting(&Value::Array(each.collect()))
            }
            other => read_sorting(other),
        };
        let filter = match map.get(FILTER) {
            None => None,
            Some(Value::Object(filter)) if filter.is_empty() => None,
            Some(filter) => Some(Selector::compile(filter).ok()?),
        };
        let sorting = sorting.ok()?;
        Some(JsonMap { sorting, filter })
    }

    /// The key of a document; `None` if it is not in the index.
    pub(crate) fn key(&self, document: &Value) -> Option<Value> {
        let filter = self.filter.as_ref();
        if filter.is_some_and(|filter| !filter.matches(document)) {
            return None;
        }
        let values = self.sorting.iter();
        let values = values.map(|sorting| match sorting.field.find(document) {
            PathLookup::Value(value) => Some(value.clone()),
            PathLookup::Nothing | PathLookup::NoWay => None,
        });
        values.collect::<Option<Vec<_>>>().map(Value::Array)
    }
}

/// One json index of a database.
#[derive(Clone, Debug)]
pub struct JsonIndex {
    design: String,
    name: String,
    pub(crate) map: JsonMap,
    is_partitioned: bool,
}

impl JsonIndex {
    /// The indexes in a design document; views that are none are left out. `is_partitioned` says whether the database
    /// is; then so are the indexes, unless their design document says otherwise.
    pub fn of_design(id: &str, document: &Object, is_partitioned: bool) -> Vec<JsonIndex> {
        if document.get("language").and_then(Value::as_str) != Some(QUERY) {
            return Vec::new();
        }
        let is_partitioned = is_partitioned && partitioned_option(document) != Some(false);
        let views = document.get("views").and_then(Value::as_object);
        let views = views.into_iter().flat_map(Object::iter);
        let indexes = views.filter_map(|(name, view)| {
            Some(JsonIndex {
                design: id.to_owned(),
                name: name.to_owned(),
                map: JsonMap::read(view.get("map")?)?,
                is_partitioned,
            })
        });
        indexes.collect()
    }

    /// The id of its design document.
    pub fn design(&self) -> &str {
        &self.design
    }

    /// The name of its view.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its rows are kept by partition.
    pub(crate) fn is_partitioned(&self) -> bool {
        self.is_partitioned
    }

    /// The fields that its keys are made of.
    pub(crate) fn fields(&self) -> impl ExactSizeIterator<Item = &FieldPath> {
        self.map.sorting.iter().map(|sorting| &sorting.field)
    }

    /// Whether it holds only some of the documents that have its fields.
    pub(crate) fn is_partial(&self) -> bool {
        self.map.filter.is_some()
    }

    /// As `_index` and `_explain` show it.
    pub fn to_json(&self) -> Value {
        let mut definition = Object::new();
        definition.insert("fields", sorting_to_json(&self.map.sorting));
        if let Some(filter) = &self.map.filter {
            definition.insert(FILTER, filter.to_json());
        }
        let mut index = Object::new();
        index.insert("ddoc", self.design.as_str());
        index.insert("name", self.name.as_str());
        index.insert("type", "json");
        index.insert("partitioned", self.is_partitioned);
        index.insert("def", definition);
        Value::Object(index)
    }
}

/// The index of all documents by id, as `_index` and `_explain` show it.
pub fn all_docs_to_json() -> Value {
    let by_id = Sorting {
        field: FieldPath::new("_id"),
        descending: false,
    };
    let mut definition = Object::new();
    definition.insert("fields", sorting_to_json(&[by_id]));
    let mut index = Object::new();
    index.insert("ddoc", Value::Null);
    index.insert("name", "_all_docs");
    index.insert("type", "special");
    index.insert("def", definition);
    Value::Object(index)
}

/// An index that a client asks for.
#[derive(Clone, Debug)]
pub struct NewIndex {
    /// The design document's id, if the client named it.
    pub design: Option<String>,
    /// The view's name, if the client named it.
    pub name: Option<String>,
    /// Whether its rows are to be kept by partition, if the client said so.
    is_partitioned: Option<bool>,
    definition: Object,
    map: JsonMap,
}

/// The members of a request for an index; `w` means nothing here.
const KEYS: [&str; 6] = ["index", "type", "name", "ddoc", "w", "partitioned"];

/// The option of a design document that says whether its rows are kept by partition.
fn partitioned_option(document: &Object) -> Option<bool> {
    document.get("options")?.get("partitioned")?.as_bool()
}

impl NewIndex {
    /// Reads the body of a request for an index.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(body: &Object) -> Result<NewIndex, FindError> {
        let definition = body
            .get("index")
            .ok_or(FindError::Missing { key: "index" })?;
        check_type(body.get("type"))?;
        let text = |name| match body.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Err(FindError::Value {
                word: "invalid_empty_string",
                reason: "Index name or ddoc cannot be empty string".to_owned(),
            }),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(invalid_string(other)),
        };
        let (name, design) = (text("name")?, text("ddoc")?);
        if design.as_deref() == Some(DESIGN_PREFIX) {
            return Err(FindError::Value {
                word: "illegal_docid",
                reason: format!("Illegal document id `{DESIGN_PREFIX}`"),
            });
        }
        let is_partitioned = match body.get("partitioned") {
            None => None,
            Some(Value::Bool(flag)) => Some(*flag),
            Some(other) => {
                let words = "Invalid boolean value: ";
                return Err(FindError::value("invalid_boolean", words, other));
            }
        };
        FindError::check_keys(body, |key| KEYS.contains(&key))?;
        let Value::Object(definition) = definition else {
            let words = "JSON indexes must be an object, not: ";
            return Err(FindError::value("invalid_index", words, definition));
        };
        let fields = definition.get("fields");
        let sorting = read_sorting(fields.ok_or(FindError::Missing { key: "fields" })?)?;
        let filter = match definition.get(FILTER) {
            None => None,
            Some(Value::Object(filter)) if filter.is_empty() => None,
            Some(filter) => Some(Selector::compile(filter)?),
        };
        FindError::check_keys(definition, |key| key == "fields" || key == FILTER)?;
        Ok(NewIndex {
            design: design.map(|design| match design.starts_with(DESIGN_PREFIX) {
                true => design,
                false => format!("{DESIGN_PREFIX}{design}"),
            }),
            name,
            is_partitioned,
            definition: definition.clone(),
            map: JsonMap { sorting, filter },
        })
    }

    /// Identity of an index whose design document the client did not name: indexes with the same content, and with the
    /// same name if they have one, share it.
    pub fn identity(&self) -> Vec<u8> {
        let mut text = Vec::new();
        varve_json::write(&self.map_to_json(), &mut text);
        if let Some(name) = &self.name {
            varve_json::write_string(name, &mut text);
        }
        if let Some(flag) = self.is_partitioned {
            text.extend_from_slice(if flag { b"by partition" } else { b"global" });
        }
        text
    }

    fn map_to_json(&self) -> Value {
        let mut fields = Object::new();
        for sorting in &self.map.sorting {
            fields.insert(sorting.field.name(), sorting.direction());
        }
        let filter = self.map.filter.as_ref();
        let filter = filter.map_or_else(|| Value::Object(Object::new()), Selector::to_json);
        let mut map = Object::new();
        map.insert("fields", fields);
        map.insert(FILTER, filter);
        Value::Object(map)
    }

    /// Puts the index into its design document, which may be new. Says whether that changed it.
    ///
    /// # Errors
    /// The document is there already and is written in another language, which is JavaScript if it
    /// says none; or its indexes are kept by partition otherwise than this one.
    pub fn add_to(&self, name: &str, document: &mut Object) -> Result<bool, FindError> {
        let is_stored = document.get("_rev").is_some();
        match document.get("language") {
            None if !is_stored => document.insert("language", QUERY),
            Some(Value::String(language)) if language == QUERY => {}
            other => {
                let found = other.map_or_else(|| "false".to_owned(), varve_json::to_string);
                return Err(FindError::DesignLanguage { found });
            }
        }
        self.set_partitioned(is_stored, document)?;
        let mut options = Object::new();
        options.insert("def", self.definition.clone());
        let mut view = Object::new();
        view.insert("map", self.map_to_json());
        view.insert("reduce", "_count");
        view.insert("options", options);
        let view = Value::Object(view);
        if !matches!(document.get("views"), Some(Value::Object(_))) {
            document.insert("views", Object::new());
        }
        let Some(Value::Object(views)) = document.get_mut("views") else {
            return Ok(false);
        };
        let is_new = views.get(name) != Some(&view);
        if is_new {
            views.insert(name, view);
        }
        Ok(is_new)
    }
}

impl NewIndex {
    fn set_partitioned(&self, is_stored: bool, document: &mut Object) -> Result<(), FindError> {
        match self.is_partitioned {
            wanted if wanted == partitioned_option(document) => {}
            Some(wanted) if !is_stored => {
                let mut options = Object::new();
                options.insert("partitioned", wanted);
                document.insert("options", options);
            }
            _ => {
                let design = document.get("_id").and_then(Value::as_str);
                return Err(FindError::PartitionedMismatch {
                    design: design.unwrap_or_default().to_owned(),
                });
            }
        }
        Ok(())
    }
}

fn check_type(kind: Option<&Value>) -> Result<(), FindError> {
    match kind {
        None => Ok(()),
        Some(Value::String(kind)) if kind == "json" => Ok(()),
        Some(Value::String(kind)) if ["text", "nouveau"].contains(&kind.as_str()) => {
            Err(FindError::NoService { kind: kind.clone() })
        }
        Some(Value::String(kind)) => Err(FindError::Value {
            word: "invalid_index",
            reason: format!("Invalid type for index: {kind}"),
        }),
        Some(other) => Err(invalid_string(other)),
    }
}

fn invalid_string(found: &Value) -> FindError {
    FindError::Value {
        word: "invalid_string",
        reason: format!("Invalid string: {}", of_bytes(found)),
    }
}
