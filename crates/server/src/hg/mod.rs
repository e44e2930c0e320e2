//! Repositories: Mercurial's wire protocol below `/hg/`.

use crate::{Answer, App, Failure, Request, UserContext};
use std::sync::Arc;

/// Whether the request is for a repository. `/hg%2FNAME` is not: that is a database.
pub(crate) fn claims(request: &Request) -> bool {
    request.raw_path == "/hg" || request.raw_path.starts_with("/hg/")
}

/// Answers everything below `/hg`.
pub(crate) async fn route(
    _app: Arc<App>,
    _request: Request,
    _user: UserContext,
) -> Result<Answer, Failure> {
    Err(Failure::not_found("no such repository"))
}
