//! Maps errors of lower crates to HTTP answers: the only place that does.

use std::error::Error;
use std::io;
use varve_base::StorageError;
use varve_docdb::{DocdbError, EditError, PartitionError, RevError};
use varve_json::JsonError;
use varve_shared::SharedError;
use varve_views::find::FindError;
use varve_views::selector::SelectorError;
use varve_views::{DesignError, OptionError, ViewError};

use crate::Failure;
use crate::http::BodyError;
use crate::http::FailureKind;

/// Seconds after which a database that another process has taken over may be taken back.
const RETRY_AFTER: &str = "5";

impl From<DocdbError> for Failure {
    fn from(error: DocdbError) -> Failure {
        match error {
            DocdbError::Deleted { .. } => missing_database(),
            DocdbError::WouldBlock => Failure::would_block(),
            following @ DocdbError::Following { .. } => {
                Failure::of_store(FailureKind::NotOwner, &following)
            }
            full if full.is_full() => Failure::new(
                FailureKind::NoSpace,
                "insufficient_storage",
                full.to_string(),
            ),
            other => from_cause(other),
        }
    }
}

impl Failure {
    /// 503 if another process has the database or the store did not answer; 500 for damage and errors of this machine.
    fn from_shared(error: &SharedError) -> Failure {
        match error {
            SharedError::Damaged { .. }
            | SharedError::Missing { .. }
            | SharedError::Local(_)
            | SharedError::BadName(_)
            | SharedError::NoRandom => Failure::internal(error),
            SharedError::Fenced { .. } | SharedError::NotOwner { .. } => {
                Failure::of_store(FailureKind::NotOwner, error)
            }
            _ => Failure::of_store(FailureKind::Unavailable, error),
        }
    }

    /// 503, with the advice to try again.
    fn of_store(kind: FailureKind, error: &dyn Error) -> Failure {
        Failure::new(kind, "service_unavailable", error.to_string())
            .with_header("retry-after", RETRY_AFTER)
    }
}

/// A failure of a shared store is one of another process or of the network, wherever it comes up.
fn from_cause(error: impl Error + 'static) -> Failure {
    match shared_cause(&error) {
        Some(cause) => Failure::from_shared(cause),
        None => Failure::internal(error),
    }
}

/// The error of a shared store that the storage's error has inside.
fn shared_cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e SharedError> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inside = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if let Some(found) = inside.and_then(|inside| inside.downcast_ref::<SharedError>()) {
            return Some(found);
        }
        next = error.source();
    }
    None
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
            false => from_cause(error),
        }
    }
}

impl From<SharedError> for Failure {
    fn from(error: SharedError) -> Failure {
        Failure::from_shared(&error)
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
