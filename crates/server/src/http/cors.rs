//! Which pages of other sites may use this server from a browser, as `[cors]` says.

use crate::http::{Answer, Request};
use hyper::header::VARY;
use hyper::{Method, StatusCode};
use varve_config::Cors;

/// Methods that scripts may use unless `[cors] methods` names others.
const METHODS: &str = "GET, HEAD, POST, PUT, DELETE, COPY, OPTIONS";
/// Headers that every CouchDB client sends.
const HEADERS: &[&str] = &[
    "accept",
    "authorization",
    "content-type",
    "if-match",
    "if-none-match",
    "origin",
    "referer",
    "x-requested-with",
];
/// Headers of answers that scripts may read.
const EXPOSED: &str = "content-type, cache-control, accept-ranges, etag, location, server, \
                       x-couch-request-id, x-couchdb-body-time";

/// CORS grant for one request's origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Granted<'a> {
    cors: &'a Cors,
    origin: String,
}

/// The grant for a request; `None` if it comes from no other site, or from one that is not allowed.
pub(crate) fn grant<'a>(cors: Option<&'a Cors>, request: &Request) -> Option<Granted<'a>> {
    let cors = cors?;
    let origin = request.header("origin")?;
    let allowed = |known: &String| known == "*" || known.eq_ignore_ascii_case(origin);
    cors.origins.iter().any(allowed).then(|| Granted {
        cors,
        origin: origin.to_owned(),
    })
}

impl Granted<'_> {
    /// The answer to a browser's question whether a request would be allowed; `None` if this
    /// request is not such a question.
    pub(crate) fn preflight(&self, request: &Request) -> Option<Answer> {
        let asked = request.header("access-control-request-method")?;
        if request.method != Method::OPTIONS {
            return None;
        }
        let mut answer = Answer::whole(StatusCode::NO_CONTENT, "", Vec::new());
        let methods = match self.cors.methods.as_slice() {
            [] => METHODS.to_owned(),
            methods => methods.join(", "),
        };
        if methods.split(", ").any(|method| method == asked) {
            let known = HEADERS.iter().map(|&name| name.to_owned());
            let own = self
                .cors
                .headers
                .iter()
                .map(|name| name.to_ascii_lowercase());
            let headers: Vec<String> = known.chain(own).collect();
            answer.set_header("access-control-allow-methods", &methods);
            answer.set_header("access-control-allow-headers", &headers.join(", "));
            let age = self.cors.max_age.as_secs().to_string();
            answer.set_header("access-control-max-age", &age);
        }
        self.mark(&mut answer);
        Some(answer)
    }

    /// Adds the permission to any answer.
    pub(crate) fn mark(&self, answer: &mut Answer) {
        answer.set_header("access-control-allow-origin", &self.origin);
        answer.set_header("access-control-expose-headers", EXPOSED);
        if self.cors.credentials {
            answer.set_header("access-control-allow-credentials", "true");
        }
        // The answer differs by origin, which caches must know.
        let varies = hyper::header::HeaderValue::from_static("Origin");
        answer.headers.append(VARY, varies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderMap, HeaderName};
    use std::time::Duration;

    fn cors(origins: &[&str]) -> Cors {
        Cors {
            origins: origins.iter().map(|&origin| origin.to_owned()).collect(),
            credentials: true,
            headers: vec!["X-Mine".into()],
            methods: Vec::new(),
            max_age: Duration::from_secs(60),
        }
    }

    fn request(method: Method, headers: &[(&'static str, &str)]) -> Request {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let headers = HeaderMap::from_iter(headers);
        Request::new(method, &"/db".parse().unwrap(), headers, Vec::new()).unwrap()
    }

    #[test]
    fn only_listed_origins_are_granted_anything() {
        let ours = request(Method::GET, &[("origin", "https://app.test")]);
        assert!(grant(None, &ours).is_none());
        assert!(grant(Some(&cors(&["https://other.test"])), &ours).is_none());
        assert!(grant(Some(&cors(&["*"])), &request(Method::GET, &[])).is_none());
        let listed = cors(&["https://app.test"]);
        let granted = grant(Some(&listed), &ours).unwrap();
        assert_eq!(granted.preflight(&ours).map(|a| a.status), None);
        let mut answer = Answer::ok(StatusCode::OK);
        granted.mark(&mut answer);
        assert_eq!(
            answer.headers["access-control-allow-origin"],
            "https://app.test"
        );
        assert_eq!(answer.headers["access-control-allow-credentials"], "true");
    }

    #[test]
    fn a_preflight_is_answered_with_methods_and_headers() {
        let any = cors(&["*"]);
        let asked = [
            ("origin", "https://a.test"),
            ("access-control-request-method", "PUT"),
        ];
        let question = request(Method::OPTIONS, &asked);
        let answer = grant(Some(&any), &question)
            .unwrap()
            .preflight(&question)
            .unwrap();
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
        let headers = answer.headers["access-control-allow-headers"]
            .to_str()
            .unwrap();
        assert!(
            headers.contains("authorization") && headers.ends_with("x-mine"),
            "{headers}"
        );
        let asked = [
            ("origin", "https://a.test"),
            ("access-control-request-method", "TRACE"),
        ];
        let question = request(Method::OPTIONS, &asked);
        let answer = grant(Some(&any), &question)
            .unwrap()
            .preflight(&question)
            .unwrap();
        assert!(!answer.headers.contains_key("access-control-allow-methods"));
    }
}
