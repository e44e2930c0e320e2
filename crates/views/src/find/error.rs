//! Queries by selector that cannot be answered.

use crate::selector::SelectorError;
use varve_json::{Object, Value};

/// A request that cannot be used. `Display` is the reason that the client is given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The selector is not understood.
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// A member that must be there is not.
    #[error("Missing required key: {key}")]
    Missing {
        /// Name of the member.
        key: &'static str,
    },
    /// A member that means nothing.
    #[error("Invalid key {key} for this request.")]
    UnknownKey {
        /// Name of the member.
        key: String,
    },
    /// A member has a value of the wrong kind.
    #[error("{reason}")]
    Value {
        /// CouchDB's name of the error.
        word: &'static str,
        /// CouchDB's words.
        reason: String,
    },
    /// A kind of index that this server does not have.
    #[error("{kind}")]
    NoService {
        /// Value of `type` in the definition.
        kind: String,
    },
    /// No index gives the order that is asked for.
    #[error("No index exists for this sort, try indexing by the sort fields.")]
    NoSort,
    /// No index by partition does.
    #[error("No partitioned index exists for this sort, try indexing by the sort fields.")]
    NoSortInPartition,
    /// No index over all partitions does.
    #[error("No global index exists for this sort, try indexing by the sort fields.")]
    NoGlobalSort,
    /// A design document's indexes are kept by partition, or are not, unlike the one that is asked for.
    #[error(
        "Requested partitioned option does not match existing value on design document {design}"
    )]
    PartitionedMismatch {
        /// Id of the design document.
        design: String,
    },
    /// A name that no partition has.
    #[error(transparent)]
    Partition(#[from] varve_docdb::PartitionError),
    /// No index can be used, and all documents must not be read instead.
    #[error("There is no index available for this selector.")]
    NoIndex,
    /// A design document holds functions and is not one of json indexes.
    #[error("Invalid design document query language.")]
    Language,
    /// A design document holds functions and takes no json indexes.
    #[error("Existing design doc has an invalid language: {found}")]
    DesignLanguage {
        /// The JSON text of its language, or `false` if it says none.
        found: String,
    },
}

impl FindError {
    /// CouchDB's one-word name of the error.
    pub fn name(&self) -> &'static str {
        match self {
            FindError::Selector(error) => error.error(),
            FindError::Missing { .. } => "missing_required_key",
            FindError::UnknownKey { .. } => "invalid_key",
            FindError::Value { word, .. } => word,
            FindError::NoService { .. } => "required_index_service_unavailable",
            FindError::NoSort
            | FindError::NoSortInPartition
            | FindError::NoGlobalSort
            | FindError::NoIndex => "no_usable_index",
            FindError::PartitionedMismatch { .. } => "invalid_partitioned_option",
            FindError::Partition(_) => "illegal_partition",
            FindError::Language => "invalid_query_ddoc_language",
            FindError::DesignLanguage { .. } => "invalid_ddoc_lang",
        }
    }

    /// A member of the wrong kind: `words`, then its JSON text.
    pub(crate) fn value(word: &'static str, words: &str, value: &Value) -> Self {
        FindError::Value {
            word,
            reason: format!("{words}{}", varve_json::to_string(value)),
        }
    }

    /// Refuses members that are not known.
    pub(crate) fn check_keys(body: &Object, known: impl Fn(&str) -> bool) -> Result<(), Self> {
        match body.iter().find(|(key, _)| !known(key)) {
            None => Ok(()),
            Some((key, _)) => Err(FindError::UnknownKey {
                key: key.to_owned(),
            }),
        }
    }
}
