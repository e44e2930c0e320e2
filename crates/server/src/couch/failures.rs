//! Maps errors of lower crates to HTTP answers: the only place that does.

use varve_base::StorageError;
use varve_docdb::{DocdbError, EditError, PartitionError, RevError};
use varve_json::JsonError;
use varve_views::find::FindError;
use varve_views::selector::SelectorError;
use varve_views::{DesignError, OptionError, ViewError};

use crate::Failure;
use crate::http::BodyError;
use crate::http::FailureKind;

impl From<DocdbError> for Failure {
    fn from(error: DocdbError) -> Failure {
        match error {
            DocdbError::Deleted { .. } => missing_database(),
            DocdbError::WouldBlock => Failure::would_block(),
            full if full.is_full() => Failure::new(
                FailureKind::NoSpace,
                "insufficient_storage",
                full.to_string(),
            ),
            other => Failure::internal(other),
        }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Failure {
        let (kind, word) = meaning(&error);
        let reason = match error {
            EditError::Json(error) => return error.into(),
            other => other.to_string(),
        };
        Failure::new(kind, word, reason)
    }
}

/// Kind and CouchDB's word for a refused edit.
fn meaning(error: &EditError) -> (FailureKind, &'static str) {
    match error {
        EditError::Conflict => (FailureKind::Conflict, "conflict"),
        EditError::BadMember(_) => (FailureKind::BadRequest, "doc_validation"),
        EditError::IdNotAString
        | EditError::IdEmpty
        | EditError::IdReserved
        | EditError::IdTooLong
        | EditError::NoPartition => (FailureKind::BadRequest, "illegal_docid"),
        EditError::Access(error) if !error.is_malformed() => (FailureKind::Forbidden, "forbidden"),
        EditError::Partition(_) => (FailureKind::BadRequest, "illegal_partition"),
        EditError::MissingStub { .. } => (FailureKind::PreconditionFailed, "missing_stub"),
        EditError::DocumentTooLarge(_) => (FailureKind::TooLarge, "document_too_large"),
        EditError::AttachmentTooLarge(_) => (FailureKind::TooLarge, "attachment_too_large"),
        EditError::TooManyAttachments(_) => (FailureKind::TooLarge, "too_many_attachments"),
        _ => (FailureKind::BadRequest, "bad_request"),
    }
}

impl From<JsonError> for Failure {
    fn from(error: JsonError) -> Failure {
        match error {
            // CouchDB takes any depth; Varve says why it does not.
            JsonError::TooDeep { .. } | JsonError::NumberTooLong { .. } => {
                Failure::bad_request(error.to_string())
            }
            JsonError::TooLarge { .. } => Failure::too_large(),
            _ => Failure::bad_request("invalid UTF-8 JSON"),
        }
    }
}

impl From<RevError> for Failure {
    fn from(error: RevError) -> Failure {
        Failure::bad_request(error.to_string())
    }
}

impl From<PartitionError> for Failure {
    fn from(error: PartitionError) -> Failure {
        EditError::Partition(error).into()
    }
}

impl From<OptionError> for Failure {
    fn from(error: OptionError) -> Failure {
        Failure::new(FailureKind::BadRequest, error.name(), error.to_string())
    }
}

impl From<DesignError> for Failure {
    fn from(error: DesignError) -> Failure {
        match &error {
            DesignError::Language { language } => {
                Failure::new(FailureKind::FunctionFailed, error.name(), language.clone())
            }
            _ => Failure::new(FailureKind::BadRequest, error.name(), error.to_string()),
        }
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Failure {
        match error {
            blocked if blocked.is_would_block() => Failure::would_block(),
            ViewError::Design(error) => error.into(),
            ViewError::Options(error) => error.into(),
            ViewError::Find(error) => error.into(),
            ViewError::Database(error) => error.into(),
            ViewError::Document { id, rev, source } => Failure::from(*source).about(&id, rev),
            ViewError::NoView { .. } => Failure::not_found("missing_named_view"),
            function @ ViewError::Function { .. } => Failure::new(
                FailureKind::FunctionFailed,
                "os_process_error",
                function.to_string(),
            ),
            damage if damage.is_index_damage() => Failure {
                kind: FailureKind::IndexDamaged,
                ..Failure::internal(format!("{damage}; the index is built anew"))
            },
            other => Failure::internal(other),
        }
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Failure {
        let kind = match error {
            FindError::NoService { .. } => FailureKind::Unavailable,
            _ => FailureKind::BadRequest,
        };
        Failure::new(kind, error.name(), error.to_string())
    }
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Failure {
        match error {
            BodyError::WouldBlock => Failure::would_block(),
            // Never sent: the connection is gone.
            BodyError::Closed(closed) => Failure::internal(closed),
        }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Failure {
        match error.is_would_block() {
            true => Failure::would_block(),
            false => Failure::internal(error),
        }
    }
}

impl From<SelectorError> for Failure {
    fn from(error: SelectorError) -> Failure {
        Failure::new(FailureKind::BadRequest, error.error(), error.to_string())
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
