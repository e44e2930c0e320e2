//! Errors of stores over S3.

use varve_shared::StoreError;

/// An answer of the store that is no success.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store answered {status} {code}{}{message}", if message.is_empty() { "" } else { ": " })]
pub struct Refusal {
    /// Status of HTTP.
    pub status: u16,
    /// S3's name of the error such as `AccessDenied`, empty if the answer has none.
    pub code: String,
    /// The store's explanation, which may be empty.
    pub message: String,
}

/// A store over S3 cannot be opened, or a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum S3Error {
    /// The text is no address.
    #[error("{address:?} is no address of S3: {reason}")]
    Address {
        /// As it was typed.
        address: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// A variable of the environment that must be set is not.
    #[error("{variable} is not set: {purpose}")]
    MissingVariable {
        /// The variable.
        variable: &'static str,
        /// Its purpose.
        purpose: &'static str,
    },
    /// A variable of the environment has a value that it cannot have.
    #[error("{variable} must be {expected}, not {found:?}")]
    BadVariable {
        /// The variable.
        variable: &'static str,
        /// Values that it may have.
        expected: &'static str,
        /// Its value.
        found: String,
    },
    /// A variable of the environment asks for something that is not there.
    #[error("{variable} is set, which is not supported: {instead}")]
    UnsupportedVariable {
        /// The variable.
        variable: &'static str,
        /// The way that is supported.
        instead: &'static str,
    },
    /// The file of certificate authorities cannot be used.
    #[error("cannot read the certificates of AWS_CA_BUNDLE={path}: {reason}")]
    Authorities {
        /// The file.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The HTTP client or its threads cannot be made.
    #[error("cannot make a client of S3: {0}")]
    Client(String),
    /// The bucket is not there.
    #[error("there is no bucket {bucket} at {endpoint}; make it first")]
    NoBucket {
        /// Name of the bucket.
        bucket: String,
        /// The server that was asked.
        endpoint: String,
    },
    /// The keys of access are wrong, or do not allow the request.
    #[error(
        "{0} (the key of AWS_ACCESS_KEY_ID must be allowed to list the bucket, and to get, put and delete its objects)"
    )]
    Forbidden(Refusal),
    /// The object, or the bucket, is not there.
    #[error("it is not there")]
    Absent,
    /// Another answer that is no success.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No answer, or none that S3 gives.
    #[error("no answer: {0}")]
    NoAnswer(String),
    /// An object is longer than any that Varve makes.
    #[error("an object of {len} bytes is longer than {limit}")]
    TooLong {
        /// Length in bytes; of an answer, those that were announced or had come.
        len: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A listing does not end.
    #[error("a listing has more than {0} pages")]
    EndlessListing(usize),
    /// A key that S3 cannot have.
    #[error("{0:?} is no key of an object")]
    BadKey(String),
}

impl S3Error {
    /// True if the same request may succeed in a moment.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            // 408 and 429: the client is slow, or asks too much. 409: another request changes the object now.
            S3Error::Refused(refusal) => {
                matches!(refusal.status, 408 | 409 | 429) || refusal.status >= 500
            }
            S3Error::NoAnswer(_) => true,
            _ => false,
        }
    }

    /// The error of a request for an object.
    pub(crate) fn of(self, op: &'static str, key: &str) -> StoreError {
        StoreError::new(op, key, self)
    }
}
