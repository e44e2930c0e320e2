//! Documents that come in parts.

use crate::couch::call::Call;
use crate::couch::document::content_md5::{CheckedUpload, ContentMd5};
use crate::couch::document::multipart::{Headers, Parts, boundary_of, parameter};
use crate::couch::document::write::{Tagged, store};
use crate::http::FailureKind;
use crate::{Answer, Failure};
use std::io::Read;
use varve_docdb::{Announced, Edit, Rev, Uploaded};

/// A document with attachments behind it.
pub const RELATED: &str = "multipart/related";
/// Content type of a browser's form.
pub const FORM: &str = "multipart/form-data";
/// Bytes of a form's field that is no file.
const LONGEST_FIELD: u64 = 64 << 10;

/// The edit in a `multipart/related` body, with the attachments that follow it.
///
/// # Errors
/// 400 if the body does not follow its boundary or has no document.
pub fn related(call: &Call, id: &str) -> Result<Edit, Failure> {
    let mut parts = parts_of(call)?;
    if parts.next()?.is_none() {
        return Err(Failure::bad_request("the multipart body has no document"));
    }
    let mut edit = Edit::parse(Some(id), &parts.whole_body(call.app.longest_json())?)?;
    bring_parts(&mut edit, &mut parts, |announced, headers, parts| {
        upload(call, announced, headers, parts)
    })?;
    Ok(edit)
}

/// Gives an edit the attachments that follow it, each of which `take` reads from the part that has begun.
///
/// # Errors
/// 400 if the body does not follow its boundary; as `take`.
pub fn bring_parts<R: Read>(
    edit: &mut Edit,
    parts: &mut Parts<R>,
    mut take: impl FnMut(&Announced, &Headers, &mut Parts<R>) -> Result<Uploaded, Failure>,
) -> Result<(), Failure> {
    // Parts name their attachment, or come in the order of the document.
    let awaited: Vec<Announced> = edit.awaited().collect();
    for next in &awaited {
        let Some(headers) = parts.next()? else {
            break;
        };
        let named = file_name(&headers);
        let announced = match &named {
            Some(name) => awaited.iter().find(|each| each.name == *name),
            None => Some(next),
        };
        if let Some(announced) = announced {
            let data = take(announced, &headers, parts)?;
            edit.bring(&announced.name, data);
        }
    }
    while parts.next()?.is_some() {}
    Ok(())
}

/// Answers `POST /{db}/{id}` with a form: files become attachments of the revision that it names,
/// or a document is given beside them.
///
/// # Errors
/// 415 for anything but a form; 400 as [`related`]; as [`store`].
pub fn form(call: &Call, id: &str) -> Result<Answer, Failure> {
    call.check_writer()?;
    if call.request.content_type().as_deref() != Some(FORM) {
        return Err(Failure::new(
            FailureKind::UnsupportedType,
            "bad_ctype",
            "Invalid Content-Type header for form upload",
        ));
    }
    let mut parts = parts_of(call)?;
    let (mut document, mut rev) = (None, None);
    let mut files: Vec<(Announced, Uploaded)> = Vec::new();
    while let Some(headers) = parts.next()? {
        match field_name(&headers).as_deref() {
            Some("_doc") => document = Some(parts.whole_body(call.app.longest_json())?),
            Some("_rev") => rev = Some(field(&mut parts)?).filter(|rev| !rev.is_empty()),
            Some("_attachments") => {
                let Some(announced) = file(&headers) else {
                    continue;
                };
                let data = upload(call, &announced, &headers, &mut parts)?;
                files.push((announced, data));
            }
            _ => {}
        }
    }
    let mut edit = match document {
        Some(text) => Edit::parse(Some(id), &text)?,
        None => {
            let rev: Option<Rev> = rev.as_deref().map(str::parse).transpose()?;
            call.snapshot().continued(id, rev.as_ref())??
        }
    };
    // Each becomes the first of the list.
    for (announced, data) in files.into_iter().rev() {
        let name = announced.name.clone();
        edit.attach(announced)?;
        edit.bring(&name, data);
    }
    store(call, edit, Tagged::Yes)
}

fn parts_of(call: &Call) -> Result<Parts<Box<dyn Read>>, Failure> {
    let content_type = call.request.header("content-type").unwrap_or_default();
    let boundary = boundary_of(content_type)
        .ok_or_else(|| Failure::bad_request("a multipart body needs a boundary"))?;
    Ok(Parts::new(call.plain_upload()?, boundary))
}

/// Takes the part that has begun into the file.
fn upload<R: Read>(
    call: &Call,
    announced: &Announced,
    headers: &Headers,
    parts: &mut Parts<R>,
) -> Result<Uploaded, Failure> {
    let md5 = ContentMd5::parse(headers.get("content-md5"))?;
    let mut upload = CheckedUpload::begin(&call.database.documents, announced, md5)?;
    parts.body(&mut |bytes| upload.write(bytes))?;
    upload.finish()
}

fn field<R: Read>(parts: &mut Parts<R>) -> Result<String, Failure> {
    let text = String::from_utf8(parts.whole_body(LONGEST_FIELD)?);
    text.map_err(|_| Failure::bad_request("a field of the form is no UTF-8"))
}

fn field_name(headers: &Headers) -> Option<String> {
    parameter(headers.get("content-disposition")?, "name")
}

/// The name in `attachment; filename="a.txt"`, which may be escaped as in URLs.
fn file_name(headers: &Headers) -> Option<String> {
    let name = parameter(headers.get("content-disposition")?, "filename")?;
    let decoded = percent_encoding::percent_decode_str(&name).decode_utf8();
    decoded.ok().map(std::borrow::Cow::into_owned)
}

/// A file of a form; a browser sends one without a name where none was chosen.
fn file(headers: &Headers) -> Option<Announced> {
    let name = file_name(headers).filter(|name| !name.is_empty())?;
    let content_type = headers.get("content-type");
    Some(Announced {
        name,
        content_type: content_type
            .unwrap_or(crate::couch::document::DEFAULT_TYPE)
            .to_owned(),
        is_gzip: headers.get("content-encoding") == Some("gzip"),
        length: None,
    })
}
