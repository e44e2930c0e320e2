//! From a path to the mount that answers it.

use crate::auth::Login;
use crate::http::cors;
use crate::site::Site;
use crate::{Answer, App, Failure, Request, couch, hg, node};
use std::sync::Arc;

/// Answers any request; failures become error answers here and nowhere else.
pub(crate) async fn answer(site: &Site, request: Request, login: Login) -> Answer {
    let settings = match site {
        Site::Folder(app) => app.settings().cors.as_ref(),
        Site::Repository(_) => None,
    };
    let granted = cors::grant(settings, &request);
    if let Some(answer) = granted.as_ref().and_then(|g| g.preflight(&request)) {
        return answer;
    }
    let refreshed = login.refreshed.clone();
    let asked = format!("{} {}", request.method, request.raw_path);
    let answered = match site {
        Site::Folder(app) => dispatch(Arc::clone(app), request, login).await,
        Site::Repository(shelf) => hg::route(Arc::clone(shelf), request, login.user).await,
    };
    if let Err(failure) = &answered
        && failure.status >= 500
    {
        site.house().report(&format!("{asked}: {failure}"));
    }
    let mut answer = answered.unwrap_or_else(Answer::from);
    if let Some(cookie) = refreshed
        && !answer.headers.contains_key("set-cookie")
    {
        answer.set_header("set-cookie", &cookie);
    }
    if let Some(granted) = granted {
        granted.mark(&mut answer);
    }
    answer
}

async fn dispatch(app: Arc<App>, request: Request, login: Login) -> Result<Answer, Failure> {
    if app.settings().require_valid_user && !is_open(&request) && login.user.name.is_none() {
        let refused = Failure::unauthorized("Authentication required.");
        // Clients such as hg ask their user for a password only if they are told how to send it.
        return Err(refused.with_header("www-authenticate", "Basic realm=\"varve\""));
    }
    if hg::claims(&request.raw_path) {
        return hg::route(Arc::clone(&app.hg), request, login.user).await;
    }
    if node::claims(&request) {
        return node::route(app, request, login).await;
    }
    couch::route(app, request, login.user).await
}

/// What answers without a login even if everything else needs one: the way to log in, and the
/// question whether the server is alive.
fn is_open(request: &Request) -> bool {
    matches!(request.path().as_slice(), ["_up" | "_session"])
}
