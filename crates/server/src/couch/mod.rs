//! Databases, documents, changes and views.

use crate::{Answer, App, Failure, Request, UserContext};
use std::sync::Arc;

/// Answers everything whose first path segment is a database's name.
///
/// # Errors
/// Any [`Failure`].
pub async fn route(
    _app: Arc<App>,
    _request: Request,
    _user: UserContext,
) -> Result<Answer, Failure> {
    Err(Failure::not_found("Database does not exist."))
}
