//! What an error of a lower crate means over HTTP: the only place that decides it.

use varve_docdb::{DocdbError, EditError, RevError};
use varve_json::JsonError;
use varve_views::find::FindError;
use varve_views::selector::SelectorError;
use varve_views::{DesignError, OptionError, ViewError};

use crate::Failure;
use crate::http::BodyClosed;

impl From<DocdbError> for Failure {
    fn from(error: DocdbError) -> Failure {
        match error {
            DocdbError::Deleted { .. } => missing_database(),
            full if full.is_full() => Failure::new(507, "insufficient_storage", full.to_string()),
            other => Failure::internal(other),
        }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Failure {
        let (status, word) = meaning(&error);
        let reason = match error {
            EditError::Json(error) => return error.into(),
            other => other.to_string(),
        };
        Failure::new(status, word, reason)
    }
}

/// Status and CouchDB's word for a refused edit.
fn meaning(error: &EditError) -> (u16, &'static str) {
    match error {
        EditError::Conflict => (409, "conflict"),
        EditError::BadMember(_) => (400, "doc_validation"),
        EditError::IdNotAString | EditError::IdEmpty | EditError::IdReserved => {
            (400, "illegal_docid")
        }
        EditError::MissingStub { .. } => (412, "missing_stub"),
        EditError::DocumentTooLarge(_) => (413, "document_too_large"),
        EditError::AttachmentTooLarge(_) => (413, "attachment_too_large"),
        EditError::TooManyAttachments(_) => (413, "too_many_attachments"),
        _ => (400, "bad_request"),
    }
}

impl From<JsonError> for Failure {
    fn from(error: JsonError) -> Failure {
        match error {
            // CouchDB takes any depth; Varve says why it does not.
            JsonError::TooDeep { .. } | JsonError::NumberTooLong { .. } => {
                Failure::bad_request(error.to_string())
            }
            _ => Failure::bad_request("invalid UTF-8 JSON"),
        }
    }
}

impl From<RevError> for Failure {
    fn from(error: RevError) -> Failure {
        Failure::bad_request(error.to_string())
    }
}

impl From<OptionError> for Failure {
    fn from(error: OptionError) -> Failure {
        Failure::new(400, error.name(), error.to_string())
    }
}

impl From<DesignError> for Failure {
    fn from(error: DesignError) -> Failure {
        Failure::new(400, error.name(), error.to_string())
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Failure {
        match error {
            ViewError::Design(error) => error.into(),
            ViewError::Options(error) => error.into(),
            ViewError::Find(error) => error.into(),
            ViewError::Database(error) => error.into(),
            ViewError::Document { id, rev, source } => Failure::from(*source).about(&id, rev),
            ViewError::NoView { .. } => Failure::not_found("missing_named_view"),
            other => Failure::internal(other),
        }
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Failure {
        let status = match error {
            FindError::NoService { .. } => 503,
            _ => 400,
        };
        Failure::new(status, error.name(), error.to_string())
    }
}

impl From<BodyClosed> for Failure {
    /// Nobody reads this one: the connection is gone.
    fn from(error: BodyClosed) -> Failure {
        Failure::internal(error)
    }
}

impl From<SelectorError> for Failure {
    fn from(error: SelectorError) -> Failure {
        Failure::new(400, error.error(), error.to_string())
    }
}

/// 404 for a database.
pub fn missing_database() -> Failure {
    Failure::not_found("Database does not exist.")
}

/// 404 for a document that never was.
pub fn missing() -> Failure {
    Failure::not_found("missing")
}

/// 404 for a document whose winner is deleted.
pub fn deleted() -> Failure {
    Failure::not_found("deleted")
}
