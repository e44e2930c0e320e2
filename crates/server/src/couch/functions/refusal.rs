//! Errors that functions make themselves, and those of running them.

use varve_js::JsError;
use varve_json::Value;

use crate::Failure;
use crate::http::FailureKind;

/// A function's answer makes no sense.
pub fn failed(reason: impl Into<String>) -> Failure {
    Failure::new(FailureKind::FunctionFailed, "render_error", reason)
}

/// An error that a function threw: JSON text of an array of a word and a reason. Words that CouchDB has itself have
/// the status that they have there.
pub fn refusal(text: &str) -> Failure {
    let parts = varve_json::parse(text.as_bytes()).unwrap_or_default();
    let part = |at: usize| match parts.as_array().and_then(|parts| parts.get(at)) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => varve_json::to_string(other),
        None => String::new(),
    };
    let word = part(0);
    let kind = match word.as_str() {
        "bad_request" | "query_parse_error" => FailureKind::BadRequest,
        "unauthorized" => FailureKind::Unauthorized,
        "forbidden" => FailureKind::Forbidden,
        "not_found" => FailureKind::NotFound,
        "not_acceptable" => FailureKind::NotAcceptable,
        "conflict" => FailureKind::Conflict,
        "file_exists" => FailureKind::PreconditionFailed,
        "bad_content_type" => FailureKind::UnsupportedType,
        _ => FailureKind::FunctionFailed,
    };
    Failure::new(kind, word, part(1))
}

/// An error of a function that answers a request.
pub fn of_engine(error: JsError) -> Failure {
    let (word, reason) = match error {
        JsError::Compile { .. } => ("compilation_error", error.to_string()),
        JsError::Start { .. } => return Failure::internal(error),
        JsError::Time { .. } => ("os_process_error", "OS process timed out.".to_owned()),
        JsError::Memory { .. } | JsError::Stack { .. } => ("os_process_error", error.to_string()),
        other => ("render_error", format!("function raised error: {other}")),
    };
    Failure::new(FailureKind::FunctionFailed, word, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_couchdb_have_its_status_and_others_are_faults() {
        for (text, status) in [
            (r#"["not_found","a"]"#, 404),
            (r#"["not_acceptable","a"]"#, 406),
            (r#"["forbidden",{"a":1}]"#, 403),
            (r#"["teapot","a"]"#, 500),
            (r#"[]"#, 500),
            ("", 500),
        ] {
            assert_eq!(refusal(text).status(), status, "{text}");
        }
        let odd = refusal(r#"[{"a":1},null]"#);
        assert_eq!(
            (odd.error.as_str(), odd.reason.as_str()),
            ("{\"a\":1}", "null")
        );
    }
}
