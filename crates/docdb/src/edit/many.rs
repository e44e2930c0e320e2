//! Edits of many documents in one request.

use super::{Edit, is_special};
use crate::EditError;
use varve_json::{JsonError, Request, Value};

/// A request that brings edits, as `_bulk_docs` does.
#[derive(Debug)]
pub struct Edits {
    /// The edits in order, or why one of them could not be a document; `None` if there is no list.
    pub edits: Option<Vec<Result<Edit, EditError>>>,
    /// The request's other members, or all of it if it is no object.
    pub rest: Value,
}

impl Edits {
    /// Reads an object of which the member `list` is a list of documents.
    ///
    /// # Errors
    /// The text is no JSON.
    pub fn parse(text: &[u8], list: &str) -> Result<Edits, JsonError> {
        let request = Request::parse(text, list, is_special)?;
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
