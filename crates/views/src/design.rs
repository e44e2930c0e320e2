//! Rules that a design document must follow to be stored.

use crate::reduce::Reduction;
use varve_js::{JsError, Limits};
use varve_json::{Object, Value};

/// A design document that cannot be used. `Display` is the reason that the client is given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DesignError {
    /// A member has the wrong type or is missing (`invalid_design_doc`).
    #[error("{reason}")]
    Invalid {
        /// CouchDB's words.
        reason: String,
    },
    /// A function is not one (`compilation_error`).
    #[error("{reason}")]
    Compilation {
        /// CouchDB's words around the engine's.
        reason: String,
    },
    /// The views are written in a language that this build does not run.
    #[error("design documents in language {language:?} have no views here")]
    Language {
        /// Value of the design document's `language`.
        language: String,
    },
    /// More distinct map functions than one index file holds.
    #[error("a design document has at most {limit} different map functions")]
    TooManyMaps {
        /// How many are possible.
        limit: usize,
    },
}

impl DesignError {
    fn invalid(reason: String) -> Self {
        DesignError::Invalid { reason }
    }

    /// CouchDB's name of the error.
    pub fn name(&self) -> &'static str {
        match self {
            DesignError::Compilation { .. } => "compilation_error",
            DesignError::Language { .. } => "unknown_query_language",
            DesignError::Invalid { .. } | DesignError::TooManyMaps { .. } => "invalid_design_doc",
        }
    }
}

/// Members that hold named functions, and modules that these require.
const FUNCTION_TABLES: [&str; 4] = ["filters", "lists", "shows", "updates"];

/// Members that are no objects, with the types that they may have.
const MEMBERS: [(&str, &[&str]); 3] = [
    ("language", &["string"]),
    ("rewrites", &["string", "array"]),
    ("validate_doc_update", &["string"]),
];

/// Members of `options` that say yes or no.
const FLAGS: [&str; 3] = ["include_design", "local_seq", "partitioned"];

/// Refuses a design document with members of the wrong type, with views without a map function,
/// or with map and reduce functions that do not compile; and one with views by partition unless the database
/// `is_partitioned`.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_design(
    document: &Object,
    limits: Limits,
    is_partitioned: bool,
) -> Result<(), DesignError> {
    for table in FUNCTION_TABLES {
        if let Some(functions) = typed_object(document, table)? {
            for (name, source) in functions.iter() {
                typed(source, &["object", "string"], || format!("{table}.{name}"))?;
            }
        }
    }
    for (member, kinds) in MEMBERS {
        if let Some(value) = document.get(member) {
            typed(value, kinds, || member.to_owned())?;
        }
    }
    let options = typed_object(document, "options")?;
    for flag in FLAGS {
        if let Some(value) = options.and_then(|options| options.get(flag)) {
            typed(value, &["boolean"], || format!("options.{flag}"))?;
        }
    }
    let by_partition = options.and_then(|options| options.get("partitioned"));
    if by_partition == Some(&Value::Bool(true)) && !is_partitioned {
        let reason = "partitioned option cannot be true in a non-partitioned database.";
        return Err(DesignError::invalid(reason.to_owned()));
    }
    let Some(views) = typed_object(document, "views")? else {
        return Ok(());
    };
    if let Some(library) = views.get(LIBRARY) {
        typed(library, &["object"], || format!("views.{LIBRARY}"))?;
    }
    let language = document.get("language").and_then(Value::as_str);
    let runs = language.is_none_or(|language| language == JAVASCRIPT);
    let library = library(document);
    let compiler = Compiler {
        library: library.as_deref().map(str::as_bytes),
        limits,
    };
    for (name, view) in views.iter().filter(|(name, _)| *name != LIBRARY) {
        check_view(name, view, runs.then_some(&compiler))?;
        if let (Some(QUERY), Some(map)) = (language, view.get("map")) {
            typed(map, &["object"], || format!("views.{name}.map"))?;
        }
    }
    Ok(())
}

/// The language whose functions this build runs.
pub(crate) const JAVASCRIPT: &str = "javascript";
/// The language of design documents that hold json indexes.
pub(crate) const QUERY: &str = "query";
/// The member of `views` that holds modules instead of a view.
pub(crate) const LIBRARY: &str = "lib";

/// The JSON text in which the views of a design document find modules: its `views.lib`, where they
/// may say `require('views/lib/…')`.
pub fn library(document: &Object) -> Option<String> {
    let views = document.get("views")?.as_object()?;
    let library = views
        .get(LIBRARY)
        .filter(|library| library.as_object().is_some())?;
    let library = varve_json::to_string(library);
    Some(format!("{{\"views\":{{\"{LIBRARY}\":{library}}}}}"))
}

/// Checks one view; compiles its functions if they can be.
fn check_view(
    name: &str,
    view: &Value,
    compiler: Option<&Compiler<'_>>,
) -> Result<(), DesignError> {
    let Some(view) = view.as_object() else {
        let reason = format!("`views.{name}` field must have object type");
        return Err(DesignError::invalid(reason));
    };
    let Some(map) = view.get("map") else {
        let reason = format!("View `{name}` must contain map function");
        return Err(DesignError::invalid(reason));
    };
    let Some(compiler) = compiler else {
        return Ok(());
    };
    let map = text(map, || format!("views.{name}.map"))?;
    compiler.check(map, "map", name)?;
    let Some(reduce) = view.get("reduce") else {
        return Ok(());
    };
    let reduce = text(reduce, || format!("views.{name}.reduce"))?;
    match Reduction::of(reduce)? {
        Reduction::Script(source) => compiler.check(&source, "reduce", name),
        _ => Ok(()),
    }
}

/// Compiles functions to see whether that can be done.
struct Compiler<'a> {
    library: Option<&'a [u8]>,
    limits: Limits,
}

impl Compiler<'_> {
    fn check(&self, source: &str, kind: &str, view: &str) -> Result<(), DesignError> {
        varve_js::check_source(source, self.library, self.limits)
            .map_err(|error| compilation(&error, kind, view))
    }
}

/// A function of a view that does not compile.
pub(crate) fn compilation(error: &JsError, kind: &str, view: &str) -> DesignError {
    DesignError::Compilation {
        reason: format!("Compilation of the {kind} function in the '{view}' view failed: {error}"),
    }
}

fn typed_object<'a>(document: &'a Object, member: &str) -> Result<Option<&'a Object>, DesignError> {
    match document.get(member) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(other) => typed(other, &["object"], || member.to_owned()).map(|()| None),
    }
}

/// Refuses a value of none of the types.
fn typed(value: &Value, kinds: &[&str], place: impl Fn() -> String) -> Result<(), DesignError> {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if kinds.contains(&found) {
        return Ok(());
    }
    let (place, kinds) = (place(), kinds.join(" or "));
    let reason = format!("`{place}` field must have {kinds} type");
    Err(DesignError::invalid(reason))
}

fn text(value: &Value, place: impl Fn() -> String) -> Result<&str, DesignError> {
    typed(value, &["string"], place)?;
    Ok(value.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(document: &str) -> String {
        let document = varve_json::parse_object(document.as_bytes()).unwrap();
        let error = check_design(&document, Limits::default(), false).unwrap_err();
        format!("{}: {error}", error.name())
    }

    /// Exchanges 149 to 153 as recorded.
    #[test]
    fn refusals_are_those_that_were_recorded() {
        for (document, expected) in [
            (
                r#"{"views":{"v":{"map":"function(doc){"}}}"#,
                "compilation_error: Compilation of the map function in the 'v' view failed: \
                 SyntaxError: unexpected token in expression: '' (function(doc){)",
            ),
            (
                r#"{"views":{"v":{"map":1}}}"#,
                "invalid_design_doc: `views.v.map` field must have string type",
            ),
            (
                r#"{"language":"query","views":{"v":{"map":"function(d){}"}}}"#,
                "invalid_design_doc: `views.v.map` field must have object type",
            ),
            (
                r#"{"views":[]}"#,
                "invalid_design_doc: `views` field must have object type",
            ),
            (
                r#"{"views":{"v":{"map":"function(d){}","reduce":"_nope"}}}"#,
                "invalid_design_doc: `_nope` is not a supported reduce function.",
            ),
            (
                r#"{"views":{"v":{}}}"#,
                "invalid_design_doc: View `v` must contain map function",
            ),
            (
                r#"{"filters":{"f":1}}"#,
                "invalid_design_doc: `filters.f` field must have object or string type",
            ),
            (
                r#"{"updates":{"f":[]}}"#,
                "invalid_design_doc: `updates.f` field must have object or string type",
            ),
            (
                r#"{"rewrites":{}}"#,
                "invalid_design_doc: `rewrites` field must have string or array type",
            ),
            (
                r#"{"options":{"local_seq":"true"}}"#,
                "invalid_design_doc: `options.local_seq` field must have boolean type",
            ),
            (
                r#"{"views":{"lib":"exports.a = 1"}}"#,
                "invalid_design_doc: `views.lib` field must have object type",
            ),
            (
                r#"{"validate_doc_update":{}}"#,
                "invalid_design_doc: `validate_doc_update` field must have string type",
            ),
        ] {
            assert_eq!(refusal(document), expected);
        }
        let by_partition =
            varve_json::parse_object(br#"{"options":{"partitioned":true}}"#).unwrap();
        assert_eq!(check_design(&by_partition, Limits::default(), true), Ok(()));
        assert!(
            refusal(r#"{"views":{"v":{"map":"function(d){}","reduce":"nope("}}}"#)
                .contains("reduce")
        );
    }

    #[test]
    fn good_design_documents_pass() {
        for document in [
            "{}",
            r#"{"language":"query","views":{"v":{"map":{"fields":{}},"reduce":"_count"}}}"#,
            r#"{"views":{"lib":{"a":"exports.a = 1"},"v":{"map":"function(d){}","reduce":"_sum"}}}"#,
            r#"{"filters":{"f":"function(){}"},"options":{"include_design":true}}"#,
            r#"{"filters":{"f":"function(){}","lib":{"a":"exports.a = 1"}},"rewrites":[]}"#,
        ] {
            let document = varve_json::parse_object(document.as_bytes()).unwrap();
            assert_eq!(check_design(&document, Limits::default(), false), Ok(()));
        }
    }
}
