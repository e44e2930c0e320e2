//! The greeting and other answers that never change.

use crate::couch::admin::{json, read_only};
use crate::runtime::NODE_NAME;
use crate::{Answer, CouchContext, Failure, Request};
use hyper::StatusCode;
use varve_json::{Object, Value};

/// The CouchDB whose interface this is: clients choose their requests by this number.
const COUCHDB_VERSION: &str = "3.5.0";

pub(super) fn welcome(app: &CouchContext, request: &Request) -> Result<Answer, Failure> {
    read_only(request)?;
    let mut vendor = Object::new();
    vendor.insert("name", "Varve");
    vendor.insert("version", env!("CARGO_PKG_VERSION"));
    let mut greeting = Object::new();
    greeting.insert("couchdb", "Welcome");
    greeting.insert("version", COUCHDB_VERSION);
    greeting.insert("git_sha", "varve");
    let uuid = app.settings().uuid.as_deref();
    greeting.insert("uuid", uuid.unwrap_or_default());
    greeting.insert("features", Value::from(vec![Value::from("quickjs")]));
    greeting.insert("vendor", vendor);
    Ok(json(&greeting.into()))
}

pub(super) fn up(request: &Request) -> Result<Answer, Failure> {
    read_only(request)?;
    let body = b"{\"status\":\"ok\",\"seeds\":{}}\n".to_vec();
    Ok(Answer::json(StatusCode::OK, body))
}

pub(super) fn favicon(request: &Request) -> Result<Answer, Failure> {
    read_only(request)?;
    let answer = Answer::whole(StatusCode::NOT_FOUND, "text/plain", b"Not found.".to_vec());
    Ok(answer.with_header("cache-control", "public, max-age=31536000"))
}

pub(super) fn membership() -> Answer {
    let nodes = || Value::from(vec![Value::from(NODE_NAME)]);
    let mut members = Object::new();
    members.insert("all_nodes", nodes());
    members.insert("cluster_nodes", nodes());
    json(&members.into())
}
