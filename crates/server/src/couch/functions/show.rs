//! `_show`: a function of a design document answers the request, perhaps about a document.

use hyper::StatusCode;
use varve_js::Rendered;

use crate::couch::call::Call;
use crate::couch::etag;
use crate::couch::functions::design::{DesignFunction, winner};
use crate::couch::functions::refusal::refusal;
use crate::couch::functions::request_object::request_object;
use crate::couch::functions::response::{Response, not_modified};
use crate::couch::functions::scripts;
use crate::{Answer, Failure};

/// Answers `/{db}/_design/{ddoc}/_show/{function}` and the same with a document's id behind it.
///
/// # Errors
/// 404 without such a function; what the function throws; 500 if it fails.
pub fn answer(
    call: &Call,
    design: &str,
    function: &str,
    id: Option<&str>,
) -> Result<Answer, Failure> {
    let snapshot = call.snapshot();
    let found = DesignFunction::find(call, design, ("shows", function))?;
    let document = id.map(|id| winner(&snapshot, id)).transpose()?.flatten();
    let (rev, document) = document.unzip();
    let tag = tag(call, &found, &[rev.unwrap_or_default().as_bytes()]);
    if call.request.is_read() && etag::matches(&call.request, &tag) {
        let answer = not_modified(&tag, &call.app.settings().csp);
        return Ok(marked(answer, &tag));
    }
    let request = request_object(call, id)?;
    match scripts::show((&found.script, call.budget), document.as_deref(), &request)? {
        Rendered::Returned(text) => {
            let answer = Response::parse(&text)?;
            let answer = answer.into_answer(StatusCode::OK, &call.app.settings().csp);
            Ok(marked(answer, &tag))
        }
        Rendered::Refused(text) => Err(refusal(&text)),
    }
}

/// Entity tag of all that the answer of a function depends on, as far as CouchDB sees it, and of `parts`.
pub fn tag(call: &Call, function: &DesignFunction, parts: &[&[u8]]) -> String {
    let request = &call.request;
    let name = call.user.name.as_deref().unwrap_or_default();
    let roles = call.user.roles.join("\n");
    let path = request.path().join("/");
    let of_all = [
        call.database.incarnation.as_bytes(),
        function.rev.as_bytes(),
        path.as_bytes(),
        request.raw_query.as_bytes(),
        request.header("accept").unwrap_or_default().as_bytes(),
        name.as_bytes(),
        roles.as_bytes(),
    ];
    etag::opaque(&[&of_all, parts].concat())
}

/// The headers that no function decides.
pub fn marked(answer: Answer, tag: &str) -> Answer {
    answer
        .with_header("etag", tag)
        .with_header("vary", "Accept")
}
