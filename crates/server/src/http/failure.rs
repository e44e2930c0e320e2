//! A request that cannot be answered as asked, in the form that CouchDB's clients expect.

use crate::http::Answer;
use hyper::StatusCode;

/// CouchDB's word for a fault of the server.
const INTERNAL: &str = "internal_server_error";

/// An error answer: status, CouchDB's one-word `error`, and a `reason` for people.
///
/// Handlers return it as the `Err` of a `Result`; the router turns it into an [`Answer`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}: {reason}")]
pub struct Failure {
    /// HTTP status code.
    pub status: u16,
    /// CouchDB's word for it, such as `not_found`.
    pub error: String,
    /// What was wrong with this request.
    pub reason: String,
    /// Further headers, such as `Allow`.
    pub headers: Vec<(&'static str, String)>,
}

impl Failure {
    /// Any status with its word and reason.
    pub fn new(status: u16, error: impl Into<String>, reason: impl Into<String>) -> Self {
        Failure {
            status,
            error: error.into(),
            reason: reason.into(),
            headers: Vec::new(),
        }
    }

    /// 400 `bad_request`.
    pub fn bad_request(reason: impl Into<String>) -> Self {
        Self::new(400, "bad_request", reason)
    }

    /// 401 `unauthorized`.
    pub fn unauthorized(reason: impl Into<String>) -> Self {
        Self::new(401, "unauthorized", reason)
    }

    /// 403 `forbidden`.
    pub fn forbidden(reason: impl Into<String>) -> Self {
        Self::new(403, "forbidden", reason)
    }

    /// 404 `not_found`.
    pub fn not_found(reason: impl Into<String>) -> Self {
        Self::new(404, "not_found", reason)
    }

    /// 405 with the methods that this path knows, such as `GET,HEAD`.
    pub fn method_not_allowed(allowed: &str) -> Self {
        Self::new(405, "method_not_allowed", format!("Only {allowed} allowed"))
            .with_header("allow", allowed)
    }

    /// 415 for a body in a coding that nobody here reads.
    pub fn unknown_encoding() -> Self {
        Self::new(
            415,
            "bad_ctype",
            "only gzip and identity are known as Content-Encoding of a request",
        )
    }

    /// 413 for a body that is longer than the server takes.
    pub fn too_large() -> Self {
        Self::new(413, "too_large", "the request entity is too large")
    }

    /// 500 for a fault of the server or its files; the reason names the object and the cause.
    pub fn internal(reason: impl ToString) -> Self {
        Self::new(500, INTERNAL, reason.to_string())
    }

    /// Whether it is a fault of the server or its files.
    pub fn is_internal(&self) -> bool {
        self.error == INTERNAL
    }

    /// A fault of the server or its files gets to say which revision it is about.
    #[must_use]
    pub fn about(mut self, id: &str, rev: impl std::fmt::Display) -> Self {
        if self.is_internal() {
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

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Answer {
        let mut body = Vec::with_capacity(64 + failure.reason.len());
        body.extend_from_slice(b"{\"error\":");
        quote(&failure.error, &mut body);
        body.extend_from_slice(b",\"reason\":");
        quote(&failure.reason, &mut body);
        body.extend_from_slice(b"}\n");
        let status = StatusCode::from_u16(failure.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = Answer::json(status, body);
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
