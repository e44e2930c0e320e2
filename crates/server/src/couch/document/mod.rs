//! Single documents.

pub mod all_docs;
pub mod attachments;
pub mod bulk;
pub mod bulk_get;
pub(crate) mod content_md5;
pub(crate) mod multipart;
pub mod options;
pub mod parts;
pub mod read;
pub mod receive;
pub mod render;
pub mod revisions;
pub mod text;
pub mod upload;
pub mod write;

use crate::couch::call::Call;
use crate::{Answer, Failure};

/// Type of an attachment that was sent without one.
pub const DEFAULT_TYPE: &str = "application/octet-stream";

/// Answers a request for one document.
///
/// # Errors
/// As the method's handler.
pub fn answer(call: &Call, id: &str) -> Result<Answer, Failure> {
    match call.request.method.as_str() {
        "PUT" => write::put(call, id),
        "DELETE" => write::delete(call, id),
        "COPY" => write::copy(call, id),
        "POST" => receive::form(call, id),
        _ if id.starts_with(varve_docdb::LOCAL_PREFIX) => read::local(call, id),
        _ => read::get(call, id),
    }
}
