//! `_update`: a function of a design document changes a document and answers the request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use varve_docdb::{Accepted, Edit, Mode, Snapshot};
use varve_js::Updated;
use varve_json::{Object, Value};

use crate::couch::call::Call;
use crate::couch::document::text::{design_text, text_with_history};
use crate::couch::failures;
use crate::couch::functions::request_object::request_object;
use crate::couch::functions::scripts;
use crate::couch::functions::scripts::Script;
use crate::couch::functions::validate;
use crate::http::FailureKind;
use crate::{Answer, Failure};

/// Answers `/{db}/_design/{ddoc}/_update/{function}` and the same with a document's id behind it.
///
/// # Errors
/// 404 without such a function; 405 for GET; 500 if it fails; the refusals of edits.
pub fn answer(
    call: &Call,
    design: &str,
    function: &str,
    id: Option<&str>,
) -> Result<Answer, Failure> {
    if call.request.is_read() {
        let words = "Update functions do not allow GET";
        return Err(
            Failure::new(FailureKind::MethodNotAllowed, "method_not_allowed", words)
                .with_header("allow", "POST,PUT"),
        );
    }
    let snapshot = call.snapshot();
    let script = script_of(call, &snapshot, design, function)?;
    let document = id.map(|id| current(&snapshot, id)).transpose()?.flatten();
    let request = request_object(call, id)?;
    let returned = match scripts::update((&script, call.patience), document.as_deref(), &request)? {
        Updated::Returned(text) => text,
        Updated::NoResponse => return Err(failed("undefined response from update function")),
        Updated::Refused(text) => return Err(refusal(&text)),
    };
    let Ok(Value::Array(returned)) = varve_json::parse(returned.as_bytes()) else {
        return Err(failed("the function returned half of a surrogate pair"));
    };
    let mut returned = returned.into_iter();
    let accepted = match returned.next() {
        Some(Value::Object(document)) => Some(store(call, document)?),
        _ => None,
    };
    let response = returned.next().unwrap_or_default();
    respond(
        response.as_object().unwrap_or(&Object::new()),
        accepted.as_ref(),
    )
}

fn failed(reason: impl Into<String>) -> Failure {
    Failure::new(FailureKind::FunctionFailed, "render_error", reason)
}

/// An error that a function made itself.
fn refusal(text: &str) -> Failure {
    let parts = varve_json::parse(text.as_bytes()).unwrap_or_default();
    let part = |at: usize| match parts.as_array().and_then(|parts| parts.get(at)) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => varve_json::to_string(other),
        None => String::new(),
    };
    Failure::new(FailureKind::FunctionFailed, part(0), part(1))
}

fn script_of(
    call: &Call,
    snapshot: &Snapshot,
    design: &str,
    function: &str,
) -> Result<Script, Failure> {
    let text = design_text(snapshot, design)?;
    let design = varve_json::parse(&text)?;
    let missing = |key: &str| Failure::not_found(format!("missing json key: {key}"));
    let updates = design.get("updates").ok_or_else(|| missing("updates"))?;
    let source = updates.get(function).and_then(Value::as_str);
    let source = source.ok_or_else(|| missing(function))?;
    Ok(Script::new(source, &text, call.app.limits()))
}

/// The JSON text of a document's winner, with its history; `None` if there is none.
fn current(snapshot: &Snapshot, id: &str) -> Result<Option<Vec<u8>>, Failure> {
    let document = snapshot.document(id)?;
    let document = document.filter(|document| !document.is_deleted());
    let Some(document) = document else {
        return Ok(None);
    };
    let (rev, stored) = document.winner().ok_or_else(failures::missing)?;
    text_with_history(snapshot, &document, rev, stored).map(Some)
}

fn store(call: &Call, mut document: Object) -> Result<Accepted, Failure> {
    call.check_writer()?;
    document.remove("_revisions");
    let mut edit = Edit::new(None, document)?;
    // An edit without one is not complete.
    edit.set_id(edit.id().to_owned())?;
    let outcomes = validate::update(call, vec![edit], Mode::Interactive)?;
    let outcome = outcomes.into_iter().next();
    outcome.unwrap_or_else(|| Err(Failure::internal("the edit has no outcome")))
}

/// The answer that a function describes.
fn respond(response: &Object, accepted: Option<&Accepted>) -> Result<Answer, Failure> {
    let mut code = match accepted {
        Some(_) => StatusCode::CREATED,
        None => StatusCode::OK,
    };
    let (mut media, mut body) = ("text/html; charset=utf-8", Vec::new());
    let mut headers = &Object::new();
    for (name, value) in response.iter() {
        let unknown = || {
            let value = varve_json::to_string(value);
            let reason = format!("Invalid data from external server: {{\"{name}\":{value}}}");
            Failure::new(
                FailureKind::FunctionFailed,
                "external_response_error",
                reason,
            )
        };
        match (name, value) {
            ("code", value) => {
                let given = value.as_u64().and_then(|code| u16::try_from(code).ok());
                let given = given.filter(|code| *code >= 200);
                let given = given.and_then(|code| StatusCode::from_u16(code).ok());
                code = given.ok_or_else(unknown)?;
            }
            ("stop", Value::Bool(_)) => {}
            ("json", value) => {
                media = "application/json";
                body.clear();
                varve_json::write(value, &mut body);
            }
            ("body", Value::String(text)) => {
                media = "text/html; charset=utf-8";
                body = text.clone().into_bytes();
            }
            ("base64", Value::String(text)) => {
                media = "application/binary";
                body = STANDARD.decode(text).map_err(|_| unknown())?;
            }
            ("headers", Value::Object(given)) => headers = given,
            _ => return Err(unknown()),
        }
    }
    let mut answer = Answer::whole(code, media, body);
    answer.set_header("content-security-policy", "sandbox");
    set_headers(&mut answer, headers)?;
    if let Some(accepted) = accepted {
        answer.set_header("x-couch-update-newrev", &accepted.rev.to_string());
        answer.set_header("x-couch-id", &crate::couch::names::escape(&accepted.id));
    }
    Ok(answer)
}

/// Those that say how long the answer is are the server's.
fn set_headers(answer: &mut Answer, headers: &Object) -> Result<(), Failure> {
    for (name, value) in headers.iter() {
        let bad = || failed(format!("a response cannot have the header {name:?}"));
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let value = match value {
            Value::String(text) => text.clone(),
            other => varve_json::to_string(other),
        };
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad())?;
        let own = [
            "content-length",
            "transfer-encoding",
            "connection",
            "upgrade",
        ];
        if !own.contains(&known.as_str()) {
            answer.headers.insert(known, value);
        }
    }
    Ok(())
}
