//! Single documents are written.

use hyper::StatusCode;
use tokio::sync::oneshot;
use varve_docdb::{Accepted, Edit, EditError, LOCAL_PREFIX, Mode, ReadyEdit};

use crate::couch::call::Call;
use crate::couch::document::options::given_rev;
use crate::couch::document::{read, receive};
use crate::couch::functions::validate;
use crate::couch::{etag, failures};
use crate::{Answer, Failure};

/// Whether the answer carries the new revision as its entity tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tagged {
    /// The answer has an `ETag` of the new revision.
    Yes,
    /// The answer has no `ETag`: to POST, and for attachments.
    No,
}

/// Stores one edit and answers 201 with its revision and place.
///
/// # Errors
/// 409 and the other refusals of edits and of validation functions.
pub fn store(call: &Call, edit: Edit, tagged: Tagged) -> Result<Answer, Failure> {
    let accepted = apply(call, edit, Mode::Interactive)?;
    if is_batch(call) {
        return Ok(batch_answer(&accepted));
    }
    let location = call.location(&accepted.id);
    let status = status_of(call, StatusCode::CREATED);
    let answer = accepted_answer(status, &accepted, tagged);
    Ok(answer.with_header("location", &location))
}

/// Whether the client asks for no more than that the edit was received. It is written all the same.
fn is_batch(call: &Call) -> bool {
    call.request.query("batch") == Some("ok")
}

/// 202 without a revision, as CouchDB, which has not made one yet.
fn batch_answer(accepted: &Accepted) -> Answer {
    let mut body = b"{\"ok\":true,\"id\":".to_vec();
    varve_json::write_string(&accepted.id, &mut body);
    body.extend_from_slice(b"}\n");
    Answer::json(StatusCode::ACCEPTED, body)
}

/// The status of a write, or 202 for a client that asks for less, or for more copies than the one that there is.
pub fn status_of(call: &Call, written: StatusCode) -> StatusCode {
    let copies = call.request.query("w").and_then(|w| w.parse().ok());
    match is_batch(call) || copies.is_some_and(|copies: u64| copies > 1) {
        true => StatusCode::ACCEPTED,
        false => written,
    }
}

/// Answers `PUT /{db}/{id}`.
///
/// # Errors
/// As [`store`]; 400 if the body is no document.
pub fn put(call: &Call, id: &str) -> Result<Answer, Failure> {
    let (edit, mode) = edit_of(call, id)?;
    let accepted = apply(call, edit, mode)?;
    Ok(put_answer(call, mode, &accepted))
}

/// The edit that `PUT /{db}/{id}` requests, and its mode.
fn edit_of(call: &Call, id: &str) -> Result<(Edit, Mode), Failure> {
    call.check_writer()?;
    let mut edit = match call.request.content_type().as_deref() {
        Some(receive::RELATED) => receive::related(call, id)?,
        _ => Edit::parse(Some(id), &call.request.body)?,
    };
    let mode = match call.request.query("new_edits") {
        Some("false") => Mode::Replicated,
        _ => Mode::Interactive,
    };
    let in_body = edit.rev().map(ToString::to_string);
    if let Some(rev) = given_rev(&call.request, in_body)? {
        edit.set_rev(&rev)?;
    }
    Ok((edit, mode))
}

fn put_answer(call: &Call, mode: Mode, accepted: &Accepted) -> Answer {
    if mode == Mode::Interactive && is_batch(call) {
        return batch_answer(accepted);
    }
    let status = status_of(call, StatusCode::CREATED);
    let answer = accepted_answer(status, accepted, Tagged::Yes);
    answer.with_header("location", &call.location(&accepted.id))
}

/// A `PUT` of which only the commit is left to do.
pub struct ReadyPut {
    call: Call,
    mode: Mode,
    edit: ReadyEdit,
}

impl ReadyPut {
    /// Does everything but the commit, as the call may read.
    ///
    /// # Errors
    /// As [`put`], but for those of the commit; [`Failure::would_block`] where validation functions
    /// have to run first.
    pub fn new(call: Call, id: &str) -> Result<ReadyPut, Failure> {
        let (edit, mode) = edit_of(&call, id)?;
        if !validate::is_free(&call, &edit, mode)? {
            return Err(Failure::would_block());
        }
        let edit = edit.written_by(&call.viewer);
        let edit = call.database.documents.prepare(edit, mode, call.reads)?;
        Ok(ReadyPut { call, mode, edit })
    }

    /// Waits for the commit, on no thread of its own.
    ///
    /// # Errors
    /// 409 and the other refusals of edits.
    pub async fn answer(self) -> Result<Answer, Failure> {
        let (done, outcome) = oneshot::channel();
        let told = move |outcome| {
            // A client that has gone needs no outcome.
            let _ = done.send(outcome);
        };
        self.call.database.documents.update_later(self.edit, told);
        let outcome = outcome.await;
        let outcome = outcome.map_err(|_| Failure::internal("the edit has no outcome"))?;
        let accepted = outcome??;
        self.call.app.server().metrics.couch.writes.inc();
        Ok(put_answer(&self.call, self.mode, &accepted))
    }
}

/// Answers `DELETE /{db}/{id}`.
///
/// # Errors
/// 404 if there is nothing to delete, 409 if the revision is missing or not the last one.
pub fn delete(call: &Call, id: &str) -> Result<Answer, Failure> {
    call.check_writer()?;
    let rev = given_rev(&call.request, None)?;
    live_document(call, id)?;
    let edit = match rev {
        Some(rev) => Edit::deletion(id, &rev)?,
        // Local documents have no history to continue.
        None if id.starts_with(LOCAL_PREFIX) => Edit::deletion(id, "0-0")?,
        None => return Err(EditError::Conflict.into()),
    };
    let accepted = apply(call, edit, Mode::Interactive)?;
    let status = status_of(call, StatusCode::OK);
    Ok(accepted_answer(status, &accepted, Tagged::Yes))
}

/// Answers `COPY /{db}/{id}`: the destination is named by a header.
///
/// # Errors
/// 400 without a destination, 404 without a source; as [`store`].
pub fn copy(call: &Call, id: &str) -> Result<Answer, Failure> {
    call.check_writer()?;
    let destination = call
        .request
        .header("destination")
        .ok_or_else(|| Failure::bad_request("Destination header is mandatory for COPY."))?;
    if ["http://", "https://"]
        .iter()
        .any(|scheme| destination.starts_with(scheme))
    {
        return Err(Failure::bad_request("Destination URL must be relative."));
    }
    let (target, rev) = match destination.split_once("?rev=") {
        Some((target, rev)) => (target, Some(rev)),
        None => (destination, None),
    };
    let target = percent_encoding::percent_decode_str(target).decode_utf8();
    let target = target.map_err(|_| Failure::bad_request("Destination header is no UTF-8"))?;
    let mut edit = read::source_of_copy(call, id)?;
    edit.copy_to(&target, rev)?;
    store(call, edit, Tagged::Yes)
}

/// Runs the validation functions, and writes.
///
/// # Errors
/// The refusal.
pub fn apply(call: &Call, edit: Edit, mode: Mode) -> Result<Accepted, Failure> {
    let mut outcomes = validate::update(call, vec![edit], mode)?;
    outcomes
        .pop()
        .unwrap_or_else(|| Err(Failure::internal("the edit has no outcome")))
}

/// `{"ok":true,"id":…,"rev":…}`.
pub fn accepted_answer(status: StatusCode, accepted: &Accepted, tagged: Tagged) -> Answer {
    let mut body = b"{\"ok\":true,\"id\":".to_vec();
    varve_json::write_string(&accepted.id, &mut body);
    body.extend_from_slice(b",\"rev\":\"");
    accepted.rev.write(&mut body);
    body.extend_from_slice(b"\"}\n");
    let tag = match accepted.id.starts_with(LOCAL_PREFIX) {
        true => etag::opaque(&[&body]),
        false => etag::of_revision(&accepted.rev.to_string()),
    };
    let answer = Answer::json(status, body);
    match tagged {
        Tagged::Yes => answer.with_header("etag", &tag),
        Tagged::No => answer,
    }
}

/// 404 if the document is not there or deleted.
fn live_document(call: &Call, id: &str) -> Result<(), Failure> {
    let snapshot = call.snapshot();
    if id.starts_with(LOCAL_PREFIX) {
        let found = snapshot.local(id)?;
        return found.map(drop).ok_or_else(failures::missing);
    }
    match snapshot.document(id)? {
        Some(document) if document.tree().is_deleted() => Err(failures::deleted()),
        Some(_) => Ok(()),
        None => Err(failures::missing()),
    }
}
