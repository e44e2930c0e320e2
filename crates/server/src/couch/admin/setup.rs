//! `/_cluster_setup`: a single node that is set up already, as set-up scripts and Fauxton ask for it.

use crate::couch::admin::json;
use crate::couch::admin::node::{Change, marked};
use crate::couch::names::check_database_name;
use crate::couch::users::USERS;
use crate::http::FailureKind;
use crate::{Answer, CouchContext, Failure, Request};
use hyper::{Method, StatusCode};
use varve_json::{Object, Value};

/// Most databases that one request has made.
const MOST: usize = 100;

/// Answers any method; the caller is an admin. To be called where waiting is allowed.
///
/// # Errors
/// 400 for actions of clusters.
pub(super) fn route(app: &CouchContext, request: &Request, user: &str) -> Result<Answer, Failure> {
    match request.method {
        Method::GET | Method::HEAD => {
            let named = request.query("ensure_dbs_exist").unwrap_or("[]");
            let wanted = names(&varve_json::parse(named.as_bytes())?)?;
            let mut state = Object::new();
            state.insert("state", state_of(app, &wanted)?);
            Ok(json(&state.into()))
        }
        Method::POST => act(app, request, user),
        _ => Err(Failure::method_not_allowed("GET,POST")),
    }
}

fn state_of(app: &CouchContext, wanted: &[String]) -> Result<&'static str, Failure> {
    for name in wanted {
        if !app.databases.contains(name)? {
            return Ok("single_node_disabled");
        }
    }
    Ok("single_node_enabled")
}

fn act(app: &CouchContext, request: &Request, user: &str) -> Result<Answer, Failure> {
    let body = varve_json::parse(&request.body)?;
    match body.get("action").and_then(Value::as_str) {
        Some("enable_single_node") => {
            make_admin(app, &body, user)?;
            let mut needs_restart = false;
            for key in ["bind_address", "port"] {
                needs_restart |= keep(app, key, body.get(key), user)?;
            }
            make_databases(app, body.get("ensure_dbs_exist"))?;
            Ok(marked(Answer::ok(StatusCode::CREATED), needs_restart))
        }
        Some("finish_cluster") => {
            make_databases(app, body.get("ensure_dbs_exist"))?;
            Ok(Answer::ok(StatusCode::CREATED))
        }
        Some("enable_cluster" | "add_node" | "remove_node" | "receive_cookie") => Err(
            Failure::bad_request("This server is a single node; it joins no cluster."),
        ),
        _ => Err(Failure::bad_request("Invalid Action'")),
    }
}

/// Makes the server admin that the request names, or gives an existing one another password.
fn make_admin(app: &CouchContext, body: &Value, user: &str) -> Result<(), Failure> {
    let given = |name| body.get(name).filter(|value| !matches!(value, Value::Null));
    match (given("username"), given("password")) {
        (None, None) => Ok(()),
        (Some(Value::String(name)), Some(Value::String(password))) => {
            let change = Change {
                section: "admins",
                key: name,
                value: Some(password.clone()),
                persists: true,
            };
            change.make(app, user).map(drop)
        }
        _ => Err(Failure::bad_request(
            "`username` and `password` must both be text, or both be missing",
        )),
    }
}

/// Where the server listens from the next start on. Returns whether that is another place.
fn keep(app: &CouchContext, key: &str, given: Option<&Value>, user: &str) -> Result<bool, Failure> {
    let value = match given {
        None | Some(Value::Null) => return Ok(false),
        Some(Value::String(text)) => text.clone(),
        Some(other) => {
            let mut text = Vec::new();
            varve_json::write(other, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
    };
    let change = Change {
        section: "chttpd",
        key,
        value: Some(value),
        persists: true,
    };
    Ok(change.make(app, user)?.needs_restart)
}

/// Makes the databases that are not there: those of the request, or that of the users.
fn make_databases(app: &CouchContext, given: Option<&Value>) -> Result<(), Failure> {
    let wanted = match given {
        Some(list) => names(list)?,
        None => vec![USERS.to_owned()],
    };
    for name in wanted {
        match app
            .databases
            .create(&name, varve_docdb::NewDatabase::default())
        {
            Err(failure) if failure.kind != FailureKind::PreconditionFailed => return Err(failure),
            _ => {}
        }
    }
    Ok(())
}

fn names(list: &Value) -> Result<Vec<String>, Failure> {
    let wrong = || Failure::bad_request("`ensure_dbs_exist` must be a list of names");
    let Value::Array(list) = list else {
        return Err(wrong());
    };
    if list.len() > MOST {
        return Err(wrong());
    }
    let mut names = Vec::new();
    for name in list {
        let name = name.as_str().ok_or_else(wrong)?;
        check_database_name(name)?;
        names.push(name.to_owned());
    }
    Ok(names)
}
