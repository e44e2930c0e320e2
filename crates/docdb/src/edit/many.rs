//! Edits of many documents in one request.

use super::{Edit, is_special};
use crate::EditError;
use memchr::memmem;
use varve_json::{JsonError, Request, Terms, Value};

/// The member that says whether documents get revision ids or bring theirs.
const NEW_EDITS: &str = "new_edits";
/// That member is looked for so many bytes from either end of a request before it is read.
const LOOKED_AT: usize = 256;

/// A request that brings edits, as `_bulk_docs` does.
#[derive(Debug)]
pub struct Edits {
    /// The edits in order, or why one of them could not be a document; `None` if there is no list.
    pub edits: Option<Vec<Result<Edit, EditError>>>,
    /// The request's other members, or all of it if it is no object.
    pub rest: Value,
}

impl Edits {
    /// Reads an object of which the member `list` is a list of documents. Those of a request with `"new_edits": false`
    /// are read without the terms that revision ids hash.
    ///
    /// # Errors
    /// The text is no JSON.
    pub fn parse(text: &[u8], list: &str) -> Result<Edits, JsonError> {
        let mut request = match seem_to_bring_revisions(text) {
            true => Request::parse(text, list, is_special, Terms::OnDemand)?,
            false => Request::parse(text, list, is_special, Terms::AtOnce)?,
        };
        let bring_revisions = request.rest.get(NEW_EDITS) == Some(&Value::Bool(false));
        if !bring_revisions && seem_to_bring_revisions(text) {
            request.documents = None;
            request = Request::parse(text, list, is_special, Terms::AtOnce)?;
        }
        let edit = |document| match document {
            Ok(document) => Edit::of(None, document),
            Err(_) => Err(EditError::NotAnObject),
        };
        let edits = request.documents;
        Ok(Edits {
            edits: edits.map(|documents| documents.into_iter().map(edit).collect()),
            rest: request.rest,
        })
    }
}

/// Looks for `"new_edits": false` near the ends of a request, where clients write it. A string with these bytes is taken for it.
fn seem_to_bring_revisions(text: &[u8]) -> bool {
    let (first, _) = text.split_at(text.len().min(LOOKED_AT));
    let (_, last) = text.split_at(text.len().saturating_sub(LOOKED_AT));
    [first, last].into_iter().any(|part| {
        memmem::find_iter(part, NEW_EDITS.as_bytes()).any(|at| {
            let rest = part[at + NEW_EDITS.len()..].trim_ascii_start();
            let value = rest.strip_prefix(b"\"").map(<[u8]>::trim_ascii_start);
            let value = value.and_then(|rest| rest.strip_prefix(b":"));
            value.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"false"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_terms(request: &str) -> Vec<bool> {
        let parsed = Edits::parse(request.as_bytes(), "docs").unwrap();
        let edits = parsed.edits.unwrap().into_iter();
        edits.map(|edit| edit.unwrap().body.has_term()).collect()
    }

    #[test]
    fn terms_are_made_for_those_who_get_revisions() {
        let long = format!("\"{}\"", "x".repeat(LOOKED_AT));
        let cases = [
            (r#"{"docs":[{"_id":"a"},{"b":1}]}"#.to_owned(), true),
            (
                r#"{"new_edits" : false, "docs":[{"_id":"a"},{"b":1}]}"#.to_owned(),
                false,
            ),
            (
                r#"{"docs":[{"_id":"a"},{"b":1}],"new_edits":false}"#.to_owned(),
                false,
            ),
            (
                r#"{"docs":[{"_id":"a"},{"b":1}],"new_edits":false,"new_edits":true}"#.to_owned(),
                true,
            ),
            (
                r#"{"docs":[{"new_edits":false},{"b":"\"new_edits\":false"}]}"#.to_owned(),
                true,
            ),
            // It is not seen, which only costs time.
            (
                format!(r#"{{"x":{long},"new_edits":false,"docs":[{{}},{{}}],"y":{long}}}"#),
                true,
            ),
        ];
        for (request, expected) in cases {
            assert_eq!(has_terms(&request), [expected; 2], "{request}");
        }
    }
}
