//! Pages for browsers.

use super::error::PageError;
use super::paths::Command;
use super::{Page, PageBody};
use crate::Answer;
use hyper::StatusCode;

const MEDIA_TYPE: &str = "text/html; charset=UTF-8";

/// A page with the message.
pub(super) fn failure(_page: &Page<'_>, message: &str) -> (&'static str, Vec<u8>) {
    (MEDIA_TYPE, message.as_bytes().to_vec())
}

pub(super) fn render(_page: &Page<'_>, _command: Command) -> Result<PageBody, PageError> {
    Ok(PageBody::whole(MEDIA_TYPE, Vec::new()))
}

/// A file that pages need.
pub(super) fn asset(_path: &str) -> Answer {
    Answer::text(StatusCode::NOT_FOUND, "no such file\n")
}
