//! Documents and attachments whose bodies may be longer than memory.
//!
//! A long attachment goes into the database's file while it arrives. Bodies of several parts are spooled first, and so are
//! attachments of databases in a shared store. All are refused before they are read if the client may not write, except for short
//! ones.

use crate::couch::answer_now;
use crate::couch::call::Call;
use crate::couch::document::attachments::{self, AttachmentPut};
use crate::couch::target::Target;
use crate::http::blocking;
use crate::{Answer, CouchContext, Failure, Request};
use std::sync::Arc;

/// Answers a request whose body is not read yet.
///
/// # Errors
/// 408 for a body that does not come in time; as the handlers of documents and attachments.
pub async fn route(
    app: &Arc<CouchContext>,
    request: &Request,
    target: Target,
    open: impl FnOnce(&Target) -> Result<Call, Failure> + Clone + Send + 'static,
) -> Result<Answer, Failure> {
    let Some(upload) = &request.upload else {
        return Err(Failure::internal("the request has no body to wait for"));
    };
    if !upload.is_short() {
        // One that is whole can go to the next owner of its database.
        let is_kept = app.databases.is_shared();
        let (open, target) = (open.clone(), target.clone());
        let reads = &app.executor().reads;
        let begun = blocking(reads, move || begin(open(&target)?, &target)).await?;
        if let (Some(begun), false) = (begun, is_kept)
            && let Some(body) = upload.pull()
        {
            return attachments::store(begun, body).await;
        }
    }
    let memory = app.server().limits.settings().body_buffer;
    let commits = app.executor().commits.clone();
    upload.spool(&commits, memory, &app.directory.path).await?;
    blocking(&commits, move || answer_now(open(&target)?, target)).await
}

/// Checks a request before it sends its body; for an attachment, returns the write to be done.
fn begin(call: Call, target: &Target) -> Result<Option<AttachmentPut>, Failure> {
    target.check_method(&call.request.method)?;
    call.check_writer()?;
    match target {
        Target::Attachment(id, name) => AttachmentPut::new(call, id, name).map(Some),
        _ => Ok(None),
    }
}
