//! What concerns the whole server: welcome, sessions, lists, tasks.

use crate::auth::Login;
use crate::{Answer, App, Failure, Request};
use hyper::StatusCode;
use std::sync::Arc;

/// Whether the request is for the server itself and not for a database.
pub(crate) fn claims(request: &Request) -> bool {
    matches!(request.path().as_slice(), [] | ["_up"])
}

/// Answers requests that [`claims`] took.
pub(crate) async fn route(
    _app: Arc<App>,
    request: Request,
    _login: Login,
) -> Result<Answer, Failure> {
    match request.path().as_slice() {
        ["_up"] => Ok(Answer::json(
            StatusCode::OK,
            b"{\"status\":\"ok\",\"seeds\":{}}\n".to_vec(),
        )),
        _ => Ok(Answer::ok(StatusCode::OK)),
    }
}
