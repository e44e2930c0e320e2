//! JSONP: JSON as a script that calls a function of the page, where `[chttpd] allow_jsonp` lets it be.

use crate::{Answer, Failure, Request};

/// A comment before the call, as CouchDB has it: without it, the name would be the first bytes of the answer, and some
/// plugins of browsers could be made to take them for their own format.
const BEFORE: &str = "/* CouchDB */";

/// The function that a request wants called; `None` without one.
///
/// # Errors
/// 400 for a name that could be more than the path of a function.
pub(crate) fn callback(request: &Request) -> Result<Option<String>, Failure> {
    let Some(name) = request.query("callback").filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"._[]".contains(&byte);
    match name.bytes().all(is_of_names) {
        true => Ok(Some(name.to_owned())),
        false => Err(Failure::bad_request("invalid_callback")),
    }
}

/// Makes a call of an answer in JSON; others stay as they are.
pub(crate) fn wrap(answer: &mut Answer, callback: &str) {
    let kind = answer.headers.get("content-type");
    if kind.is_none_or(|kind| kind != "application/json") {
        return;
    }
    answer.set_header("content-type", "application/javascript");
    answer.set_header("x-content-type-options", "nosniff");
    answer.surround(&format!("{BEFORE}{callback}("), ");\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::{HeaderMap, Method, StatusCode};

    fn named(query: &str) -> Result<Option<String>, Failure> {
        let uri = format!("/db?{query}").parse().unwrap();
        callback(&Request::new(Method::GET, &uri, HeaderMap::new(), Vec::new()).unwrap())
    }

    #[test]
    fn only_paths_of_functions_are_called() {
        for name in ["f", "a.b[0]", "_x9", "A"] {
            let found = named(&format!("callback={name}")).unwrap();
            assert_eq!(found.as_deref(), Some(name));
        }
        assert_eq!(named("callback=").unwrap(), None);
        assert_eq!(named("a=b").unwrap(), None);
        for hostile in [
            "f()",
            "a%3Balert(1)",
            "f%0A",
            "%3Cscript%3E",
            "f%20g",
            "%C3%A9",
        ] {
            let refused = named(&format!("callback={hostile}")).unwrap_err();
            assert_eq!(refused.reason, "invalid_callback", "{hostile}");
        }
    }

    #[test]
    fn json_alone_becomes_a_call() {
        let mut answer = Answer::ok(StatusCode::NOT_FOUND);
        wrap(&mut answer, "f");
        assert_eq!(answer.headers["content-type"], "application/javascript");
        let body = answer.whole_body().unwrap();
        assert_eq!(body, b"/* CouchDB */f({\"ok\":true});\n");
        let mut text = Answer::text(StatusCode::OK, "words");
        wrap(&mut text, "f");
        assert_eq!(text.whole_body().unwrap(), b"words");
    }
}
