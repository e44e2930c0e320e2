//! A request that cannot be answered as asked, in the form that CouchDB's clients expect.

use crate::http::Answer;
use hyper::StatusCode;
use std::io;
use varve_base::StorageError;

/// Kinds of failure that the server itself distinguishes. CouchDB's word and the reason are text for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// 400: the request makes no sense as it is.
    BadRequest,
    /// 401: a login could help.
    Unauthorized,
    /// 403: a login does not help.
    Forbidden,
    /// 404.
    NotFound,
    /// 405.
    MethodNotAllowed,
    /// 406: no type that the client takes.
    NotAcceptable,
    /// 408: the client did not send its request in time.
    RequestTimeout,
    /// 409: an edit of a revision that is not the newest.
    Conflict,
    /// 410: a feature that CouchDB once had.
    Gone,
    /// 412: the object is there already, or an attachment stub has nothing behind it.
    PreconditionFailed,
    /// 413: past a configured limit.
    TooLarge,
    /// 415: a content type or coding that the server does not read.
    UnsupportedType,
    /// 416.
    RangeNotSatisfiable,
    /// 500: a function of a design document failed or refused.
    FunctionFailed,
    /// 500: the server or its files are at fault.
    Internal,
    /// 500: the file of an index is damaged; it is built anew.
    IndexDamaged,
    /// 500, as CouchDB has it: a replication failed, by one of its sides.
    ReplicationFailed,
    /// 500, as CouchDB has it: the answer took longer than the settings allow.
    Timeout,
    /// 503: the index is not built any more, because no design document needs it or the server stops.
    IndexAbandoned,
    /// 503: a service that this server does not have, or a shared store that does not answer.
    Unavailable,
    /// 503: another process owns the database; what was asked for is certainly not done.
    NotOwner,
    /// 503: too many connections or requests at this moment.
    Overloaded,
    /// 507: the disk is full.
    NoSpace,
    /// Never sent: a function needs more time than a thread for all requests has for it, and the request is done again
    /// on one of those for long functions.
    NeedsTime,
    /// Never sent: an attempt to answer from memory ended, and the request is done again on a blocking thread.
    WouldBlock,
}

/// Seconds after which a client that was one too many may come again.
const RETRY_AFTER: &str = "1";

impl FailureKind {
    /// The HTTP status of answers of this kind.
    pub fn status(self) -> StatusCode {
        match self {
            FailureKind::BadRequest => StatusCode::BAD_REQUEST,
            FailureKind::Unauthorized => StatusCode::UNAUTHORIZED,
            FailureKind::Forbidden => StatusCode::FORBIDDEN,
            FailureKind::NotFound => StatusCode::NOT_FOUND,
            FailureKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            FailureKind::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            FailureKind::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            FailureKind::Conflict => StatusCode::CONFLICT,
            FailureKind::Gone => StatusCode::GONE,
            FailureKind::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            FailureKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            FailureKind::UnsupportedType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            FailureKind::RangeNotSatisfiable => StatusCode::RANGE_NOT_SATISFIABLE,
            FailureKind::FunctionFailed
            | FailureKind::Internal
            | FailureKind::IndexDamaged
            | FailureKind::ReplicationFailed
            | FailureKind::Timeout => StatusCode::INTERNAL_SERVER_ERROR,
            FailureKind::IndexAbandoned
            | FailureKind::Unavailable
            | FailureKind::NotOwner
            | FailureKind::Overloaded
            | FailureKind::NeedsTime
            | FailureKind::WouldBlock => StatusCode::SERVICE_UNAVAILABLE,
            FailureKind::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        }
    }

    /// Whether the client has done nothing wrong: the operator hears of it.
    pub fn is_server_fault(self) -> bool {
        match self {
            FailureKind::FunctionFailed
            | FailureKind::Internal
            | FailureKind::IndexDamaged
            | FailureKind::Timeout
            | FailureKind::IndexAbandoned
            | FailureKind::Unavailable
            | FailureKind::NotOwner
            | FailureKind::NoSpace
            | FailureKind::NeedsTime
            | FailureKind::WouldBlock => true,
            FailureKind::BadRequest
            | FailureKind::Unauthorized
            | FailureKind::Forbidden
            | FailureKind::NotFound
            | FailureKind::MethodNotAllowed
            | FailureKind::NotAcceptable
            | FailureKind::ReplicationFailed
            | FailureKind::RequestTimeout
            | FailureKind::Overloaded
            | FailureKind::Conflict
            | FailureKind::Gone
            | FailureKind::PreconditionFailed
            | FailureKind::TooLarge
            | FailureKind::UnsupportedType
            | FailureKind::RangeNotSatisfiable => false,
        }
    }
}

/// An error answer: its kind, CouchDB's one-word `error`, and a `reason` for people.
///
/// Handlers return it as the `Err` of a `Result`; the router turns it into an [`Answer`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}: {reason}")]
pub struct Failure {
    /// Decides the status, and how the server itself reacts.
    pub kind: FailureKind,
    /// CouchDB's word for it, such as `not_found`. For the client only.
    pub error: String,
    /// Explanation of this failure, for the client only.
    pub reason: String,
    /// Further headers, such as `Allow`.
    pub headers: Vec<(&'static str, String)>,
}

impl Failure {
    /// Any kind with its word and reason.
    pub fn new(kind: FailureKind, error: impl Into<String>, reason: impl Into<String>) -> Self {
        Failure {
            kind,
            error: error.into(),
            reason: reason.into(),
            headers: Vec::new(),
        }
    }

    /// A cached attempt needs the disk, or work that takes long.
    pub(crate) fn would_block() -> Self {
        Self::new(
            FailureKind::WouldBlock,
            "would_block",
            "the read would block",
        )
    }

    /// Whether the same request may succeed where it may wait.
    pub(crate) fn is_would_block(&self) -> bool {
        self.kind == FailureKind::WouldBlock
    }

    /// 400 `bad_request`.
    pub fn bad_request(reason: impl Into<String>) -> Self {
        Self::new(FailureKind::BadRequest, "bad_request", reason)
    }

    /// 401 `unauthorized`.
    pub fn unauthorized(reason: impl Into<String>) -> Self {
        Self::new(FailureKind::Unauthorized, "unauthorized", reason)
    }

    /// 403 `forbidden`.
    pub fn forbidden(reason: impl Into<String>) -> Self {
        Self::new(FailureKind::Forbidden, "forbidden", reason)
    }

    /// 404 `not_found`.
    pub fn not_found(reason: impl Into<String>) -> Self {
        Self::new(FailureKind::NotFound, "not_found", reason)
    }

    /// 405 with the methods that this path knows, such as `GET,HEAD`.
    pub fn method_not_allowed(allowed: &str) -> Self {
        Self::new(
            FailureKind::MethodNotAllowed,
            "method_not_allowed",
            format!("Only {allowed} allowed"),
        )
        .with_header("allow", allowed)
    }

    /// 415 for a body in an encoding that the server does not read there.
    pub fn unknown_encoding(known: &str) -> Self {
        Self::new(
            FailureKind::UnsupportedType,
            "bad_ctype",
            format!("only {known} are known as Content-Encoding here"),
        )
    }

    /// 408 for a client that takes too long; the connection cannot be used any more.
    pub fn request_timeout(reason: impl Into<String>) -> Self {
        Self::new(FailureKind::RequestTimeout, "request_timeout", reason)
            .with_header("connection", "close")
    }

    /// 503 for a request or connection that is one too many at this moment.
    pub fn overloaded(reason: impl Into<String>) -> Self {
        Self::new(FailureKind::Overloaded, "service_unavailable", reason)
            .with_header("retry-after", RETRY_AFTER)
    }

    /// 413 for a body that is longer than the server takes.
    pub fn too_large() -> Self {
        Self::new(
            FailureKind::TooLarge,
            "too_large",
            "the request entity is too large",
        )
    }

    /// 500 for a fault of the server or its files; the reason names the object and the cause.
    pub fn internal(reason: impl ToString) -> Self {
        Self::new(
            FailureKind::Internal,
            "internal_server_error",
            reason.to_string(),
        )
    }

    /// The HTTP status of the answer.
    pub fn status(&self) -> StatusCode {
        self.kind.status()
    }

    /// A fault of the server or its files gets to say which revision it is about.
    #[must_use]
    pub fn about(mut self, id: &str, rev: impl std::fmt::Display) -> Self {
        if self.kind == FailureKind::Internal {
            self.reason = format!("document {id:?}, revision {rev}: {}", self.reason);
        }
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A spooled body cannot be read, or does not fit its `Content-Encoding`.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        let cause = error.get_ref();
        if let Some(failure) = cause.and_then(|cause| cause.downcast_ref::<Failure>()) {
            return failure.clone();
        }
        match cause {
            Some(cause) if cause.is::<StorageError>() => Failure::internal(cause),
            _ => Failure::bad_request(format!("cannot read the body: {error}")),
        }
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Answer {
        let mut body = Vec::with_capacity(64 + failure.reason.len());
        body.extend_from_slice(b"{\"error\":");
        quote(&failure.error, &mut body);
        body.extend_from_slice(b",\"reason\":");
        quote(&failure.reason, &mut body);
        body.extend_from_slice(b"}\n");
        let mut answer = Answer::json(failure.kind.status(), body);
        for (name, value) in failure.headers {
            answer.set_header(name, &value);
        }
        answer
    }
}

/// Appends `text` as a JSON string, non-ASCII characters as they are.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..=0x1f | 0x7f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_with_quotes_stays_json() {
        let answer = Answer::from(Failure::bad_request("no \"x\"\n\u{1}\\ é"));
        assert_eq!(
            std::str::from_utf8(answer.whole_body().unwrap()).unwrap(),
            "{\"error\":\"bad_request\",\"reason\":\"no \\\"x\\\"\\n\\u0001\\\\ é\"}\n"
        );
    }

    #[test]
    fn a_wrong_method_names_the_right_ones() {
        let failure = Failure::method_not_allowed("GET,HEAD");
        assert_eq!(failure.reason, "Only GET,HEAD allowed");
        let answer = Answer::from(failure);
        assert_eq!(answer.status.as_u16(), 405);
        assert_eq!(answer.headers["allow"], "GET,HEAD");
    }
}
