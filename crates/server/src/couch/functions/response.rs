//! Responses that functions describe.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{
    CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY_REPORT_ONLY, CONTENT_TYPE, HeaderName,
    HeaderValue,
};
use varve_config::Csp;
use varve_json::{Object, Value};

use crate::couch::etag;
use crate::couch::functions::refusal::failed;
use crate::http::FailureKind;
use crate::{Answer, Failure};

/// Headers that say how an answer is sent, which the server knows.
const OWN: [&str; 4] = [
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
];
/// Bytes that names and values of all headers may have together.
const MOST_HEADERS: usize = 64 << 10;

/// A response of a function.
#[derive(Debug)]
pub struct Response {
    code: Option<StatusCode>,
    media: &'static str,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Vec<u8>,
}

impl Response {
    /// Reads what a function has returned.
    ///
    /// # Errors
    /// 500 for an unknown member, or headers that no answer can have.
    pub fn read(response: &Object) -> Result<Response, Failure> {
        let mut read = Response {
            code: None,
            media: "application/json",
            headers: Vec::new(),
            body: Vec::new(),
        };
        for (name, value) in response.iter() {
            read.member(name, value)?;
        }
        Ok(read)
    }

    /// The same of JSON text.
    ///
    /// # Errors
    /// As [`Response::read`].
    pub fn parse(text: &str) -> Result<Response, Failure> {
        match varve_json::parse(text.as_bytes()) {
            Ok(Value::Object(response)) => Response::read(&response),
            Ok(_) => Err(failed("the response is no object")),
            Err(_) => Err(failed("the function returned half of a surrogate pair")),
        }
    }

    fn member(&mut self, name: &str, value: &Value) -> Result<(), Failure> {
        let unknown = || {
            let value = varve_json::to_string(value);
            let reason = format!("Invalid data from external server: {{\"{name}\":{value}}}");
            let word = "external_response_error";
            Failure::new(FailureKind::FunctionFailed, word, reason)
        };
        match (name, value) {
            ("code", value) => {
                let given = value.as_u64().and_then(|code| u16::try_from(code).ok());
                let given = given.filter(|code| *code >= 200);
                let given = given.and_then(|code| StatusCode::from_u16(code).ok());
                self.code = Some(given.ok_or_else(unknown)?);
            }
            ("stop", Value::Bool(_)) => {}
            ("json", value) => {
                self.media = "application/json";
                self.body.clear();
                varve_json::write(value, &mut self.body);
            }
            ("body", Value::String(text)) => {
                self.media = "text/html; charset=utf-8";
                self.body = text.clone().into_bytes();
            }
            ("base64", Value::String(text)) => {
                self.media = "application/binary";
                self.body = STANDARD.decode(text).map_err(|_| unknown())?;
            }
            ("headers", Value::Object(given)) => self.headers = headers(given)?,
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// The answer, with this status if the function has chosen none.
    pub fn into_answer(self, usual: StatusCode, csp: &Csp) -> Answer {
        let code = self.code.unwrap_or(usual);
        let mut answer = Answer::whole(code, self.media, self.body);
        set_headers(&mut answer, self.headers, csp);
        answer
    }

    /// Status and headers of an answer whose body comes otherwise; with the type, unless the function has chosen one.
    pub fn into_head(self, csp: &Csp) -> Answer {
        self.into_answer(StatusCode::OK, csp)
    }
}

/// 304 with the tag, and the policy that the page has now: browsers take it for the page that they have kept.
pub fn not_modified(tag: &str, csp: &Csp) -> Answer {
    let mut answer = etag::not_modified(tag);
    set_headers(&mut answer, Vec::new(), csp);
    answer
}

/// Sets headers of a function, and the policy that keeps its page from acting in the name of its reader.
pub fn set_headers(answer: &mut Answer, given: Vec<(HeaderName, HeaderValue)>, csp: &Csp) {
    if let Some((name, value)) = csp.for_functions() {
        answer.set_header(name, value);
    }
    for (name, value) in given {
        if name == CONTENT_SECURITY_POLICY || name == CONTENT_SECURITY_POLICY_REPORT_ONLY {
            // A browser keeps to all policies of an answer: a function's own one does not open the sandbox.
            answer.headers.append(name, value);
        } else {
            answer.headers.insert(name, value);
        }
    }
}

/// Headers without those that say how long the answer is. None can break out of its line.
///
/// # Errors
/// 500.
pub fn headers(given: &Object) -> Result<Vec<(HeaderName, HeaderValue)>, Failure> {
    let mut headers = Vec::new();
    let mut room = MOST_HEADERS;
    for (name, value) in given.iter() {
        let bad = || failed(format!("a response cannot have the header {name:?}"));
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let value = match value {
            Value::String(text) => text.clone(),
            other => varve_json::to_string(other),
        };
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad())?;
        let len = known.as_str().len() + value.len();
        room = room
            .checked_sub(len)
            .ok_or_else(|| failed(format!("the headers have more than {MOST_HEADERS} bytes")))?;
        // An empty type would have readers guess.
        let is_empty_type = known == CONTENT_TYPE && value.is_empty();
        if !OWN.contains(&known.as_str()) && !is_empty_type {
            headers.push((known, value));
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Result<Answer, String> {
        let response = Response::parse(text).map_err(|failure| failure.reason)?;
        Ok(response.into_answer(StatusCode::OK, &Csp::default()))
    }

    #[test]
    fn a_response_has_the_type_of_its_body_unless_it_names_one() {
        for (text, media) in [
            ("{}", "application/json"),
            ("{\"body\":\"\"}", "text/html; charset=utf-8"),
            ("{\"json\":null}", "application/json"),
            ("{\"base64\":\"AA==\"}", "application/binary"),
            (
                "{\"headers\":{\"Content-Type\":\"a/b\"},\"body\":\"\"}",
                "a/b",
            ),
        ] {
            assert_eq!(
                answer(text).unwrap().headers["content-type"],
                media,
                "{text}"
            );
        }
    }

    #[test]
    fn headers_stay_in_their_lines_and_are_not_those_of_the_server() {
        for text in [
            r#"{"headers":{"a":"b\r\nset-cookie: c"}}"#,
            r#"{"headers":{"a":"b\nc"}}"#,
            r#"{"headers":{"a\r\nb":"c"}}"#,
            r#"{"headers":{"a:b":"c"}}"#,
        ] {
            let words = answer(text).unwrap_err();
            assert!(
                words.starts_with("a response cannot have the header"),
                "{words}"
            );
        }
        let long = format!("{{\"headers\":{{\"a\":\"{}\"}}}}", "x".repeat(MOST_HEADERS));
        assert_eq!(
            answer(&long).unwrap_err(),
            "the headers have more than 65536 bytes"
        );
        let own = r#"{"headers":{"Content-Length":"7","Connection":"close","X":1},"code":404}"#;
        let own = answer(own).unwrap();
        assert_eq!(own.status, StatusCode::NOT_FOUND);
        assert_eq!(own.headers["x"], "1");
        assert!(
            own.headers.get("connection").is_none() && own.headers.get("content-length").is_none()
        );
    }

    #[test]
    fn a_policy_of_the_function_does_not_open_the_sandbox() {
        let own = r#"{"headers":{"Content-Security-Policy":"sandbox allow-scripts"}}"#;
        let own = answer(own).unwrap();
        let policies = own.headers.get_all(CONTENT_SECURITY_POLICY).iter();
        let expected = ["sandbox", "sandbox allow-scripts"];
        assert_eq!(policies.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_no_response_has_is_refused() {
        for text in [
            "{\"code\":99}",
            "{\"code\":\"200\"}",
            "{\"headers\":1}",
            "{\"colour\":1}",
            "{\"base64\":\"?\"}",
        ] {
            let words = answer(text).unwrap_err();
            assert!(
                words.starts_with("Invalid data from external server"),
                "{words}"
            );
        }
        assert!(answer("[]").is_err() && answer("{\"body\":\"\\ud800\"}").is_err());
    }
}
