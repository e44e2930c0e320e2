//! `/_session`: the present login, logging in with a cookie, logging out.

use crate::auth::{Login, UserContext};
use crate::couch::admin::json;
use crate::http::{FailureKind, Freshness, parse_query};
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
            let no_cookie = app.auth.no_cookie(request.is_secure());
            let done = Answer::ok(StatusCode::OK).with_header("set-cookie", &no_cookie);
            Ok(match redirect(request, "next")? {
                Some(location) => moved(done, &location),
                None => done,
            })
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
    let Credentials {
        name: given,
        password,
        token,
    } = credentials(request)?;
    let next = redirect(request, "next")?;
    let on_failure = redirect(request, "fail")?;
    let is_secure = request.is_secure();
    let proof = (password.as_str(), token.as_deref());
    let checked = app
        .auth
        .check((&given, Freshness::Current), proof, request.client())
        .await;
    // Also a refusal clears the cookie, so that a wrong login does not keep the one before.
    let no_cookie = || app.auth.no_cookie(is_secure);
    let proven = match (checked, on_failure) {
        (Ok(proven), _) => proven,
        (Err(failure), Some(location)) if failure.kind == FailureKind::Unauthorized => {
            let answer = Answer::from(failure).with_header("set-cookie", &no_cookie());
            return Ok(moved(answer, &location));
        }
        (Err(failure), _) => return Err(failure.with_header("set-cookie", no_cookie())),
    };
    let mut answer = Object::new();
    answer.insert("ok", true);
    answer.insert("name", name(&proven.user));
    answer.insert("roles", roles(&proven.user));
    let cookie = app.auth.cookie_for(&proven, is_secure);
    let answer = json(&answer.into()).with_header("set-cookie", &cookie);
    Ok(match next {
        Some(location) => moved(answer, &location),
        None => answer,
    })
}

/// Name and proofs of a login.
struct Credentials {
    name: String,
    /// Empty, and wrong, if there is none.
    password: String,
    /// The code of a second factor.
    token: Option<String>,
}

/// Reads JSON or an HTML form.
fn credentials(request: &Request) -> Result<Credentials, Failure> {
    let members: Vec<(String, String)> = match request.content_type().as_deref() {
        Some("application/x-www-form-urlencoded") => {
            let text = std::str::from_utf8(&request.body);
            parse_query(text.map_err(|_| Failure::bad_request("the form is not UTF-8"))?)?
        }
        Some("application/json") => {
            let invalid = |error| Failure::bad_request(format!("{error}"));
            let body = varve_json::parse(&request.body).map_err(invalid)?;
            let text = |name: &str| Some((name.to_owned(), body.get(name)?.as_str()?.to_owned()));
            ["name", "username", "password", "token"]
                .into_iter()
                .filter_map(text)
                .collect()
        }
        _ => {
            return Err(Failure::new(
                FailureKind::UnsupportedType,
                "bad_content_type",
                "Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'",
            ));
        }
    };
    let given = |wanted: &str| {
        let found = members.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone())
    };
    let name = match (given("name"), given("username")) {
        (Some(name), Some(other)) if name != other => {
            let words = "request body contains different usernames";
            return Err(Failure::bad_request(words));
        }
        (name, other) => name.or(other),
    };
    let words = "request body must contain a username";
    let name = name.ok_or_else(|| Failure::bad_request(words))?;
    Ok(Credentials {
        name,
        password: given("password").unwrap_or_default(),
        token: given("token"),
    })
}

/// Where the client wants to be sent by this name in the query, which must be a path of this server.
fn redirect(request: &Request, name: &str) -> Result<Option<String>, Failure> {
    let Some(path) = request.query(name) else {
        return Ok(None);
    };
    let is_elsewhere = !path.starts_with('/') || path.starts_with("//") || path.contains('\\');
    if is_elsewhere || path.chars().any(char::is_control) {
        return Err(Failure::bad_request("path must begin with a /."));
    }
    Ok(Some(format!("{}{path}", request.base())))
}

fn moved(mut answer: Answer, location: &str) -> Answer {
    answer.status = StatusCode::FOUND;
    answer.with_header("location", location)
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
