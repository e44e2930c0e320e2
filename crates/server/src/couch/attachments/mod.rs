//! Attachments on their own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::{Method, StatusCode};
use varve_docdb::{Attachment, Mode, Rev, Snapshot};

use super::call::Call;
use super::document::options::given_rev;
use super::document::write::{Tagged, accepted_answer, apply};
use super::{etag, failures};
use crate::http::range::{Part, parse_range};
use crate::{Answer, Failure};

/// What an attachment is taken to be that came without a type.
const DEFAULT_TYPE: &str = "application/octet-stream";

/// Answers a request for one attachment.
///
/// # Errors
/// As the method's handler.
pub fn answer(call: &Call, id: &str, name: &str) -> Result<Answer, Failure> {
    match call.request.method {
        Method::PUT => put(call, id, name),
        Method::DELETE => delete(call, id, name),
        _ => get(call, id, name),
    }
}

fn put(call: &Call, id: &str, name: &str) -> Result<Answer, Failure> {
    call.check_writer()?;
    let content_type = call.request.header("content-type").unwrap_or(DEFAULT_TYPE);
    let data = (content_type.to_owned(), call.request.body.clone(), false);
    let accepted = edit(call, id, name, Some(data))?;
    let location = format!("{}/{}", call.location(id), super::names::escape(name));
    let answer = accepted_answer(StatusCode::CREATED, &accepted, Tagged::No);
    Ok(answer.with_header("location", &location))
}

fn delete(call: &Call, id: &str, name: &str) -> Result<Answer, Failure> {
    call.check_writer()?;
    if given_rev(&call.request, None)?.is_none() {
        return Err(varve_docdb::EditError::Conflict.into());
    }
    let accepted = edit(call, id, name, None)?;
    Ok(accepted_answer(StatusCode::OK, &accepted, Tagged::No))
}

/// Sets or removes an attachment of the revision that the request names.
fn edit(
    call: &Call,
    id: &str,
    name: &str,
    data: Option<(String, Vec<u8>, bool)>,
) -> Result<varve_docdb::Accepted, Failure> {
    let rev = given_rev(&call.request, None)?;
    let rev: Option<Rev> = rev
        .map(|text| text.parse())
        .transpose()
        .map_err(Failure::from)?;
    let snapshot = call.database.documents.snapshot();
    let edit = snapshot.attachment_edit(id, rev.as_ref(), name, data)??;
    apply(call, edit, Mode::Interactive)
}

fn get(call: &Call, id: &str, name: &str) -> Result<Answer, Failure> {
    let snapshot = call.database.documents.snapshot();
    let attachment = find(call, &snapshot, id, name)?;
    let tag = format!("\"{}\"", STANDARD.encode(attachment.md5));
    if etag::matches(&call.request, &tag) {
        return Ok(etag::not_modified(&tag));
    }
    let mut bytes = Vec::new();
    // Ranges would be of the stored form, which is not what clients see.
    let is_plain = !attachment.is_gzip;
    let wants_gzip = accepts_gzip(call) && attachment.is_gzip;
    if wants_gzip {
        snapshot.attachment_stored(&attachment, &mut bytes)?;
    } else {
        snapshot.attachment_data(&attachment, &mut bytes)?;
    }
    let header = call.request.header("range").filter(|_| is_plain);
    let length = bytes.len() as u64;
    let (status, content_range) = match parse_range(header, length) {
        Part::Whole => (StatusCode::OK, None),
        Part::Bytes(range) => {
            let content_range = format!("bytes {}-{}/{length}", range.start, range.end - 1);
            bytes.truncate(usize::try_from(range.end).unwrap_or(usize::MAX));
            bytes.drain(..usize::try_from(range.start).unwrap_or(usize::MAX));
            (StatusCode::PARTIAL_CONTENT, Some(content_range))
        }
        Part::Unsatisfiable => {
            return Err(Failure::new(
                416,
                "requested_range_not_satisfiable",
                "Requested range not satisfiable",
            ));
        }
    };
    let mut answer = Answer::whole(status, &attachment.content_type, bytes)
        .with_header("etag", &tag)
        .with_header("accept-ranges", if is_plain { "bytes" } else { "none" });
    if let Some(content_range) = content_range {
        answer.set_header("content-range", &content_range);
    }
    if wants_gzip {
        answer.set_header("content-encoding", "gzip");
    }
    Ok(answer)
}

fn find(call: &Call, snapshot: &Snapshot, id: &str, name: &str) -> Result<Attachment, Failure> {
    let document = snapshot.document(id)?.ok_or_else(failures::missing)?;
    let (_, stored) = match given_rev(&call.request, None)? {
        Some(rev) => document
            .revision(&rev.parse()?)
            .ok_or_else(failures::missing)?,
        None if document.is_deleted() => return Err(failures::deleted()),
        None => document.winner().ok_or_else(failures::missing)?,
    };
    let mut attachments = snapshot.attachments(stored)?.into_iter();
    let found = attachments.find(|attachment| attachment.name == name);
    found.ok_or_else(|| Failure::not_found("Document is missing attachment"))
}

fn accepts_gzip(call: &Call) -> bool {
    let accepted = call.request.header("accept-encoding").unwrap_or("");
    accepted.split(',').any(|coding| coding.trim() == "gzip")
}
