//! Attachments on their own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use varve_docdb::{
    Announced, Attachment, AttachmentForm, AttachmentReader, Database, Edit, LOCAL_PREFIX, Mode,
    Rev, Snapshot,
};

use crate::couch::call::Call;
use crate::couch::document::DEFAULT_TYPE;
use crate::couch::document::content_md5::{CheckedUpload, ContentMd5};
use crate::couch::document::options::given_rev;
use crate::couch::document::write::{Tagged, accepted_answer, apply, status_of};
use crate::couch::{etag, failures};
use crate::http::FailureKind;
use crate::http::range::{Part, parse_range};
use crate::http::{BodyWriter, PulledBody, blocking};
use crate::{Answer, Failure};

/// Bytes that are read at once; longer attachments are sent while they are read.
const SHARE: usize = 64 << 10;

/// Answers a request for one attachment.
///
/// # Errors
/// As the method's handler.
pub fn answer(call: &Call, id: &str, name: &str) -> Result<Answer, Failure> {
    check_id(id)?;
    match call.request.method {
        Method::PUT => put(call, id, name),
        Method::DELETE => delete(call, id, name),
        _ => get(call, id, name),
    }
}

fn check_id(id: &str) -> Result<(), Failure> {
    if id.starts_with(LOCAL_PREFIX) {
        let reason = "_local documents do not accept attachments.";
        return Err(Failure::bad_request(reason));
    }
    Ok(())
}

/// Answers a `PUT` whose body is here.
fn put(call: &Call, id: &str, name: &str) -> Result<Answer, Failure> {
    let begun = Begun::new(call, id, name)?;
    let mut upload = begun.upload(&call.database.documents)?;
    let mut body = call.upload();
    let mut share = vec![0; SHARE];
    loop {
        match body.read(&mut share) {
            Ok(0) => break,
            Ok(got) => upload.write(&share[..got])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    begun.finish(call, id, upload)
}

/// A `PUT` whose body is still to come.
pub struct AttachmentPut {
    call: Call,
    id: String,
    begun: Begun,
}

impl AttachmentPut {
    /// # Errors
    /// As [`answer`], before the body is read.
    pub fn new(call: Call, id: &str, name: &str) -> Result<AttachmentPut, Failure> {
        check_id(id)?;
        Ok(AttachmentPut {
            begun: Begun::new(&call, id, name)?,
            call,
            id: id.to_owned(),
        })
    }
}

/// Answers a `PUT` whose body goes into the database's file while it arrives.
///
/// # Errors
/// 408 if it does not come in time, 413 if it is too long; the refusals of edits.
pub(crate) async fn store(put: AttachmentPut, mut body: PulledBody) -> Result<Answer, Failure> {
    let AttachmentPut { call, id, begun } = put;
    let database = Arc::clone(&call.database);
    let (announced, md5) = (begun.announced.clone(), begun.md5.clone());
    // A client that sends little and then nothing shall not hold the memory of a compressor.
    let begin = move |begun: Option<CheckedUpload>| match begun {
        Some(upload) => Ok(upload),
        None => CheckedUpload::begin(&database.documents, &announced, md5.clone()),
    };
    let append = {
        let begin = begin.clone();
        move |upload, batch: Vec<Bytes>| {
            let mut upload = begin(upload)?;
            for piece in batch {
                upload.write(&piece)?;
            }
            Ok::<_, Failure>(Some(upload))
        }
    };
    let pool = call.app.executor().commits.clone();
    let upload = body.feed(&pool, None, append).await?;
    blocking(&pool, move || begun.finish(&call, &id, begin(upload)?)).await
}

/// A new attachment before its data.
struct Begun {
    announced: Announced,
    md5: Option<ContentMd5>,
    edit: Edit,
}

impl Begun {
    fn new(call: &Call, id: &str, name: &str) -> Result<Begun, Failure> {
        call.check_writer()?;
        let content_type = call.request.header("content-type").unwrap_or(DEFAULT_TYPE);
        let announced = Announced {
            name: name.to_owned(),
            content_type: content_type.to_owned(),
            is_gzip: match call.request.header("content-encoding") {
                None | Some("identity") => false,
                Some("gzip") => true,
                Some(_) => return Err(Failure::unknown_encoding("gzip and identity")),
            },
            length: None,
        };
        let md5 = ContentMd5::parse(call.request.header("content-md5"))?;
        let mut edit = continued(call, id)?;
        edit.attach(announced.clone())?;
        Ok(Begun {
            announced,
            md5,
            edit,
        })
    }

    fn upload(&self, database: &Database) -> Result<CheckedUpload, Failure> {
        CheckedUpload::begin(database, &self.announced, self.md5.clone())
    }

    fn finish(mut self, call: &Call, id: &str, upload: CheckedUpload) -> Result<Answer, Failure> {
        let name = &self.announced.name;
        self.edit.bring(name, upload.finish()?);
        let accepted = apply(call, self.edit, Mode::Interactive)?;
        let name = crate::couch::names::escape(name);
        let location = format!("{}/{name}", call.location(id));
        let answer = accepted_answer(status_of(call, StatusCode::CREATED), &accepted, Tagged::No);
        Ok(answer.with_header("location", &location))
    }
}

fn delete(call: &Call, id: &str, name: &str) -> Result<Answer, Failure> {
    call.check_writer()?;
    let Some(rev) = given_rev(&call.request, None)? else {
        return Err(varve_docdb::EditError::Conflict.into());
    };
    let snapshot = call.snapshot();
    let document = snapshot.document(id)?;
    let rev: Rev = rev.parse()?;
    if document.is_none_or(|known| known.revision(&rev).is_none()) {
        // CouchDB reads the revision first that it is to continue.
        let (word, reason) = ("not_found", "missing_rev");
        return Err(Failure::new(FailureKind::Conflict, word, reason));
    }
    let mut edit = continued(call, id)?;
    find(call, &snapshot, id, name)?;
    edit.detach(name);
    let accepted = apply(call, edit, Mode::Interactive)?;
    let status = status_of(call, StatusCode::OK);
    Ok(accepted_answer(status, &accepted, Tagged::No))
}

/// An edit of the revision that the request names.
fn continued(call: &Call, id: &str) -> Result<Edit, Failure> {
    let rev = given_rev(&call.request, None)?;
    let rev: Option<Rev> = rev.as_deref().map(str::parse).transpose()?;
    let snapshot = call.snapshot();
    Ok(snapshot.continued(id, rev.as_ref())??)
}

fn get(call: &Call, id: &str, name: &str) -> Result<Answer, Failure> {
    let snapshot = call.snapshot();
    let attachment = find(call, &snapshot, id, name)?;
    let digest = STANDARD.encode(attachment.md5);
    let tag = format!("\"{digest}\"");
    if etag::matches(&call.request, &tag) {
        return Ok(restricted(call, etag::not_modified(&tag)));
    }
    // Ranges would be of the stored form, which clients do not see.
    let is_plain = !attachment.is_gzip;
    let (form, length) = match accepts_gzip(call) {
        true => (AttachmentForm::Stored, attachment.stored_length),
        false => (AttachmentForm::Plain, attachment.length),
    };
    // As in CouchDB, all bytes from the first on are no range.
    let header = call.request.header("range");
    let header = header.filter(|range| is_plain && *range != "bytes=0-");
    let part = parse_range(header, length);
    let range = match &part {
        Part::Whole => 0..length,
        Part::Bytes(range) => range.clone(),
        Part::Unsatisfiable => {
            return Err(Failure::new(
                FailureKind::RangeNotSatisfiable,
                "requested_range_not_satisfiable",
                "Requested range not satisfiable",
            ));
        }
    };
    let content_range = format!("bytes {}-{}/{length}", range.start, range.end.max(1) - 1);
    let is_gzip = attachment.is_gzip && form == AttachmentForm::Stored;
    let mut answer = data(call, snapshot, attachment, form, range)?
        .with_header("etag", &tag)
        .with_header("accept-ranges", if is_plain { "bytes" } else { "none" });
    if is_gzip {
        answer.set_header("content-encoding", "gzip");
    }
    match part {
        Part::Bytes(_) => {
            answer.status = StatusCode::PARTIAL_CONTENT;
            answer.set_header("content-range", &content_range);
        }
        _ if is_gzip || is_plain => answer.set_header("content-md5", &digest),
        _ => {}
    }
    Ok(restricted(call, answer))
}

/// An uploaded page must not act in the name of this server's pages. Browsers take the policy of a 304 for the page that
/// they have kept.
fn restricted(call: &Call, mut answer: Answer) -> Answer {
    if let Some((name, value)) = call.app.settings().csp.for_attachments() {
        answer.set_header(name, value);
    }
    answer
}

/// Bytes of an attachment as a body; long ones are sent while they are read.
fn data(
    call: &Call,
    snapshot: Snapshot,
    attachment: Attachment,
    form: AttachmentForm,
    range: Range<u64>,
) -> Result<Answer, Failure> {
    let content_type = attachment.content_type.clone();
    let length = range.end - range.start;
    let answer = if call.request.method == Method::HEAD {
        Answer::whole(StatusCode::OK, &content_type, Vec::new())
    } else if length <= SHARE as u64 {
        let mut bytes = Vec::new();
        let mut reader = snapshot.attachment_reader(&attachment, form, range);
        while reader.read(&mut bytes, SHARE)? {}
        Answer::whole(StatusCode::OK, &content_type, bytes)
    } else {
        call.stream(&content_type, move |mut writer| async move {
            let mut reader = snapshot.attachment_reader(&attachment, form, range);
            write_attachment(&mut reader, &mut writer).await?;
            Ok(writer.finish())
        })?
    };
    Ok(answer.with_header("content-length", &length.to_string()))
}

/// Writes all that a reader reads.
///
/// # Errors
/// Damage; the client has gone.
pub async fn write_attachment(
    reader: &mut AttachmentReader<'_>,
    writer: &mut BodyWriter,
) -> Result<(), Failure> {
    let keeps_chunk = writer.may_keep_buffer();
    loop {
        let room = writer.piece().saturating_sub(writer.buffer().len());
        let has_more = reader.read(writer.buffer(), room)?;
        if !keeps_chunk {
            reader.release();
        }
        writer.flush_if_full().await?;
        if !has_more {
            return Ok(());
        }
    }
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
