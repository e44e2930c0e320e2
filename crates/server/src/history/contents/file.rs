//! The bytes of a file.

use super::{RequestedPath, internal};
use crate::couch::etag;
use crate::http::FailureKind;
use crate::http::range::{Part, parse_range};
use crate::{Answer, Failure, Request};
use hyper::{Method, StatusCode};

/// The bytes that are asked for; the tag is the file's revision.
///
/// # Errors
/// 404 without such a file; 416.
pub(super) fn answer(file: &RequestedPath<'_>, request: &Request) -> Result<Answer, Failure> {
    let manifest = file.manifest()?;
    let entry = file.entry(&manifest)?;
    let tag = format!("\"{}\"", entry.node);
    if etag::matches(request, &tag) {
        return Ok(etag::not_modified(&tag));
    }
    let content = file.view.file_content(entry.path, &entry.node);
    let mut content = content.map_err(internal)?;
    let length = content.len() as u64;
    let media = media_type(&content);
    let part = parse_range(request.header("range"), length);
    let mut answer = match &part {
        Part::Whole => Answer::whole(StatusCode::OK, media, content),
        Part::Bytes(range) => {
            let bounds = (usize::try_from(range.start), usize::try_from(range.end));
            if let (Ok(start), Ok(end)) = bounds {
                content.truncate(end);
                content.drain(..start.min(content.len()));
            }
            let last = range.end.max(1) - 1;
            let place = format!("bytes {}-{last}/{length}", range.start);
            Answer::whole(StatusCode::PARTIAL_CONTENT, media, content)
                .with_header("content-range", &place)
        }
        Part::Unsatisfiable => {
            return Err(Failure::new(
                FailureKind::RangeNotSatisfiable,
                "requested_range_not_satisfiable",
                "Requested range not satisfiable",
            ));
        }
    };
    if request.method == Method::HEAD {
        let length = answer.whole_body().map_or(0, <[u8]>::len);
        answer.set_header("content-length", &length.to_string());
    }
    Ok(answer
        .with_header("etag", &tag)
        .with_header("accept-ranges", "bytes")
        .with_header("x-content-type-options", "nosniff"))
}

/// A text if it is one in UTF-8, else bytes.
fn media_type(content: &[u8]) -> &'static str {
    match std::str::from_utf8(content) {
        Ok(text) if !text.contains('\0') => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
