//! The request that takes the place of another.

use hyper::header::{HeaderMap, HeaderName};
use hyper::{Method, Uri};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::couch::functions::refusal::failed;
use crate::couch::functions::response;
use crate::couch::{longest_body, names, reads_while_arriving};
use crate::http::{FailureKind, Upload};
use crate::{CouchContext, Failure, Request};
use varve_json::Object;

/// Characters that a function's path may have and a URL may not.
const NOT_IN_URLS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Headers with the user, the address and the length of the body.
const KEPT: [&str; 13] = [
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "origin",
    "referer",
    "sec-fetch-site",
    "transfer-encoding",
    "upgrade",
    "x-http-method-override",
    "content-encoding",
];

/// Headers of the request before that say nothing of this one: its body is there already, without any coding.
const GONE: [&str; 5] = [
    "content-encoding",
    "content-length",
    "expect",
    "transfer-encoding",
    "x-http-method-override",
];

/// Where a request goes: the path as seen from the design document, and what differs from the request before.
#[derive(Debug, Default)]
pub struct Elsewhere {
    pub path: String,
    pub query: String,
    pub method: Option<Method>,
    pub headers: Object,
    pub body: Option<Vec<u8>>,
}

/// An answer that leads out of the database.
pub fn insecure() -> Failure {
    let words = "too many ../.. segments";
    Failure::new(FailureKind::FunctionFailed, "insecure_rewrite_rule", words)
}

impl Elsewhere {
    /// The path from the server's root on.
    pub fn absolute(&self, database: &str, design: &str) -> Vec<String> {
        let mut segments = vec![
            names::escape(database),
            "_design".to_owned(),
            names::escape(design),
        ];
        for segment in self.path.split('/') {
            match segment {
                "" | "." => {}
                ".." if segments.last().is_some_and(|last| last != "..") => {
                    segments.pop();
                }
                other => segments.push(utf8_percent_encode(other, NOT_IN_URLS).to_string()),
            }
        }
        segments
    }

    /// The request, sent by the same client.
    ///
    /// # Errors
    /// 500 for a path or headers that no request can have; 413 for a body that is too long there.
    pub fn request(
        self,
        app: &CouchContext,
        before: &Request,
        segments: &[String],
    ) -> Result<Request, Failure> {
        let query = utf8_percent_encode(&self.query, NOT_IN_URLS).to_string();
        let target = match query.as_str() {
            "" => format!("/{}", segments.join("/")),
            _ => format!("/{}?{query}", segments.join("/")),
        };
        let target: Uri = target
            .parse()
            .map_err(|error| failed(format!("no request can have the path: {error}")))?;
        let method = self.method.unwrap_or_else(|| before.method.clone());
        let headers = headers(&before.headers, &self.headers)?;
        let body = self.body.unwrap_or_else(|| before.body.clone());
        let mut request = Request::new(method, &target, headers, body)?;
        request.memory = before.memory.clone();
        request.peer = before.peer;
        request.is_encrypted = before.is_encrypted;
        request.is_proxied = before.is_proxied;
        request.mount = before.mount.clone();
        if reads_while_arriving(&request) {
            request.upload = Some(Upload::whole(std::mem::take(&mut request.body)));
        } else if request.body.len() as u64 > longest_body(app, &request) {
            return Err(Failure::too_large());
        }
        Ok(request)
    }
}

/// Headers of the request before, and those that a function sets.
fn headers(before: &HeaderMap, set: &Object) -> Result<HeaderMap, Failure> {
    let mut headers = before.clone();
    for name in GONE {
        headers.remove(name);
    }
    for (name, value) in response::headers(set)? {
        if !is_kept(&name) {
            headers.insert(name, value);
        }
    }
    Ok(headers)
}

fn is_kept(name: &HeaderName) -> bool {
    KEPT.contains(&name.as_str()) || name.as_str().starts_with("x-forwarded-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absolute(path: &str) -> String {
        let elsewhere = Elsewhere {
            path: path.to_owned(),
            ..Elsewhere::default()
        };
        elsewhere.absolute("a/b", "d e").join("/")
    }

    #[test]
    fn paths_begin_at_the_design_document() {
        for (path, expected) in [
            ("_show/x", "a%2Fb/_design/d%20e/_show/x"),
            ("/_show//x/.", "a%2Fb/_design/d%20e/_show/x"),
            ("../../doc", "a%2Fb/doc"),
            ("../../../_uuids", "_uuids"),
            ("../../../../_uuids", "../_uuids"),
            ("x/../y z/%2F\u{e9}", "a%2Fb/_design/d%20e/y%20z/%2F%C3%A9"),
        ] {
            assert_eq!(absolute(path), expected, "{path}");
        }
    }

    #[test]
    fn nothing_says_that_it_comes_from_elsewhere() {
        let mut before = HeaderMap::new();
        for (name, value) in [
            ("host", "here"),
            ("cookie", "a"),
            ("content-length", "3"),
            ("x-a", "b"),
        ] {
            before.insert(name, value.parse().unwrap());
        }
        let set = r#"{"Host":"there","Cookie":"c","Origin":"o","X-Forwarded-For":"1","Content-Type":"a/b","X-A":"c"}"#;
        let set = varve_json::parse_object(set.as_bytes()).unwrap();
        let after = headers(&before, &set).unwrap();
        let text = |name: &str| after.get(name).map(|value| value.to_str().unwrap());
        assert_eq!((text("host"), text("cookie")), (Some("here"), Some("a")));
        assert_eq!(
            (
                text("origin"),
                text("x-forwarded-for"),
                text("content-length")
            ),
            (None, None, None)
        );
        assert_eq!(
            (text("content-type"), text("x-a")),
            (Some("a/b"), Some("c"))
        );
    }
}
