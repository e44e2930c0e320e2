//! Requests of `_find` and `_explain`.

use super::FindError;
use super::bookmark::Bookmark;
use super::project::Projection;
use super::sort::{Sorting, read_sorting};
use crate::selector::{FieldPath, Selector};
use varve_docdb::Partition;
use varve_json::{Object, Value};

/// How many documents CouchDB answers unless the client or its settings say otherwise.
pub const DEFAULT_LIMIT: u64 = 25;

/// Options of a query.
#[derive(Clone, Debug)]
pub struct FindOptions {
    /// Selects the documents.
    pub selector: Selector,
    /// The design document, and perhaps the view, of the index that is wished for.
    pub use_index: Vec<String>,
    /// As the client gave it.
    bookmark_text: String,
    /// Where the page begins.
    pub bookmark: Option<Bookmark>,
    /// At most so many documents.
    pub limit: u64,
    /// So many documents are left out first.
    pub skip: u64,
    /// Order of the documents.
    pub sort: Vec<Sorting>,
    /// Shown fields of the documents; all of them if this is empty.
    pub fields: Vec<FieldPath>,
    /// The same, to be asked of documents.
    pub(super) projection: Projection,
    /// How many copies should be read; one is all there is.
    r: u64,
    /// Whether documents name their conflicts.
    pub conflicts: bool,
    /// Whether the index is taken as it is, by the old name of that option.
    is_stale: bool,
    update: bool,
    stable: bool,
    /// Whether the answer tells the query's cost.
    pub execution_stats: bool,
    /// Whether another index may be used than the one that is wished for.
    pub allow_fallback: bool,
    /// The partition that is searched; all of them without one.
    pub partition: Option<Partition>,
    /// Whether the database has partitions.
    pub(super) is_partitioned: bool,
}

/// The members of a request.
const KEYS: [&str; 15] = [
    "selector",
    "use_index",
    "bookmark",
    "limit",
    "skip",
    "sort",
    "fields",
    "partition",
    "r",
    "conflicts",
    "stale",
    "update",
    "stable",
    "execution_stats",
    "allow_fallback",
];

impl FindOptions {
    /// Reads the body of a request; `default_limit` is the number of documents where it does not say one.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(body: &Object, default_limit: u64) -> Result<FindOptions, FindError> {
        let selector = body.get("selector");
        let selector = selector.ok_or(FindError::Missing { key: "selector" })?;
        let selector = Selector::compile(selector)?;
        let use_index = read_use_index(body.get("use_index"))?;
        let bookmark_text = match body.get("bookmark") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => {
                let words = "Invalid bookmark value: ";
                return Err(FindError::value("invalid_bookmark", words, other));
            }
        };
        let read = Members(body);
        let fields = read_fields(body.get("fields"))?;
        let options = FindOptions {
            selector,
            use_index,
            bookmark: Bookmark::read(&bookmark_text)?,
            bookmark_text,
            limit: read.count("limit")?.unwrap_or(default_limit),
            skip: read.count("skip")?.unwrap_or(0),
            sort: body.get("sort").map_or(Ok(Vec::new()), read_sorting)?,
            projection: Projection::new(&fields),
            fields,
            r: read.r()?,
            conflicts: read.flag("conflicts", false)?,
            is_stale: read.stale()?,
            update: read.flag("update", true)?,
            stable: read.flag("stable", false)?,
            execution_stats: read.flag("execution_stats", false)?,
            allow_fallback: read.flag("allow_fallback", true)?,
            partition: read_partition(body.get("partition"))?,
            is_partitioned: false,
        };
        FindError::check_keys(body, |key| KEYS.contains(&key))?;
        Ok(options)
    }

    /// The same query of a database, perhaps of a partition that its URL names.
    ///
    /// # Errors
    /// [`FindError::Value`] for the partition of a database that has none, or two of them.
    pub fn within(
        mut self,
        is_partitioned: bool,
        partition: Option<&Partition>,
    ) -> Result<FindOptions, FindError> {
        let refuse = |reason: &str| {
            Err(FindError::Value {
                word: "bad_request",
                reason: reason.to_owned(),
            })
        };
        match (&self.partition, partition) {
            (Some(_), _) if !is_partitioned => {
                return refuse("`partition` is not supported on this db.");
            }
            (Some(known), Some(other)) if known != other => {
                return refuse("Conflicting value for `partition` in the request's body");
            }
            (_, None) => {}
            (_, Some(partition)) => self.partition = Some(partition.clone()),
        }
        self.is_partitioned = is_partitioned;
        Ok(self)
    }

    /// Whether the index is brought up to date first.
    pub fn updates(&self) -> bool {
        self.update && !self.is_stale
    }

    /// Whether CouchDB would read several copies of each document; there is one here.
    pub fn reads_quorum(&self) -> bool {
        self.r > 1
    }

    /// Whether documents are read from the last to the first.
    pub(super) fn is_descending(&self) -> bool {
        self.sort.first().is_some_and(|first| first.descending)
    }

    pub(super) fn fields_to_json(&self) -> Value {
        let names = self.fields.iter().map(|field| Value::from(field.name()));
        Value::Array(names.collect())
    }

    /// All options, as `_explain` shows them.
    pub(super) fn to_json(&self) -> Value {
        let use_index = self.use_index.iter().map(|name| Value::from(name.as_str()));
        let bookmark = match self.bookmark_text.as_str() {
            "" => "nil",
            text => text,
        };
        let sort = self.sort.iter().map(|sorting| {
            let direction = Value::from(sorting.direction());
            (sorting.field.name().to_owned(), direction)
        });
        let sort: Object = sort.collect();
        let mut out = Object::new();
        out.insert("use_index", use_index.collect::<Vec<_>>());
        out.insert("bookmark", bookmark);
        out.insert("limit", self.limit);
        out.insert("skip", self.skip);
        out.insert("sort", sort);
        out.insert("fields", self.fields_to_json());
        out.insert(
            "partition",
            self.partition.as_ref().map_or("", Partition::name),
        );
        out.insert("r", self.r);
        out.insert("conflicts", self.conflicts);
        match self.is_stale {
            true => out.insert("stale", "ok"),
            false => out.insert("stale", false),
        }
        out.insert("update", self.update);
        out.insert("stable", self.stable);
        out.insert("execution_stats", self.execution_stats);
        out.insert("allow_fallback", self.allow_fallback);
        Value::Object(out)
    }

    /// Flags that `_explain` shows of the query of the index.
    pub(super) fn flags(&self) -> (bool, bool) {
        (self.stable || self.is_stale, self.updates())
    }
}

/// `"design"`, `"design/view"`, or an array of one or both.
fn read_use_index(value: Option<&Value>) -> Result<Vec<String>, FindError> {
    let invalid = |value| FindError::value("invalid_index_name", "Invalid index name: ", value);
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(name)) => {
            let without = name.strip_prefix("_design/").unwrap_or(name);
            match without.split('/').collect::<Vec<_>>()[..] {
                [design] => Ok(owned(&[design])),
                [design, view] => Ok(owned(&[design, view])),
                _ => Err(invalid(&Value::from(name.as_str()))),
            }
        }
        Some(array @ Value::Array(names)) => {
            let names = names.iter().map(|name| name.as_str().map(str::to_owned));
            let names = names.collect::<Option<Vec<_>>>();
            let names = names.filter(|names| names.len() <= 2);
            names.ok_or_else(|| invalid(array))
        }
        Some(other) => Err(invalid(other)),
    }
}

fn read_fields(value: Option<&Value>) -> Result<Vec<FieldPath>, FindError> {
    let items = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => {
            let words = "Fields must be an array of strings, not: ";
            return Err(FindError::value("invalid_fields", words, other));
        }
    };
    let fields = items.iter().map(|item| match item {
        Value::String(name) => Ok(FieldPath::new(name)),
        other => {
            let words = "Invalid JSON for field spec: ";
            Err(FindError::value("invalid_field", words, other))
        }
    });
    fields.collect()
}

fn read_partition(value: Option<&Value>) -> Result<Option<Partition>, FindError> {
    match value {
        None => Ok(None),
        Some(Value::String(name)) if name.is_empty() => Ok(None),
        Some(Value::String(name)) => Ok(Some(Partition::new(name)?)),
        Some(other) => Err(FindError::value(
            "invalid_string",
            "Invalid string: ",
            other,
        )),
    }
}

/// Members by kind.
struct Members<'o>(&'o Object);

impl Members<'_> {
    fn count(&self, name: &str) -> Result<Option<u64>, FindError> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        value.as_u64().map(Some).ok_or_else(|| FindError::Value {
            word: "invalid_non_neg_integer",
            reason: format!(
                "{} is not an integer greater than or equal to zero",
                varve_json::to_string(value)
            ),
        })
    }

    fn r(&self) -> Result<u64, FindError> {
        let Some(value) = self.0.get("r") else {
            return Ok(1);
        };
        let r = value.as_u64().filter(|r| *r > 0);
        r.ok_or_else(|| FindError::Value {
            word: "invalid_pos_integer",
            reason: format!(
                "{} is not an integer greater than zero",
                varve_json::to_string(value)
            ),
        })
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool, FindError> {
        let Some(value) = self.0.get(name) else {
            return Ok(default);
        };
        let words = "Invalid boolean value: ";
        value
            .as_bool()
            .ok_or_else(|| FindError::value("invalid_boolean", words, value))
    }

    fn stale(&self) -> Result<bool, FindError> {
        match self.0.get("stale") {
            None | Some(Value::Bool(false)) => Ok(false),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(Value::String(text)) if text == "ok" => Ok(true),
            Some(other) => {
                let word = "invalid_ok_or_false_value";
                Err(FindError::value(word, "Invalid value for stale: ", other))
            }
        }
    }
}
