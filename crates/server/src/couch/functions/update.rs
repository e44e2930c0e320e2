//! `_update`: a function of a design document changes a document and answers the request.

use hyper::StatusCode;
use varve_config::Csp;
use varve_docdb::{Accepted, Edit, Mode};
use varve_js::Updated;
use varve_json::{Object, Value};

use crate::couch::call::Call;
use crate::couch::functions::design::{DesignFunction, winner};
use crate::couch::functions::refusal::{failed, refusal};
use crate::couch::functions::request_object::request_object;
use crate::couch::functions::response::Response;
use crate::couch::functions::scripts;
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
    let found = DesignFunction::find(call, design, ("updates", function))?;
    let document = id.map(|id| winner(&snapshot, id)).transpose()?.flatten();
    let document = document.as_ref().map(|(_, text)| text.as_slice());
    let request = request_object(call, id)?;
    let returned = match scripts::update((&found.script, call.budget), document, &request)? {
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
        &call.app.settings().csp,
        response.as_object().unwrap_or(&Object::new()),
        accepted.as_ref(),
    )
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
fn respond(csp: &Csp, response: &Object, accepted: Option<&Accepted>) -> Result<Answer, Failure> {
    let usual = match accepted {
        Some(_) => StatusCode::CREATED,
        None => StatusCode::OK,
    };
    let mut answer = Response::read(response)?.into_answer(usual, csp);
    if let Some(accepted) = accepted {
        answer.set_header("x-couch-update-newrev", &accepted.rev.to_string());
        answer.set_header("x-couch-id", &crate::couch::names::escape(&accepted.id));
    }
    Ok(answer)
}
