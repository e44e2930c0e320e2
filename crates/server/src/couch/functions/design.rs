//! Functions and documents as requests name them.

use varve_docdb::Snapshot;
use varve_json::Value;

use crate::Failure;
use crate::couch::call::Call;
use crate::couch::document::text::{design_text, text_with_history};
use crate::couch::failures;
use crate::couch::functions::scripts::Script;

/// A function of a design document.
pub struct DesignFunction {
    /// The function, to be run.
    pub script: Script,
    /// Revision of its design document.
    pub rev: String,
}

impl DesignFunction {
    /// The function `name` in the member `member`, such as `shows`.
    ///
    /// # Errors
    /// 404 without such a design document or function.
    pub fn find(
        call: &Call,
        design: &str,
        (member, name): (&str, &str),
    ) -> Result<DesignFunction, Failure> {
        let text = design_text(&call.designs(), design)?;
        let design = varve_json::parse(&text)?;
        let missing = |key: &str| Failure::not_found(format!("missing json key: {key}"));
        let functions = design.get(member).ok_or_else(|| missing(member))?;
        let source = functions.get(name).and_then(Value::as_str);
        let source = source.ok_or_else(|| missing(name))?;
        Ok(DesignFunction {
            script: Script::new(source, &text, call.app.limits()),
            rev: rev_of(&design),
        })
    }
}

/// The revision that a document's text says.
pub fn rev_of(document: &Value) -> String {
    let rev = document.get("_rev").and_then(Value::as_str);
    rev.unwrap_or_default().to_owned()
}

/// Revision and JSON text of a document's winner, with its history; `None` if there is none.
///
/// # Errors
/// 500 if it cannot be read.
pub fn winner(snapshot: &Snapshot, id: &str) -> Result<Option<(String, Vec<u8>)>, Failure> {
    let document = snapshot.document(id)?;
    let document = document.filter(|document| !document.is_deleted());
    let Some(document) = document else {
        return Ok(None);
    };
    let (rev, stored) = document.winner().ok_or_else(failures::missing)?;
    let text = text_with_history(snapshot, &document, rev, stored)?;
    Ok(Some((rev.to_string(), text)))
}
