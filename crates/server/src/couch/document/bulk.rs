//! `_bulk_docs`: many edits in one request, and in one commit.

use hyper::StatusCode;
use varve_docdb::{Accepted, Edit, EditError, Edits, Mode};
use varve_json::{Object, Value};

use crate::couch::call::Call;
use crate::couch::functions::validate;
use crate::{Answer, Failure};

/// Bytes that one row of an answer takes, about.
const ROW: usize = 80;

/// Answers `POST /{db}/_bulk_docs`.
///
/// # Errors
/// 400 if one of the documents could not be a document at all: nothing is written then.
pub fn answer(call: &Call) -> Result<Answer, Failure> {
    call.check_writer()?;
    let BulkEdits {
        edits,
        mode,
        all_or_nothing,
    } = parse_body(call)?;
    if all_or_nothing {
        return Ok(refuse_all_or_nothing(&edits));
    }
    let names = match mode {
        // Answers of accepted edits carry their ids; only refused ones need these.
        Mode::Interactive => edits
            .iter()
            .map(|edit| (edit.id().to_owned(), None))
            .collect(),
        Mode::Replicated => edits.iter().map(id_and_rev).collect::<Vec<_>>(),
    };
    let outcomes = validate::update(call, edits, mode)?;
    call.app.server().metrics.couch.bulk_requests.inc();
    let mut body = Vec::with_capacity(names.len() * ROW);
    body.push(b'[');
    for ((id, rev), outcome) in names.iter().zip(&outcomes) {
        if mode == Mode::Replicated && outcome.is_ok() {
            continue;
        }
        if body.len() > 1 {
            body.push(b',');
        }
        write_row(id, rev.as_deref(), outcome, &mut body);
    }
    body.extend_from_slice(b"]\n");
    Ok(Answer::json(StatusCode::CREATED, body))
}

struct BulkEdits {
    edits: Vec<Edit>,
    mode: Mode,
    /// The client wants all documents to be accepted or none, which CouchDB does not do since version 2.
    all_or_nothing: bool,
}

/// 417: a row for each document that says so.
fn refuse_all_or_nothing(edits: &[Edit]) -> Answer {
    let rows = edits.iter().map(|edit| {
        let rev = edit.rev().map_or("0-".to_owned(), ToString::to_string);
        let members = [
            ("id", edit.id()),
            ("rev", &rev),
            ("error", "not_implemented"),
            ("reason", "all_or_nothing is not supported"),
        ];
        let members = members.map(|(name, value)| (name.to_owned(), Value::from(value)));
        Value::from(Object::from_iter(members))
    });
    let rows: Value = rows.collect();
    let mut body = varve_json::to_string(&rows).into_bytes();
    body.push(b'\n');
    Answer::json(StatusCode::EXPECTATION_FAILED, body)
}

fn parse_body(call: &Call) -> Result<BulkEdits, Failure> {
    call.request.require_json()?;
    let Edits { edits, rest } = Edits::parse(&call.request.body, "docs")?;
    let Value::Object(rest) = rest else {
        return Err(Failure::bad_request("Request body must be a JSON object"));
    };
    let Some(edits) = edits else {
        return Err(Failure::bad_request(match rest.contains("docs") {
            true => "`docs` parameter must be an array.",
            false => "POST body must include `docs` parameter.",
        }));
    };
    let mode = match rest.get("new_edits") {
        Some(Value::Bool(false)) => Mode::Replicated,
        Some(Value::Bool(true)) | None => Mode::Interactive,
        Some(_) => return Err(Failure::bad_request("`new_edits` must be true or false.")),
    };
    let edits = edits.into_iter().map(|edit| checked(call, edit?, mode));
    Ok(BulkEdits {
        edits: edits.collect::<Result<_, _>>()?,
        mode,
        all_or_nothing: rest.get("all_or_nothing") == Some(&Value::Bool(true)),
    })
}

/// An edit with its id and, where it must have one, its revision.
fn checked(call: &Call, mut edit: Edit, mode: Mode) -> Result<Edit, Failure> {
    if edit.id().is_empty() {
        edit.set_id(call.app.new_uuid())?;
    }
    if mode == Mode::Replicated && edit.rev().is_none() && !edit.is_local() {
        return Err(EditError::RevNeeded.into());
    }
    Ok(edit)
}

fn id_and_rev(edit: &Edit) -> (String, Option<String>) {
    (edit.id().to_owned(), edit.rev().map(ToString::to_string))
}

fn write_row(id: &str, rev: Option<&str>, outcome: &Result<Accepted, Failure>, out: &mut Vec<u8>) {
    match outcome {
        Ok(accepted) => {
            out.extend_from_slice(b"{\"ok\":true,\"id\":");
            varve_json::write_string(&accepted.id, out);
            out.extend_from_slice(b",\"rev\":\"");
            accepted.rev.write(out);
            out.extend_from_slice(b"\"}");
        }
        Err(failure) => {
            out.extend_from_slice(b"{\"id\":");
            varve_json::write_string(id, out);
            if let Some(rev) = rev {
                out.extend_from_slice(b",\"rev\":");
                varve_json::write_string(rev, out);
            }
            out.extend_from_slice(b",\"error\":");
            varve_json::write_string(&failure.error, out);
            out.extend_from_slice(b",\"reason\":");
            varve_json::write_string(&failure.reason, out);
            out.push(b'}');
        }
    }
}
