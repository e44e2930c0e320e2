//! `/_session`: the present login, logging in with a cookie, logging out.

use crate::auth::{Login, UserContext};
use crate::couch::admin::json;
use crate::http::parse_query;
use crate::{Answer, CouchContext, Failure, Request};
use hyper::{Method, StatusCode};
use varve_json::{Object, Value};

pub(super) async fn route(
    app: &CouchContext,
    request: &Request,
    login: Login,
) -> Result<Answer, Failure> {
    match request.method {
        Method::GET | Method::HEAD => who(app, request, &login),
        Method::POST => log_in(app, request).await,
        Method::DELETE => {
            let done = redirect(request)?.unwrap_or_else(|| Answer::ok(StatusCode::OK));
            Ok(done.with_header("set-cookie", &app.auth.no_cookie(request.is_secure())))
        }
        _ => Err(Failure::method_not_allowed("GET,HEAD,POST,DELETE")),
    }
}

fn who(app: &CouchContext, request: &Request, login: &Login) -> Result<Answer, Failure> {
    if request.query("basic") == Some("true") && login.user.name.is_none() {
        let refused = Failure::unauthorized("Please login.");
        return Err(refused.with_header("www-authenticate", "Basic realm=\"server\""));
    }
    let mut context = Object::new();
    context.insert("name", name(&login.user));
    context.insert("roles", roles(&login.user));
    let mut info = Object::new();
    let handlers = app.auth.handlers().into_iter();
    let handlers = handlers.map(|handler| Value::from(handler.name()));
    info.insert("authentication_handlers", handlers.collect::<Value>());
    if let Some(by) = login.by {
        info.insert("authenticated", by);
    }
    let mut answer = Object::new();
    answer.insert("ok", true);
    answer.insert("userCtx", context);
    answer.insert("info", info);
    Ok(json(&answer.into()))
}

async fn log_in(app: &CouchContext, request: &Request) -> Result<Answer, Failure> {
    let (given, password) = credentials(request)?;
    let checked = app.auth.check(&given, &password, request.client()).await;
    // Also a refusal clears the cookie, so that a wrong login does not keep the one before.
    let no_cookie = || app.auth.no_cookie(request.is_secure());
    let proven = checked.map_err(|e| e.with_header("set-cookie", no_cookie()))?;
    let done = match redirect(request)? {
        Some(answer) => answer,
        None => {
            let mut answer = Object::new();
            answer.insert("ok", true);
            answer.insert("name", name(&proven.user));
            answer.insert("roles", roles(&proven.user));
            json(&answer.into())
        }
    };
    Ok(done.with_header(
        "set-cookie",
        &app.auth.cookie_for(&proven, request.is_secure()),
    ))
}

/// Name and password from JSON or from an HTML form.
fn credentials(request: &Request) -> Result<(String, String), Failure> {
    let needed = || Failure::bad_request("the body must have `name` and `password`, both texts");
    if request.content_type().as_deref() == Some("application/x-www-form-urlencoded") {
        let text = std::str::from_utf8(&request.body).map_err(|_| needed())?;
        let mut form = parse_query(text)?;
        let mut take = |names: &[&str]| {
            let at = form
                .iter()
                .position(|(key, _)| names.contains(&key.as_str()))?;
            Some(form.swap_remove(at).1)
        };
        let name = take(&["name", "username"]);
        return Ok((
            name.ok_or_else(needed)?,
            take(&["password"]).ok_or_else(needed)?,
        ));
    }
    let invalid = |error| Failure::bad_request(format!("{error}"));
    let body = varve_json::parse(&request.body).map_err(invalid)?;
    let text = |name| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let name = text("name").or_else(|| text("username"));
    Ok((
        name.ok_or_else(needed)?,
        text("password").ok_or_else(needed)?,
    ))
}

/// A 302 if the client asks for one with `next`, which must be a path of this server.
fn redirect(request: &Request) -> Result<Option<Answer>, Failure> {
    let Some(next) = request.query("next") else {
        return Ok(None);
    };
    if !next.starts_with('/') || next.starts_with("//") || next.contains('\\') {
        return Err(Failure::bad_request("next must be a path of this server"));
    }
    let answer = Answer::ok(StatusCode::FOUND);
    Ok(Some(answer.with_header(
        "location",
        &format!("{}{next}", request.base()),
    )))
}

fn name(user: &UserContext) -> Value {
    user.name.as_deref().map_or(Value::Null, Value::from)
}

fn roles(user: &UserContext) -> Value {
    user.roles
        .iter()
        .map(|role| Value::from(role.as_str()))
        .collect()
}
