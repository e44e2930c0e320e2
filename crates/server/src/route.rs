//! From a path to the mount that answers it.

use crate::auth::Login;
use crate::{Answer, App, Failure, Request, couch, hg, node};
use std::sync::Arc;

/// Answers any request; failures become error answers here and nowhere else.
pub(crate) async fn answer(app: Arc<App>, request: Request, login: Login) -> Answer {
    let refreshed = login.refreshed.clone();
    let answered = dispatch(app, request, login).await;
    let mut answer = answered.unwrap_or_else(Answer::from);
    if let Some(cookie) = refreshed
        && !answer.headers.contains_key("set-cookie")
    {
        answer.set_header("set-cookie", &cookie);
    }
    answer
}

async fn dispatch(app: Arc<App>, request: Request, login: Login) -> Result<Answer, Failure> {
    if hg::claims(&request) {
        return hg::route(app, request, login.user).await;
    }
    if node::claims(&request) {
        return node::route(app, request, login).await;
    }
    couch::route(app, request, login.user).await
}
