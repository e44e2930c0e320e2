//! Single documents.

pub mod options;
pub mod read;
pub mod render;
pub mod write;

use hyper::Method;

use super::call::Call;
use crate::{Answer, Failure};

/// Answers a request for one document.
///
/// # Errors
/// As the method's handler.
pub fn answer(call: &Call, id: &str) -> Result<Answer, Failure> {
    match call.request.method.as_str() {
        "PUT" => write::put(call, id),
        "DELETE" => write::delete(call, id),
        "COPY" => write::copy(call, id),
        _ if call.request.method == Method::POST => Err(Failure::new(
            415,
            "bad_content_type",
            "Documents are written with PUT; forms are not accepted",
        )),
        _ if id.starts_with(varve_docdb::LOCAL_PREFIX) => read::local(call, id),
        _ => read::get(call, id),
    }
}
