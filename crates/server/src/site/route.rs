//! From a path to the mount that answers it.

use crate::auth::Login;
use crate::couch::{Rewriting, admin};
use crate::hg::logs;
use crate::http::{Body, FailureKind, cors, jsonp};
use crate::runtime::ServerPlace;
use crate::runtime::repeats::fault_id;
use crate::site::forward::Forwarder;
use crate::site::{Halves, Site, active_tasks, forgery};
use crate::{Answer, CouchContext, Failure, Request, console, couch, hg, history};
use hyper::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::sync::Arc;
use varve_config::{RequiredUser, Settings};

/// Answers any request; failures become error answers here and nowhere else.
pub(crate) async fn answer(site: &Site, request: Request, login: Login) -> Answer {
    let settings = match site {
        Site::Directory(halves) => Some(halves.couch.settings()),
        Site::Repository(_) | Site::Collection(_) => None,
    };
    let allowed = settings.as_ref().and_then(|now| now.cors.as_ref());
    let granted = cors::grant(allowed, &request);
    if let Some(answer) = granted.as_ref().and_then(|g| g.preflight(&request)) {
        return answer;
    }
    if let Site::Directory(halves) = site
        && let Some((forwarder, place)) = halves.forwarder_for(&request)
    {
        return Box::pin(forward(forwarder, place, request, login)).await;
    }
    let answers = settings.as_ref().map(|now| now.answers).unwrap_or_default();
    let buffer = is_buffered(&request, answers.buffer);
    let takes_callback = answers.allow_jsonp && settings.is_some();
    let callback = match takes_callback
        .then(|| jsonp::callback(&request))
        .transpose()
    {
        Ok(callback) => callback.flatten(),
        Err(failure) => return failure.into(),
    };
    let login_page = settings.as_ref().and_then(|now| login_page(now, &request));
    let wish = password_prompt(&request);
    let update_to = login.update_to.clone();
    let (method, path) = (request.method.clone(), request.raw_path.clone());
    let answered = match site {
        Site::Directory(halves) => match &halves.forwarder {
            Some(_) if active_tasks::are_asked_for(&request) => {
                Box::pin(active_tasks::of_all_servers(halves, request, login)).await
            }
            Some(forwarder) => {
                Box::pin(answer_or_forward((halves, forwarder), request, login)).await
            }
            None => dispatch(halves, request, login).await,
        },
        Site::Repository(_) | Site::Collection(_) => {
            Box::pin(dispatch_to_repositories(site, request, login)).await
        }
    };
    let answered = match answered {
        Ok(answer) => match (buffer, site) {
            (true, Site::Directory(halves)) => Box::pin(buffered(halves, answer)).await,
            _ if matches!(answer.body, Body::Whole(_)) => Ok(answer),
            _ => Box::pin(answer.begun()).await,
        },
        failed => failed,
    };
    log_fault(site, &answered, (&method, &path));
    let mut answer = match (answered, login_page) {
        (Err(failure), Some(page)) if failure.kind == FailureKind::Unauthorized => {
            lead_to(&page, failure)
        }
        (answered, _) => answered.unwrap_or_else(Answer::from),
    };
    let set = settings.as_ref();
    let set = set.and_then(|now| now.www_authenticate.as_deref());
    set_login_headers(&mut answer, update_to.as_deref(), wish.as_deref().or(set));
    if let Some(callback) = callback {
        jsonp::wrap(&mut answer, &callback);
    }
    if let Some(granted) = granted {
        granted.mark(&mut answer);
    }
    answer
}

fn log_fault(site: &Site, answered: &Result<Answer, Failure>, (method, path): (&Method, &str)) {
    if let Err(failure) = answered
        && failure.kind.is_server_fault()
    {
        site.server().log.scope(|| {
            tracing::error!(
                fault = fault_id(&failure.reason),
                "{method} {path}: {failure}"
            )
        });
    }
}

/// True if the answer is to be whole before it is sent, as the request says or else by default.
fn is_buffered(request: &Request, by_default: bool) -> bool {
    match request.query("buffer_response") {
        Some("true") => true,
        Some("false") => false,
        _ => by_default,
    }
}

/// The answer of this server, which owns the database or reads its copy, or of the one that has taken the database over meanwhile. A
/// request that is refused for that is not done, so it is done again, here or there.
async fn answer_or_forward(
    (halves, forwarder): (&Halves, &Forwarder),
    mut request: Request,
    login: Login,
) -> Result<Answer, Failure> {
    // A read, for which any server will do, is repeated as well if it has no body.
    if !hg::claims(&request.raw_path) && couch::responsible_server(&request).is_some() {
        read_body(halves, &mut request, &login).await?;
    }
    let mut hand_over = forwarder.hand_over();
    loop {
        let answered = dispatch(halves, request.clone(), login.clone()).await;
        let is_refused = matches!(&answered, Err(failure) if failure.kind == FailureKind::NotOwner);
        if !is_refused || !request.is_repeatable() || !hand_over.wait().await {
            return answered;
        }
        match forwarder.place_for(&request) {
            ServerPlace::Here => {}
            place => return forwarder.forward(place, request, &login).await,
        }
    }
}

/// Reads the body of a request that was to be forwarded when it came, and that this server has to answer now.
async fn read_body(halves: &Halves, request: &mut Request, login: &Login) -> Result<(), Failure> {
    if couch::reads_while_arriving(request) {
        return Ok(());
    }
    if let Some(upload) = request.upload.take() {
        let limit = halves.whole_body_limit(request, &login.user);
        let mut memory = halves.couch.server().limits.body();
        request.body = upload.read(&request.headers, limit, &mut memory).await?;
        request.memory = Some(Arc::new(memory));
    }
    Ok(())
}

/// The answer of the server that is responsible: it has all headers and forms that the client asks for already.
async fn forward(
    forwarder: &Forwarder,
    place: ServerPlace,
    request: Request,
    login: Login,
) -> Answer {
    let answer = forwarder.forward(place, request, &login).await;
    let mut answer = answer.unwrap_or_else(Answer::from);
    set_login_headers(&mut answer, login.update_to.as_deref(), None);
    answer
}

/// The header by which the client would be asked for a password.
fn password_prompt(request: &Request) -> Option<Box<str>> {
    request.header("x-couchdb-www-authenticate").map(Box::from)
}

/// A refusal that leads to the page for logins, with its reason.
fn lead_to(page: &str, refused: Failure) -> Answer {
    let reason = utf8_percent_encode(&refused.reason, NON_ALPHANUMERIC);
    let location = format!("{page}&reason={reason}");
    let mut answer = Answer::from(refused).with_header("location", &location);
    answer.status = StatusCode::FOUND;
    answer
}

/// Where a browser is led that has to log in: one that takes pages and no JSON, and that no header has ask for a password.
fn login_page(settings: &Settings, request: &Request) -> Option<Box<str>> {
    let takes_json = ["application/json", "application/*", "*/*"];
    let is_browser =
        request.accepts("text/html") && takes_json.iter().all(|media| !request.accepts(media));
    let asks = settings.www_authenticate.is_some() || settings.required_user != RequiredUser::No;
    (is_browser && !asks).then(|| {
        let (base, page) = (request.base(), &settings.requests.login_page);
        let back = utf8_percent_encode(&request.raw_path, NON_ALPHANUMERIC);
        format!("{base}{page}?return={back}").into_boxed_str()
    })
}

/// Prolongs the session, and says how to log in; an answer that does so itself is left as it is.
fn set_login_headers(answer: &mut Answer, cookie: Option<&str>, asks: Option<&str>) {
    if let Some(cookie) = cookie
        && !answer.headers.contains_key("set-cookie")
    {
        answer.set_header("set-cookie", cookie);
    }
    if let Some(asks) = asks
        && answer.status == StatusCode::UNAUTHORIZED
        && !answer.headers.contains_key("www-authenticate")
    {
        answer.set_header("www-authenticate", asks);
    }
}

/// The answer once its body has ended.
async fn buffered(halves: &Halves, answer: Answer) -> Result<Answer, Failure> {
    let app = &halves.couch;
    let (directory, longest) = (&app.directory.path, app.settings().limits.list_output);
    let pool = &app.executor().reads;
    answer.buffered(pool, (directory, longest)).await
}

/// Refuses a request with a long body before that is read.
pub(super) async fn check_rights(
    halves: &Halves,
    request: &Request,
    login: &Login,
) -> Result<(), Failure> {
    check_entry(halves, request, login)?;
    if hg::claims(&request.raw_path) {
        return Ok(());
    }
    if admin::claims(request) {
        return match request.path().first() {
            Some(&("_node" | "_cluster_setup")) => login.user.require_admin(),
            _ => Ok(()),
        };
    }
    couch::check_rights(&halves.couch, request.clone(), login.user.clone()).await
}

/// The futures of all but documents and views are in boxes: each request moves the whole future of its answer some times, which
/// for 14 KB took a quarter of the time of a cached document.
pub(super) async fn dispatch(
    halves: &Halves,
    request: Request,
    login: Login,
) -> Result<Answer, Failure> {
    check_entry(halves, &request, &login)?;
    let app = Arc::clone(&halves.couch);
    if hg::claims(&request.raw_path) {
        return match &halves.hg_logs {
            Some(logs) => Box::pin(logs::route(Arc::clone(logs), request, login.user)).await,
            None => Box::pin(hg::route(Arc::clone(&halves.hg), request, login.user)).await,
        };
    }
    if request.is_read() && request.segments.is_empty() {
        return Box::pin(dispatch_root(halves, request, login)).await;
    }
    if history::claims(&request) {
        let databases = Arc::clone(&halves.history);
        return Box::pin(history::route(databases, request, login.user)).await;
    }
    if couch::rewriter(&request).is_some() {
        return Box::pin(dispatch_rewritten(halves, request, login)).await;
    }
    if console::claims(&request) || admin::claims(&request) {
        return Box::pin(dispatch_to_couch(app, request, login)).await;
    }
    couch::route(app, request, login.user).await
}

/// A browser gets the list of repositories; clients of databases, which accept JSON, CouchDB's welcome.
async fn dispatch_root(halves: &Halves, request: Request, login: Login) -> Result<Answer, Failure> {
    let is_browser = request.accepts("text/html") && !request.accepts("application/json");
    let answer = match is_browser {
        true => match &halves.hg_logs {
            Some(logs) => logs::list(Arc::clone(logs), request, login.user).await?,
            None => hg::list(Arc::clone(&halves.hg), request, login.user).await?,
        },
        false => dispatch_to_couch(Arc::clone(&halves.couch), request, login).await?,
    };
    Ok(answer.with_header("vary", "Accept"))
}

/// Answers a request for pages, the server itself or a database.
async fn dispatch_to_couch(
    app: Arc<CouchContext>,
    request: Request,
    login: Login,
) -> Result<Answer, Failure> {
    if console::claims(&request) {
        return console::route(&app, &request);
    }
    if admin::claims(&request) {
        return admin::route(app, request, login).await;
    }
    couch::route(app, request, login.user).await
}

/// Follows the rules of design documents until one answers, or none is left.
async fn dispatch_rewritten(
    halves: &Halves,
    mut request: Request,
    login: Login,
) -> Result<Answer, Failure> {
    for _ in 0..=halves.couch.settings().functions.rewrite_limit {
        let app = Arc::clone(&halves.couch);
        let Some((name, design)) = couch::rewriter(&request) else {
            // Never to a repository: to rules, `hg` is a database.
            return dispatch_to_couch(app, request, login).await;
        };
        let user = login.user.clone();
        match couch::rewrite(app, request, user, (&name, &design)).await? {
            Rewriting::Answered(answer) => return Ok(answer),
            Rewriting::To(other) => request = *other,
        }
        check_entry(halves, &request, &login)?;
        if let Some((forwarder, place)) = halves.forwarder_for(&request)
            && couch::rewriter(&request).is_none()
        {
            return forwarder.forward(place, request, &login).await;
        }
    }
    Err(Failure::bad_request("Exceeded rewrite recursion limit"))
}

/// Answers a request to a server that has repositories and no users.
async fn dispatch_to_repositories(
    site: &Site,
    request: Request,
    login: Login,
) -> Result<Answer, Failure> {
    forgery::check(&request, None, None)?;
    match site {
        Site::Directory(halves) => dispatch(halves, request, login).await,
        Site::Repository(repos) => hg::route(Arc::clone(repos), request, login.user).await,
        Site::Collection(named) => {
            hg::route_collection(Arc::clone(named), request, login.user).await
        }
    }
}

/// Checks of all requests to a directory: forgery, and the login that `require_valid_user` demands.
fn check_entry(halves: &Halves, request: &Request, login: &Login) -> Result<(), Failure> {
    let settings = halves.couch.settings();
    forgery::check(request, Some(login), settings.cors.as_ref())?;
    if login.user.name.is_none() && needs_login(request, settings.required_user) {
        let refused = Failure::unauthorized("Authentication required.");
        // Clients such as hg ask their user for a password only if they are told how to send it.
        let asks = settings.www_authenticate.as_deref();
        let asks = asks.unwrap_or("Basic realm=\"varve\"");
        return Err(refused.with_header("www-authenticate", asks));
    }
    Ok(())
}

/// Whether a request is not answered without a login; attempts to log in are.
fn needs_login(request: &Request, required: RequiredUser) -> bool {
    let is_login = request.method == Method::POST && request.path() == ["_session"];
    match required {
        RequiredUser::No => false,
        RequiredUser::Yes => !is_login,
        RequiredUser::ExceptForUp => !is_login && request.path() != ["_up"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, B, C, F>(_: impl FnOnce(A, B, C) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_future_of_an_answer_is_short() {
        let answering = |site: &'static Site, request, login| answer(site, request, login);
        let size = size_of_future(answering);
        assert!(size <= 3200, "{size} bytes are moved for each request");
    }
}
